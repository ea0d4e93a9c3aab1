// Synapse as TransUNet has it: slices to train on, whole volumes to test.
#include <catch2/catch.hpp>

#include <fmt/format.h>

#include <set>

#include "base/error.h"
#include "tests/data/array_files.h"
#include "tests/data/readers.h"

using namespace fovea;
using namespace fovea::data;
using namespace fovea::data::test;

namespace {

constexpr std::int64_t kHeight = 8, kWidth = 4, kPlane = kHeight * kWidth;

std::vector<float> image_values(std::int64_t depth) {
  std::vector<float> values;
  for (std::int64_t i = 0; i < depth * kPlane; ++i)
    values.push_back(static_cast<float>(i) / static_cast<float>(depth * kPlane - 1));
  return values;
}

std::vector<float> label_values(std::int64_t depth) {
  std::vector<float> values;
  for (std::int64_t i = 0; i < depth * kPlane; ++i) values.push_back(static_cast<float>(i % 9));
  return values;
}

std::string slice_file() {
  return zip({{"image.npy", npy("<f4", "(8, 4)", raw_bytes(image_values(1)))},
              {"label.npy", npy("<f4", "(8, 4)", raw_bytes(label_values(1)))}});
}

std::string slice_name(const std::string& name, int k) {
  return fmt::format("train_npz/{}_slice{:03}.npz", name, k);
}

void write_volume(const Folder& folder, const std::string& name, std::int64_t depth) {
  io::make_directories(folder.path / "test_vol_h5");
  write_hdf5(folder.path / "test_vol_h5" / (name + ".npy.h5"),
             {static_cast<hsize_t>(depth), kHeight, kWidth},
             {{"image", image_values(depth)}, {"label", label_values(depth)}});
}

// Of the paper's parts: 5 and 6 in train, 1 and 8 in test.
void write_cases(const Folder& folder) {
  for (const char* name : {"case0005", "case0006", "case0001"})
    for (int k = 0; k < 3; ++k) folder.write(slice_name(name, k), slice_file());
  write_volume(folder, "case0008", 5);
  write_volume(folder, "case0001", 2);
}

}  // namespace

TEST_CASE("synapse: slices of the training cases, volumes of the others", "[data]") {
  const Folder folder;
  write_cases(folder);
  const auto train = open("synapse", folder, R"("img_size": 8)");
  CHECK(train->size() == 6);
  CHECK_THAT(train->notes().front(), Catch::Contains("16 of the 18 names"));
  CHECK(train->num_classes() == 9);
  CHECK(train->class_names()[4] == "gallbladder");
  const Sample sample = prepared(*train, 4);
  CHECK(image_of(sample)[0] == Approx(0).margin(1e-6));
  CHECK(image_of(sample)[63] == Approx(1));
  CHECK(sample.at("mask").values<std::int64_t>()[0] == 0);
  CHECK(sample.at("mask").values<std::int64_t>()[8] == 4);
  CHECK(sample.geometry.original_size == std::vector<std::int64_t>{3, 8, 4});
  CHECK(sample.geometry.offset == std::vector<std::int64_t>{1, 0, 0});
  CHECK(sample.geometry.spacing.empty());
  CHECK_THAT(train->name(4), Catch::EndsWith("case0006_slice001.npz"));
  CHECK(images_of(*train).slice_of(4)->volume == "case0006");

  const auto test = open("synapse", folder, R"("img_size": 8)", Split::kTest);
  CHECK(test->size() == 7);
  CHECK(images_of(*test).slice_of(2)->volume == "case0008");
  CHECK(images_of(*test).slice_of(2)->depth == 5);
  CHECK_THAT(test->name(3), Catch::EndsWith("case0008.npy.h5: slice 1"));
  const float first = image_of(prepared(*test, 3))[0];
  CHECK(first == Approx(32.0 / 159).margin(1e-4));  // not stretched once more
  CHECK(images_of(*test).original_mask(3).values<std::int64_t>()[0] == 32 % 9);
  CHECK_FALSE(has_part(component("synapse", folder.path), Split::kVal));
  const auto known = known_shape(component("synapse", "/nowhere"));
  REQUIRE(known.has_value());
  CHECK(known->classes == train->num_classes());
}

