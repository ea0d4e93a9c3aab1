// Volumes that are turned to RAS+ before all else, and predictions that are turned back.
#include <catch2/catch.hpp>

#include <filesystem>

#include "base/error.h"
#include "data/volumes/volume_dataset.h"
#include "tests/data/config.h"
#include "tests/data/files.h"
#include "tests/data/nifti_files.h"
#include "tests/support/tensors.h"

using namespace fovea;
using namespace fovea::data;
using namespace fovea::data::test;

namespace {

constexpr VolumeSides kCanonicalSides = {4, 6, 8};
// Of RAS+: 1.5 x 1.25 x 8 mm, slanted a little.
constexpr Affine kAffine = {{{1.5, 0, 0.5, -20}, {0.1, 1.25, 0, 30}, {0, 0, 8, -40}}};

NiftiFile stored(const std::vector<float>& values, const Turn& turn) {
  const VolumeSides sides = turned(kCanonicalSides, turn);
  NiftiFile file{.depth = static_cast<std::int16_t>(sides[0]),
                 .height = static_cast<std::int16_t>(sides[1]),
                 .width = static_cast<std::int16_t>(sides[2]),
                 .values = {}};
  const auto steps = turned(std::array<double, 3>{8, 1.25, 1.5}, turn);
  for (std::size_t k = 0; k < 3; ++k) file.steps[k] = static_cast<float>(steps[2 - k]);
  for (const float value : turned(std::span<const float>(values), kCanonicalSides, turn))
    file.values.push_back(static_cast<std::int16_t>(value));
  const Affine affine = turned(kAffine, kCanonicalSides, turn);
  file.sform.emplace();
  for (std::size_t r = 0; r < 3; ++r) {
    for (std::size_t c = 0; c < 4; ++c) (*file.sform)[r][c] = static_cast<float>(affine[r][c]);
  }
  return file;
}

// Three cases with a border of zeros and a block of class 1, no two axes alike, stored as `turns`
// say, one after another. Returns the labels, not turned.
std::vector<float> write_cases(const Folder& folder, const std::vector<Turn>& turns) {
  folder.write("dataset.json",
               R"({"labels": {"background": 0, "block": 1}, "channel_names": {"0": "MRI"}})");
  std::vector<float> labels;
  for (int n = 0; n < 3; ++n) {
    std::vector<float> image;
    labels.clear();
    for (int i = 0; i < 4 * 6 * 8; ++i) {
      const int d = i / 48, h = i / 8 % 6, w = i % 8;
      const bool block = d > 0 && h > 1 && h < 4 && w > 2;
      labels.push_back(block ? 1.0f : 0.0f);
      image.push_back(h == 0 || w == 0 ? 0.0f : static_cast<float>(10 + n + 9 * d + i * 7 % 31));
    }
    const Turn& turn = turns[static_cast<std::size_t>(n) % turns.size()];
    const std::string name = "case_" + std::to_string(n) + ".nii";
    folder.write("imagesTr/" + name, stored(image, turn).bytes());
    folder.write("labelsTr/" + name, stored(labels, turn).bytes());
  }
  return labels;
}

std::shared_ptr<const Dataset> open(const Folder& folder, const std::string& more) {
  return make_dataset(component("nnunet", folder.path, more + R"("split": {"val": 0.34})"),
                      Split::kTrain);
}

std::vector<std::int64_t> labels_of(const Tensor& mask) {
  const auto labels = mask.values<std::int64_t>();
  return {labels.begin(), labels.end()};
}

constexpr const char* kCanonical = R"("canonical": true, "spacing": [4, 1.25, 1.5], )";
const std::vector<Turn> kTurns = {
    {{2, 0, 1}, {true, false, true}}, {{1, 0, 2}, {false, true, false}}, {{0, 2, 1}, {}}};

}  // namespace

