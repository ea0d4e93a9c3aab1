// Our own reader of HDF5: the layouts, types and filters that h5py writes, and what it refuses.
#include "data/files/hdf5/hdf5.h"

#include <catch2/catch.hpp>

#include <fmt/format.h>

#include <cmath>
#include <cstdlib>

#include "base/error.h"
#include "tests/data/array_files.h"
#include "tests/data/files.h"
#include "tests/support/paths.h"

using namespace fovea;
using namespace fovea::data;

namespace {

// What h5py 3 wrote for the fuzzers' corpus.
std::filesystem::path written_by_h5py(const std::string& name) {
  return std::filesystem::path(fovea::test::source_dir()) / "tests/fuzz/corpus/hdf5" / name;
}

// The values of all those files: 3 x 5 x 7 numbers from -4 on in steps of a quarter.
float written(std::size_t i) { return static_cast<float>(i) * 0.25F - 4.0F; }

void check_hdf5_refusal(const std::string& name, const std::string& message) {
  INFO(name);
  CHECK_THROWS_WITH(read_hdf5_volume(written_by_h5py(name), "image"),
                    Catch::Contains(name) && Catch::Contains(message));
}

}  // namespace

TEST_CASE("hdf5: every layout and filter of h5py gives the values that were written", "[data]") {
  const std::string name = GENERATE(
      "valid-contiguous.h5", "valid-gzip-shuffle.h5", "valid-lzf.h5", "valid-fletcher.h5",
      "valid-latest-fixed-array.h5", "valid-latest-plain-chunks.h5", "valid-latest-single.h5",
      "valid-v110-fixed-array.h5", "valid-v110-single.h5", "valid-latest-contiguous.h5",
      "valid-half.h5", "valid-double-growing.h5", "valid-user-block.h5");
  INFO(name);
  const Volume volume = read_hdf5_volume(written_by_h5py(name), "image");
  REQUIRE(volume.depth == 3);
  REQUIRE(volume.height == 5);
  REQUIRE(volume.width == 7);
  for (std::size_t i = 0; i < volume.values.size(); ++i) CHECK(volume.values[i] == written(i));
  CHECK(read_hdf5_size(written_by_h5py(name), "image").voxels() == 105);
}

TEST_CASE("hdf5: whole numbers of both byte orders, small data sets, fill values", "[data]") {
  const Volume swapped = read_hdf5_volume(written_by_h5py("valid-big-endian-int16.h5"), "image");
  for (std::size_t i = 0; i < swapped.values.size(); ++i)
    CHECK(swapped.values[i] == 4 * written(i));
  const Volume small = read_hdf5_volume(written_by_h5py("valid-uint8.h5"), "image");
  for (std::size_t i = 0; i < small.values.size(); ++i)
    CHECK(small.values[i] == std::floor(std::abs(written(i))));
  const Volume compact = read_hdf5_volume(written_by_h5py("valid-compact.h5"), "image");
  CHECK(compact.values == std::vector<float>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11});
  // Slice 1 alone was written.
  const Volume filled = read_hdf5_volume(written_by_h5py("valid-fill.h5"), "image");
  for (std::size_t i = 0; i < filled.values.size(); ++i)
    CHECK(filled.values[i] == (i / 35 == 1 ? written(i) : 7.5F));
}

TEST_CASE("hdf5: what lies outside the file is never opened", "[data]") {
  check_hdf5_refusal("damaged-external-link.h5",
                     "is a link to another file, which is not followed");
  check_hdf5_refusal("damaged-external-storage.h5", "keeps its values in other files");
  check_hdf5_refusal("damaged-virtual.h5", "is a virtual data set");
}

TEST_CASE("hdf5: what is not read is named", "[data]") {
  check_hdf5_refusal("damaged-blosc.h5", "the filter 32001 (blosc)");
  check_hdf5_refusal("damaged-growing-latest.h5", "can grow");
  check_hdf5_refusal("damaged-dense-group.h5", "more data sets in a group");
  check_hdf5_refusal("damaged-text.h5", "holds no numbers");
  check_hdf5_refusal("damaged-two-axes.h5", "has 2 axes; expected slices, rows and columns");
  check_hdf5_refusal("damaged-soft-loop.h5", "leads back to itself");
  check_hdf5_refusal("damaged-cut.h5", "it should hold 2468 bytes and holds 2368");
  CHECK_THROWS_WITH(read_hdf5_volume(written_by_h5py("valid-contiguous.h5"), "imaeg"),
                    Catch::Contains("holds no data set \"imaeg\"; did you mean \"image\"?"));
}

TEST_CASE("hdf5: a flipped bit ends in values or in one line, in no time", "[data]") {
  const std::string name =
      GENERATE("valid-gzip-shuffle.h5", "valid-latest-fixed-array.h5", "valid-user-block.h5");
  const std::string good = io::read_text(written_by_h5py(name));
  int refused = 0;
  for (std::size_t bit = 0; bit < good.size() * 8; ++bit) {
    std::string bytes = good;
    bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ (1 << (bit % 8)));
    try {
      decode_hdf5_volume(std::as_bytes(std::span(bytes)), name, "image");
    } catch (const FileError&) {
      ++refused;
    }
  }
  CHECK(refused > 300);
}

TEST_CASE("hdf5: the reader agrees with the library's writer", "[data]") {
  const fovea::data::test::Folder folder;
  const std::vector<float> values = [] {
    std::vector<float> v;
    for (int i = 0; i < 4 * 6 * 5; ++i) v.push_back(static_cast<float>(i * i % 17) - 3.5F);
    return v;
  }();
  fovea::data::test::write_hdf5(folder.path / "v.h5", {4, 6, 5},
                                {{"image", values}, {"label", values}});
  CHECK(read_hdf5_volume(folder.path / "v.h5", "image").values == values);
  CHECK(read_hdf5_volume(folder.path / "v.h5", "/label").values == values);
  CHECK_THROWS_WITH(read_hdf5_volume(folder.path / "none.h5", "image"),
                    Catch::Contains("none.h5: not found"));
  CHECK_THROWS_WITH(read_hdf5_volume(folder.path, "image"), Catch::Contains("is a folder"));
}
