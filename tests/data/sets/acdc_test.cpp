// ACDC: slices of volumes as samples, parts by patient, damaged volumes.
#include <catch2/catch.hpp>

#include <fmt/format.h>

#include <cmath>
#include <set>

#include "base/error.h"
#include "data/volumes/volume_dataset.h"
#include "tests/data/nifti_files.h"
#include "tests/data/readers.h"

using namespace fovea;
using namespace fovea::data;
using namespace fovea::data::test;

namespace {

std::string patient(int number) { return fmt::format("patient{:03}", number); }

std::string frame(int number, int f) {
  return fmt::format("{0}/{0}_frame{1:02}", patient(number), f);
}

// Labels 0..3 in turn; values of the image from 0 to 95.
void write_patient(const Folder& folder, int number) {
  for (const int f : {1, 9}) {
    const NiftiFile image = counting_volume(3, 8, 4);
    NiftiFile labels = image;
    for (std::int16_t& value : labels.values) value = static_cast<std::int16_t>(value % 4);
    folder.write(frame(number, f) + ".nii", image.bytes());
    folder.write(frame(number, f) + "_gt.nii.gz", gzip(labels.bytes()));
  }
  folder.write(patient(number) + "/" + patient(number) + "_4d.nii.gz", "a film");
}

// Of the paper's parts: 1 and 4 in train, 19 in val, 2 in test.
void write_patients(const Folder& folder) {
  for (const int number : {1, 2, 4, 19}) write_patient(folder, number);
}

std::set<std::string> patients_of(const Dataset& d) {
  std::set<std::string> patients;
  for (std::int64_t i = 0; i < d.size(); ++i) {
    const std::string name = d.name(i);
    patients.insert(name.substr(name.find("patient"), 10));
  }
  return patients;
}

}  // namespace

TEST_CASE("acdc: slices with labels and spacing, in the paper's parts", "[data]") {
  const Folder folder;
  write_patients(folder);
  const auto train = open("acdc", folder, R"("img_size": 8)");
  CHECK(patients_of(*train) == std::set<std::string>{"patient001", "patient004"});
  CHECK(train->size() == 2 * 2 * 3);
  CHECK(patients_of(*open("acdc", folder, "", Split::kVal)) == std::set<std::string>{"patient019"});
  CHECK(patients_of(*open("acdc", folder, "", Split::kTest)) ==
        std::set<std::string>{"patient002"});
  REQUIRE_FALSE(train->notes().empty());
  CHECK_THAT(train->notes().front(), Catch::Contains("68 of the 70 names"));
  const Sample sample = prepared(*train, 1);
  CHECK(sample.geometry.original_size == std::vector<std::int64_t>{3, 8, 4});
  CHECK(sample.geometry.spacing == std::vector<double>{8, 1.25, 1.5});
  CHECK(sample.geometry.offset == std::vector<std::int64_t>{1, 0, 0});
  const Geometry plane = sample.geometry.in_plane();
  CHECK(plane.original_size == std::vector<std::int64_t>{8, 4});
  CHECK(plane.spacing == std::vector<double>{1.25, 1.5});
  CHECK(plane.offset.empty());  // all of the slice
  CHECK_THAT(train->name(1), Catch::EndsWith("patient001_frame01.nii: slice 1"));
  // Rows are as many as the slice's, so the first column is left as it was: 32 of 0..95 and on.
  const std::vector<float> image = image_of(sample);
  CHECK(image[0] == Approx(32.0 / 95).margin(1e-4));
  CHECK(image[56] == Approx(60.0 / 95).margin(1e-4));
  CHECK(sample.at("mask").values<std::int64_t>()[0] == 0);
  CHECK(sample.at("mask").values<std::int64_t>()[7] == 3);
  CHECK(train->shape().label_maps);
  const auto known = known_shape(component("acdc", "/nowhere", R"("img_size": 8)"));
  REQUIRE(known.has_value());
  CHECK(known->classes == train->num_classes());
}

TEST_CASE("acdc: a slice knows its volume, its mask there, and the way back", "[data]") {
  const Folder folder;
  write_patients(folder);
  const auto train = open("acdc", folder, R"("img_size": 10)");
  const ImageDataset& images = images_of(*train);
  const auto slice = images.slice_of(4);
  REQUIRE(slice.has_value());
  CHECK(slice->volume == "patient001_frame09");
  CHECK(slice->place == 1);
  CHECK(slice->depth == 3);
  CHECK(slice->file == folder.path / (frame(1, 9) + ".nii"));
  std::vector<std::int64_t> labels;
  for (std::int64_t i = 32; i < 64; ++i) labels.push_back(i % 4);
  const Tensor mask = images.original_mask(4);
  CHECK(mask.shape() == Shape{8, 4});
  const auto own = mask.values<std::int64_t>();
  CHECK(std::vector<std::int64_t>(own.begin(), own.end()) == labels);
  // As scipy's zoom of order 0: place o reads floor(o (in - 1) / (out - 1) + 0.5).
  std::vector<std::int64_t> seen;
  for (std::int64_t i = 0; i < 100; ++i) seen.push_back(i);
  const Tensor back = images.at_original(Tensor::from(seen, {1, 10, 10}, mask.device()), 8, 4);
  const std::vector<std::int64_t> rows = {0, 1, 3, 4, 5, 6, 8, 9}, columns = {0, 3, 6, 9};
  for (std::size_t i = 0; i < 32; ++i)
    CHECK(back.values<std::int64_t>()[i] == 10 * rows[i / 4] + columns[i % 4]);
  const std::string twice = "training/" + frame(1, 9);
  folder.write(twice + ".nii", counting_volume(3, 8, 4).bytes());
  folder.write(twice + "_gt.nii", counting_volume(3, 8, 4).bytes());
  check_refused("acdc", folder, "another volume is called patient001_frame09 too");
}