TEST_CASE("canonical: however files are stored, samples are the same", "[data][volumes]") {
  const Folder plain, mixed;
  write_cases(plain, {Turn()});
  write_cases(mixed, kTurns);
  for (const char* more : {kCanonical, R"("canonical": true, )"}) {
    const auto a = open(plain, more), b = open(mixed, more);
    CHECK(find_volumes(*a)->plan().text() == find_volumes(*b)->plan().text());
    for (std::int64_t i = 0; i < a->size(); ++i) {
      CHECK(floats(b->get(i).at("image")) == floats(a->get(i).at("image")));
      CHECK(labels_of(b->get(i).at("mask")) == labels_of(a->get(i).at("mask")));
    }
  }
  // Of files that are RAS+ the option changes nothing; of others it does.
  CHECK(floats(open(plain, "")->get(0).at("image")) ==
        floats(open(plain, R"("canonical": true, )")->get(0).at("image")));
  CHECK(open(mixed, "")->get(0).at("image").shape() != open(plain, "")->get(0).at("image").shape());
}

TEST_CASE("canonical: labels come back on the grid of the file, turned as it is",
          "[data][volumes]") {
  const Folder folder;
  const std::vector<float> labels = write_cases(folder, kTurns);
  const auto d = open(folder, kCanonical);
  const VolumeDataset& volumes = *find_volumes(*d);
  for (std::int64_t i = 0; i < d->size(); ++i) {
    const Tensor mask = d->get(i).at("mask");
    std::vector<float> maps;
    for (const std::int64_t k : {0, 1}) {
      for (const std::int64_t label : mask.values<std::int64_t>())
        maps.push_back(label == k ? 1.0f : 0.0f);
    }
    const Tensor prob =
        Tensor::from(maps, {2, mask.size(0), mask.size(1), mask.size(2)}, mask.device());
    const Tensor back = volumes.labels_at_original(prob, i), truth = volumes.original_mask(i);
    CHECK(back.shape() == truth.shape());
    CHECK(labels_of(back) == labels_of(truth));
    const auto n = static_cast<std::size_t>(volumes.case_name(i).back() - '0');
    const auto expected = turned(std::span<const float>(labels), kCanonicalSides, kTurns[n]);
    CHECK(labels_of(truth) == std::vector<std::int64_t>(expected.begin(), expected.end()));
    CHECK(d->get(i).geometry.original_size ==
          std::vector<std::int64_t>(truth.shape().begin(), truth.shape().end()));
  }
}

TEST_CASE("canonical: volumes kept on disk know whether they were turned", "[data][volumes]") {
  const Folder folder, cache;
  write_cases(folder, kTurns);
  const std::string kept = R"("cache_folder": ")" + cache.path.string() + R"(", )";
  for (int round = 0; round < 2; ++round) {
    for (const char* more : {"", R"("canonical": true, )"}) {
      const auto fresh = open(folder, more), stored_once = open(folder, more + kept);
      CHECK(find_volumes(*stored_once)->plan().text() == find_volumes(*fresh)->plan().text());
      for (std::int64_t i = 0; i < fresh->size(); ++i) {
        CHECK(floats(stored_once->get(i).at("image")) == floats(fresh->get(i).at("image")));
        CHECK(find_volumes(*stored_once)->place(i).turn == find_volumes(*fresh)->place(i).turn);
      }
    }
  }
  const auto turned_set = open(folder, R"("canonical": true, )");
  CHECK_THROWS_WITH(turned_set->check_weight_files(open(folder, "")->weight_files(), "run"),
                    Catch::Contains("dataset.canonical"));
}

TEST_CASE("canonical: a file that does not say how it lies is named", "[data][volumes]") {
  const Folder folder;
  write_cases(folder, {Turn()});
  NiftiFile flat = stored(std::vector<float>(4 * 6 * 8, 1.0f), Turn());
  (*flat.sform)[1] = {0, 0, 0, 0};
  for (int n = 0; n < 3; ++n)
    folder.write("imagesTr/case_" + std::to_string(n) + ".nii", flat.bytes());
  CHECK_NOTHROW(open(folder, ""));
  CHECK_THROWS_AS(open(folder, kCanonical), FileError);
  CHECK_THROWS_WITH(open(folder, kCanonical), Catch::Contains(".nii: its header does not say"));
}