TEST_CASE("synapse: a case is held out whole, lists choose, classes may be named", "[data]") {
  const Folder folder;
  write_cases(folder);
  const std::string drawn = R"("split": {"val": 0.5})";
  const auto val = open("synapse", folder, drawn, Split::kVal);
  const auto train = open("synapse", folder, drawn);
  REQUIRE(val->size() == 3);
  CHECK(train->size() == 3);
  CHECK(images_of(*val).slice_of(0)->volume != images_of(*train).slice_of(0)->volume);
  folder.write("lists_Synapse/train.txt", "case0005_slice000\ncase0001_slice002\n");
  folder.write("lists_Synapse/test_vol.txt", "case0008\n");
  const std::string lists = R"("parts": "lists")";
  CHECK(open("synapse", folder, lists)->size() == 2);
  CHECK(open("synapse", folder, lists, Split::kTest)->size() == 5);
  folder.write("lists_Synapse/test_vol.txt", "case0009\n");
  check_refused("synapse", folder, "test_vol.txt:1: case0009: no file of this name", lists,
                Split::kTest);
  CHECK_THROWS_WITH(open("synapse", folder, R"("classes": ["a", "b"])"),
                    Catch::Contains("2 classes are given; expected 9"));
}

TEST_CASE("synapse: damaged files end in one line, or are left out", "[data]") {
  const Folder folder;
  check_refused("synapse", folder, "holds no caseXXXX_sliceYYY.npz");
  write_cases(folder);
  const auto slice_refused = [&](const std::string& bytes, const std::string& message) {
    folder.write(slice_name("case0005", 1), bytes);
    CHECK_THROWS_WITH(prepared(*open("synapse", folder), 1),
                      Catch::Contains("case0005_slice001.npz: ") && Catch::Contains(message));
  };
  const std::string plane = npy("<f4", "(8, 4)", raw_bytes(image_values(1)));
  slice_refused("no archive", "archive of numpy");
  slice_refused(slice_file().substr(0, 200), "numpy");
  slice_refused(zip({{"image.npy", plane}}), "holds no array \"label\"");
  slice_refused(
      zip({{"image.npy", npy("<f4", "(32,)", raw_bytes(image_values(1)))}, {"label.npy", plane}}),
      "is an array of 1 axes with 32 values");
  slice_refused(zip({{"image.npy", plane}, {"label.npy", plane}}), "label 0.03");
  slice_refused(
      zip({{"image.npy", npy("<f4", "(8, 4)", raw_bytes(label_values(1)))}, {"label.npy", plane}}),
      "value 2 in slice 0; expected values in [0, 1]");

  const auto volume = folder.path / "test_vol_h5" / "case0001.npy.h5";
  const auto volume_refused = [&](const std::string& message) {
    CHECK_THROWS_WITH(prepared(*open("synapse", folder, "", Split::kTest), 0),
                      Catch::Contains("case0001.npy.h5: ") && Catch::Contains(message));
  };
  write_hdf5(volume, {2, kHeight, kWidth}, {{"image", image_values(2)}});
  volume_refused("holds no data set \"label\"");
  write_hdf5(volume, {2 * kHeight, kWidth}, {{"image", image_values(2)}});
  volume_refused("\"image\" has 2 axes");
  write_volume(folder, "case0001", 2);
  const std::string good = io::read_text(volume);
  folder.write("test_vol_h5/case0001.npy.h5", good.substr(0, good.size() / 2));
  volume_refused("is damaged, or its copy or download was cut short");
  CHECK(open("synapse", folder, R"("on_bad_sample": "skip")", Split::kTest)->size() == 5);
}