TEST_CASE("acdc: parts by lists of patients, or drawn with patients kept whole", "[data]") {
  const Folder folder;
  write_patients(folder);
  folder.write("splits/train.txt", "patient002\npatient019\n");
  folder.write("splits/test.txt", "patient001\n");
  CHECK(patients_of(*open("acdc", folder, R"("parts": "lists")")) ==
        std::set<std::string>{"patient002", "patient019"});
  CHECK_FALSE(has_part(component("acdc", folder.path, R"("parts": "lists")"), Split::kVal));
  const std::string drawn = R"("parts": "all", "split": {"test": 0.25})";
  const auto test = open("acdc", folder, drawn, Split::kTest);
  CHECK(patients_of(*test).size() == 1);
  CHECK(test->size() == 6);
  CHECK(patients_of(*open("acdc", folder, drawn)).count(*patients_of(*test).begin()) == 0);
  folder.write("splits/test.txt", "patient7\n");
  check_refused("acdc", folder, "test.txt:1: patient7: no sample of this name",
                R"("parts": "lists")", Split::kTest);
}

TEST_CASE("acdc: augmentation turns image and labels alike", "[data]") {
  const Folder folder;
  write_patients(folder);
  const auto train = open("acdc", folder, R"("img_size": 8, "augment": ["rot_flip_or_rotate"])");
  std::set<std::vector<float>> seen;
  for (std::int64_t epoch = 0; epoch < 20; ++epoch) {
    const Sample sample = prepared(*train, 0, {.epoch = epoch, .augment = true});
    const std::vector<float> image = image_of(sample);
    seen.insert(image);
    // Corners lie on corners whatever the size; there the label is the value mod 4, and both are 0
    // where the slice was turned out of sight.
    for (const std::size_t corner : {0, 7, 56, 63}) {
      const auto value = static_cast<std::int64_t>(std::lround(image[corner] * 95));
      CHECK(sample.at("mask").values<std::int64_t>()[corner] == value % 4);
    }
  }
  CHECK(seen.size() > 5);
}

TEST_CASE("acdc: damaged volumes end in one line, or are left out", "[data]") {
  const Folder folder;
  check_refused("acdc", folder, "holds no patientNNN");
  write_patients(folder);
  const std::string good = counting_volume(3, 8, 4).bytes();
  folder.write(frame(4, 1) + ".nii", good.substr(0, good.size() - 2));
  const auto train = open("acdc", folder);
  CHECK_THROWS_WITH(prepared(*train, 6),
                    Catch::Contains("patient004_frame01.nii: header promises"));
  folder.write(frame(4, 1) + ".nii", good.substr(0, 40));
  check_refused("acdc", folder, "patient004_frame01.nii: holds 40 bytes");
  CHECK(open("acdc", folder, R"("on_bad_sample": "skip")")->size() == 9);
  folder.write(frame(4, 1) + ".nii", counting_volume(3, 4, 8).bytes());
  check_refused("acdc", folder,
                "gt.nii.gz: is 3 x 8 x 4, the first channel of its volume is 3 x 4 x 8");
  NiftiFile labels = counting_volume(3, 8, 4);
  folder.write(frame(4, 1) + ".nii", labels.bytes());
  folder.write(frame(4, 1) + "_gt.nii.gz", gzip(labels.bytes()));
  CHECK_THROWS_WITH(prepared(*open("acdc", folder), 6),
                    Catch::Contains("slice 0: value 4 in row 1, column 0"));
  std::filesystem::remove(folder.path / (frame(4, 1) + "_gt.nii.gz"));
  check_refused("acdc", folder, "patient004_frame01.nii: has no labels");
}

TEST_CASE("acdc_volumes: one channel, four classes and none to be ignored", "[data][volumes]") {
  const Folder folder;
  write_patients(folder);
  const auto train = make_dataset(component("acdc_volumes", folder.path), Split::kTrain);
  const VolumeInfo& info = find_volumes(*train)->info();
  CHECK(info.channels == 1);
  CHECK_FALSE(info.ignore_value);
  const auto mask = find_volumes(*train)->original_mask(0).values<std::int64_t>();
  for (const std::int64_t label : {0, 1, 2, 3})
    CHECK(std::count(mask.begin(), mask.end(), label) == 24);
}
