// NIfTI volumes: order of axes, scaling, byte order, compression, and what is refused.
#include "data/files/nifti.h"

#include <catch2/catch.hpp>

#include "base/error.h"
#include "data/files/packed_file.h"
#include "tests/data/files.h"
#include "tests/data/nifti_files.h"

using namespace fovea;
using namespace fovea::data;
using namespace fovea::data::test;

namespace {

Volume decoded(const std::string& bytes) { return decode_nifti(bytes_of(bytes), "a.nii"); }

}  // namespace

TEST_CASE("nifti: slices, rows and columns, values scaled, steps in millimetres", "[data]") {
  NiftiFile file = counting_volume(2, 3, 4);
  file.slope = 0.5f;
  file.intercept = -1;
  const Volume volume = decoded(file.bytes());
  CHECK(volume.depth == 2);
  CHECK(volume.height == 3);
  CHECK(volume.width == 4);
  CHECK(volume.spacing == std::array<double, 3>{8, 1.25, 1.5});
  REQUIRE(volume.values.size() == 24);
  CHECK(volume.values[0] == -1.0f);
  CHECK(volume.values[23] == 10.5f);
}

TEST_CASE("nifti: byte order, compression and extensions change nothing", "[data]") {
  NiftiFile file = counting_volume(2, 3, 4);
  const Volume plain = decoded(file.bytes());
  CHECK(plain.values[23] == 23.0f);
  CHECK(decoded(gzip(file.bytes())).values == plain.values);
  file.extension = 32;
  CHECK(decoded(file.bytes()).values == plain.values);
  file.big_endian = true;
  const Volume swapped = decoded(file.bytes());
  CHECK(swapped.values == plain.values);
  CHECK(swapped.spacing == plain.spacing);
}

TEST_CASE("nifti: a plane is a volume of one slice", "[data]") {
  std::string plane = counting_volume(1, 3, 4).bytes();
  plane[40] = 2;  // axes; the sizes of the others are then without meaning
  for (std::size_t k = 46; k < 56; ++k) plane[k] = 0;
  const Volume volume = decoded(plane);
  CHECK(volume.depth == 1);
  CHECK(volume.values.size() == 12);
}

TEST_CASE("nifti: the header alone tells the size, compressed or not", "[data]") {
  const Folder folder;
  const std::string bytes = counting_volume(5, 3, 4).bytes();
  CHECK(read_nifti_size(folder.write("a.nii", bytes)).depth == 5);
  CHECK(read_nifti_size(folder.write("a.nii.gz", gzip(bytes))).spacing[0] == 8);
  CHECK_THROWS_AS(read_nifti_size(folder.path / "none.nii"), FileError);
  CHECK(has_nifti_extension("a.nii.gz"));
  CHECK_FALSE(has_nifti_extension("a.gz"));
}

TEST_CASE("nifti: the sform says where voxels lie, else the qform, else the steps alone",
          "[data]") {
  NiftiFile file = counting_volume(2, 3, 4);
  CHECK(decoded(file.bytes()).affine == Affine{{{1.5, 0, 0, 0}, {0, 1.25, 0, 0}, {0, 0, 8, 0}}});
  // A third of a turn takes x to y, y to z, z to x; qfac then mirrors the last axis.
  file.qform = Qform{.b = 0.5f, .c = 0.5f, .d = 0.5f, .offset = {7, 8, 9}, .qfac = -1};
  const Affine turned = {{{0, 0, -8, 7}, {1.5, 0, 0, 8}, {0, 1.25, 0, 9}}};
  CHECK(decoded(file.bytes()).affine == turned);
  // Half a turn about the diagonal of x and y, whose parts are rounded to 32 bits.
  file.qform = Qform{.b = 0.70710677f, .c = 0.70710677f};
  const Affine half = decoded(file.bytes()).affine;
  for (std::size_t r = 0; r < 3; ++r) {
    for (std::size_t c = 0; c < 3; ++c)
      CHECK(half[r][c] == Approx(r == 0 && c == 1   ? 1.25
                                 : r == 1 && c == 0 ? 1.5
                                 : r == 2 && c == 2 ? -8
                                                    : 0)
                              .margin(1e-7));
  }
  file.sform = {{{-1.5f, 0, 0.5f, 90}, {0, -1.25f, 0, 80}, {0, 0.25f, 8, -40}}};
  const Affine rows = {{{-1.5, 0, 0.5, 90}, {0, -1.25, 0, 80}, {0, 0.25, 8, -40}}};
  CHECK(decoded(file.bytes()).affine == rows);
  file.big_endian = true;
  CHECK(decoded(file.bytes()).affine == rows);
  const Folder folder;
  CHECK(read_nifti_size(folder.write("a.nii", file.bytes())).affine == rows);
  CHECK(read_nifti_affine(folder.write("a.nii", file.bytes())) == rows);
  CHECK_FALSE(read_nifti_affine(folder.write("b.nii", counting_volume(2, 3, 4).bytes())));
  std::string metres = file.bytes();
  metres[123] = 1;
  CHECK(decoded(metres).affine[0][3] == 90000);
}

TEST_CASE("nifti: damaged files are refused with what is wrong", "[data]") {
  const auto refused = [](const std::string& bytes, const std::string& part) {
    INFO(part);
    CHECK_THROWS_AS(decoded(bytes), FileError);
    CHECK_THROWS_WITH(decoded(bytes), Catch::StartsWith("a.nii: ") && Catch::Contains(part));
  };
  const std::string good = counting_volume(2, 3, 4).bytes();
  refused(good.substr(0, good.size() - 1), "header promises 48 bytes of voxels from byte 352 on");
  refused(good.substr(0, 90), "holds 90 bytes");
  refused(std::string(400, 'x'), "is not a NIfTI-1 file");
  const auto with = [&](std::size_t at, std::string_view bytes) {
    std::string bad = good;
    return bad.replace(at, bytes.size(), bytes);
  };
  refused(with(40, "\x09"), "has 9 axes");
  refused(with(42, std::string_view("\0", 1)), "size of axis 1 is 0");
  refused(with(40, "\x05").replace(50, 1, "\x02"), "axis 5 has size 2");
  refused(with(40, "\x04").replace(48, 1, "\x02"), "header promises 96 bytes of voxels");
  refused(with(70, std::string_view("\x80\0", 2)), "voxels are of type 128 (RGB24)");
  refused(with(0, std::string_view("\x1c\x02\0\0", 4)), "is a NIfTI-2 file");
  refused(with(0, std::string_view("\0\0\x02\x1c", 4)), "is a NIfTI-2 file");
  refused(with(344, "ni1"), "data in an .img file");
  std::string packed = gzip(good);
  refused(packed.substr(0, packed.size() - 12), "gzip");
  packed[packed.size() - 6] = static_cast<char>(packed[packed.size() - 6] ^ 1);
  refused(packed, "gzip stream is damaged");
}

TEST_CASE("nifti: a fourth axis holds channels on one grid", "[data]") {
  const Folder folder;
  NiftiFile file = counting_volume(2, 3, 4);
  file.channels = 3;
  for (std::int16_t i = 24; i < 72; ++i) file.values.push_back(i);
  const auto path = folder.write("a.nii.gz", gzip(file.bytes()));
  const Volume volume = read_nifti_channels(path);
  CHECK(volume.channels == 3);
  CHECK(volume.voxels() == 24);
  REQUIRE(volume.values.size() == 72);
  CHECK(volume.values[2 * 24 + 13] == 61.0f);
  CHECK(volume.spacing == std::array<double, 3>{8, 1.25, 1.5});
  CHECK(read_nifti_size(path).channels == 3);
  for (auto* read : {read_nifti, read_nifti_labels})
    CHECK_THROWS_WITH(read(path),
                      Catch::EndsWith("a.nii.gz: axis 4 has size 3; expected one volume "
                                      "of three axes"));
  // Its labels are one volume of three axes at the same place.
  const auto labels = folder.path / "labels.nii";
  write_nifti_labels(labels, volume, std::vector<std::uint16_t>(24, 2), path);
  const auto bytes = io::read_bytes(labels);
  CHECK(bytes.size() == 352 + 24);
  CHECK(bytes[40] == std::byte{3});
  CHECK(bytes[48] == std::byte{1});
  CHECK(read_nifti(labels).affine == volume.affine);
}

TEST_CASE("nifti: labels are whole numbers", "[data]") {
  NiftiFile file = counting_volume(2, 2, 2);
  CHECK(label_slice(decoded(file.bytes()), 1, "a.nii").deep ==
        std::vector<std::uint16_t>{4, 5, 6, 7});
  file.slope = 0.5f;
  CHECK_THROWS_WITH(label_slice(decoded(file.bytes()), 1, "a.nii"),
                    Catch::Contains("label 2.5 in slice 1, row 0, column 1"));
}

TEST_CASE("nifti: labels are written with the header of the volume that they belong to", "[data]") {
  const Folder folder;
  NiftiFile file = counting_volume(2, 3, 4);
  file.slope = 2;
  std::string source = file.bytes();
  for (std::size_t k = 252; k < 328; ++k) source[k] = static_cast<char>(k);  // place in space
  const auto like = folder.write("a.nii", source);
  const VolumeSize size = read_nifti_size(like);
  std::vector<std::uint16_t> labels;
  for (int i = 0; i < 24; ++i) labels.push_back(static_cast<std::uint16_t>(i % 4));
  const auto path = folder.path / "labels.nii.gz";
  write_nifti_labels(path, size, labels, like);
  const Volume back = read_nifti(path);
  CHECK(back.spacing == size.spacing);
  CHECK(std::vector<std::uint16_t>(back.values.begin(), back.values.end()) == labels);
  const auto bytes = inflate(io::read_bytes(path), 1 << 20, "labels");
  CHECK(bytes.size() == 352 + 24);  // 8 bits a voxel
  CHECK(std::string(reinterpret_cast<const char*>(bytes.data()) + 252, 76) ==
        source.substr(252, 76));
  labels.back() = 300;
  write_nifti_labels(folder.path / "b.nii", size, labels, {});
  CHECK(read_nifti(folder.path / "b.nii").values.back() == 300.0f);
  CHECK(read_nifti(folder.path / "b.nii").spacing == std::array<double, 3>{1, 1, 1});
  CHECK_THROWS_WITH(write_nifti_labels(path, {2, 4, 3}, labels, like),
                    Catch::Contains("a.nii: is 2 x 3 x 4, its labels are 2 x 4 x 3"));
}
