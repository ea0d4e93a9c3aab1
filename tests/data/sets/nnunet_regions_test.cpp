// Regions of nnU-Net's dataset.json: what is read, what is refused, crops, and labels on the grid
// of the file.
#include <catch2/catch.hpp>

#include <algorithm>
#include <set>

#include "base/error.h"
#include "data/augment/volumes/volume_augment.h"
#include "data/survey.h"
#include "data/volumes/volume_cache.h"
#include "data/volumes/volume_dataset.h"
#include "data/volumes/volume_regions.h"
#include "tests/data/config.h"
#include "tests/data/files.h"
#include "tests/data/nifti_files.h"
#include "tests/support/tensors.h"

using namespace fovea;
using namespace fovea::data;
using namespace fovea::data::test;

namespace {

constexpr const char* kTumour = R"({"labels": {"background": 0, "whole_tumor": [1, 2, 3],
    "tumor_core": [2, 3], "enhancing_tumor": 3}, "regions_class_order": [1, 2, 3],
    "channel_names": {"0": "MRI"}})";

// Slices of the labels 0, 1, 2, 3, ... of `last`, one after another.
void write_case(const Folder& folder, const std::string& name, std::int16_t last) {
  NiftiFile image{.depth = static_cast<std::int16_t>(last + 1),
                  .height = 6,
                  .width = 8,
                  .values = {},
                  .steps = {1, 1, 1}};
  NiftiFile labels = image;
  for (std::int16_t d = 0; d <= last; ++d) {
    for (std::int16_t i = 0; i < 48; ++i) {
      image.values.push_back(static_cast<std::int16_t>(10 + 20 * d + i % 7));
      labels.values.push_back(d);
    }
  }
  folder.write("imagesTr/" + name + "_0000.nii.gz", gzip(image.bytes()));
  folder.write("labelsTr/" + name + ".nii.gz", gzip(labels.bytes()));
}

std::shared_ptr<const Dataset> tumours(const Folder& folder, const std::string& json,
                                       std::int16_t last = 3, const std::string& more = "") {
  folder.write("dataset.json", json);
  for (const char* name : {"a_1", "a_2"}) write_case(folder, name, last);
  return make_dataset(
      component("nnunet", folder.path,
                R"("img_size": [2, 4, 4], "augment": false, "split": {"val": 0.5})" + more),
      Split::kTrain);
}

const VolumeInfo& info_of(const std::shared_ptr<const Dataset>& d) {
  return find_volumes(*d)->info();
}

}  // namespace

TEST_CASE("nnunet: lists of labels make regions", "[data][volumes]") {
  const Folder folder;
  const auto d = tumours(folder, kTumour);
  CHECK(d->class_names() ==
        std::vector<std::string>{"background", "label 1", "label 2", "enhancing_tumor"});
  CHECK(d->output_names() ==
        std::vector<std::string>{"whole_tumor", "tumor_core", "enhancing_tumor"});
  CHECK(d->shape().classes == 3);
  CHECK(d->shape().regions);
  CHECK(info_of(d).regions == std::vector<Region>{{"whole_tumor", "(1, 2, 3)", {1, 2, 3}, 1},
                                                  {"tumor_core", "(2, 3)", {2, 3}, 2},
                                                  {"enhancing_tumor", "3", {3}, 3}});
  CHECK(scored_labels(info_of(d)) ==
        std::vector<std::vector<std::int64_t>>{{0}, {1, 2, 3}, {2, 3}, {3}});
  // Samples have the labels.
  std::set<std::int64_t> seen;
  for (const std::int64_t label : find_volumes(*d)->original_mask(0).values<std::int64_t>())
    seen.insert(label);
  CHECK(seen == std::set<std::int64_t>{0, 1, 2, 3});
  const std::string found =
      to_text(survey(make_splits(component("nnunet", folder.path, R"("split": {"val": 0.5})")), 1));
  CHECK_THAT(found, Catch::Contains("regions, which networks learn: whole_tumor 1+2+3 (written as "
                                    "1), tumor_core 2+3 (written as 2), enhancing_tumor 3 (written "
                                    "as 3)"));
}

TEST_CASE("nnunet: values of files, ignore and lists of one label, with regions",
          "[data][volumes]") {
  const Folder folder;
  const auto d = tumours(folder, R"({"labels": {"background": 0, "all": [4, 1, 3], "edema": [1],
      "core": [3], "ignore": 5, "rim": 2}, "regions_class_order": [4, 1, 2, 3],
      "channel_names": {"0": "MRI"}})",
                         5);
  CHECK(info_of(d).label_values == std::vector<int>{0, 1, 2, 3, 4});
  CHECK(info_of(d).ignore_value == 5);
  CHECK(d->class_names() ==
        std::vector<std::string>{"background", "edema", "rim", "core", "label 4"});
  CHECK(info_of(d).regions == std::vector<Region>{{"all", "(4, 1, 3)", {1, 3, 4}, 4},
                                                  {"edema", "(1,)", {1}, 1},
                                                  {"core", "(3,)", {3}, 2},
                                                  {"rim", "2", {2}, 3}});
  const auto mask = find_volumes(*d)->original_mask(0).values<std::int64_t>();
  CHECK(std::count(mask.begin(), mask.end(), kIgnoreLabel) == 48);
  // As in nnU-Net a list of one label alone makes no regions.
  const auto plain = tumours(folder, R"({"labels": {"background": 0, "a": [1], "b": 2, "c": [3]},
                                         "channel_names": {"0": "MRI"}})");
  CHECK(info_of(plain).regions.empty());
  CHECK(plain->output_names() == std::vector<std::string>{"background", "a", "b", "c"});
}

TEST_CASE("nnunet: regions that cannot be are refused in a line", "[data][volumes]") {
  const Folder folder;
  const auto refused = [&](const std::string& labels, const std::string& order,
                           const std::string& message) {
    CAPTURE(labels, order);
    const std::string json = R"({"labels": {"background": 0, )" + labels + "}" +
                             (order.empty() ? "" : R"(, "regions_class_order": )" + order) + "}";
    CHECK_THROWS_WITH(tumours(folder, json), Catch::Contains("dataset.json: " + message));
    CHECK_THROWS_AS(tumours(folder, json), FileError);
  };
  const std::string good = R"("whole": [1, 2, 3], "core": [2, 3])";
  refused(good, "",
          "regions_class_order: not there, but labels has lists; expected a list of the "
          "labels that predicted voxels of whole, core get");
  refused(good, "3", "regions_class_order: not there");
  refused(good, "[1]", "regions_class_order: 1 labels for 2 regions (whole, core)");
  refused(good, "[1, 2, 3]", "regions_class_order: 3 labels for 2 regions");
  refused(good, "[1, 7]", "regions_class_order: 7 is none of the labels 0, 1, 2, 3");
  refused(good, "[1, -1]", "regions_class_order: -1 is none of");
  refused(good, R"([1, "2"])", R"(regions_class_order: "2" is none of)");
  refused(good + R"(, "ignore": 4)", "[1, 4]", "regions_class_order: 4 is none of");
  refused(good + R"(, "rest": [])", "[1, 2, 3]", R"(labels: "rest" is an empty list)");
  refused(R"("whole": [1, 2, 1])", "[1]", R"(labels: "whole" has 1 twice)");
  refused(R"("whole": [1, 2], "ignore": [3])", "[1]", R"(labels: "ignore" is a list)");
  refused(R"("whole": [1, 2, 3], "ignore": 3)", "[1]",
          R"(labels: the region "whole" has 3, which is "ignore")");
  refused(R"("whole": [1, 3], "ignore": 2)", "[1]", R"(labels: "ignore" is 2; expected one, the)");
  refused(R"("whole": [1, -2])", "[1]", "labels: -2 is no whole number from 0 to 255");
  refused(R"("whole": [1, 256])", "[1]", "labels: 256 is no whole number");
  refused(R"("whole": [1, 2.5])", "[1]", "labels: 2.5 is no whole number");
  refused(R"("whole": [1, "2"])", "[1]", R"(labels: "2" is no whole number)");
  refused(R"("whole": [1, [2]])", "[1]", "labels: [2] is no whole number");
  refused(R"("whole": [1, 2], "again": [2, 1])", "[1, 2]",
          R"(labels: "whole" and "again" are the same labels)");
  CHECK_THROWS_WITH(tumours(folder, R"({"labels": {"whole": [0, 1]}, "regions_class_order": [1]})"),
                    Catch::Contains("labels: 2 given; expected the background, 0, and others"));
}

TEST_CASE("volumes: crops are drawn around regions, from memory and from disk", "[data][volumes]") {
  // One voxel of each label: of 3 draws of a region 1/3 + 1/3 / 2 + 1/9 are of label 3.
  PreparedVolume volume;
  volume.size = {1, 1, 60};
  volume.place.file = volume.place.box = volume.size;
  volume.values.assign(60, 1);
  volume.labels.assign(60, 0);
  volume.labels[10] = 1;
  volume.labels[30] = 2;
  volume.labels[50] = 3;
  const std::vector<Region> regions = {
      {"whole", "", {1, 2, 3}, 1}, {"core", "", {2, 3}, 2}, {"enhancing", "", {3}, 3}};
  note_voxels(volume, 4, regions);
  CHECK(volume.voxels == std::vector<std::vector<std::int32_t>>{{10, 30, 50}, {30, 50}, {50}});
  CHECK(volume.labelled == 60);
  CHECK(unpack_volume(pack_volume(volume), "x", 4, regions).voxels == volume.voxels);
  // A crop of one voxel, that which was drawn less half of what is read around crops.
  const auto drawn = [&](std::uint64_t i) {
    const std::int64_t before = margin_size({1, 1, 1})[2] / 2 - (margin_size({1, 1, 1})[2] - 1) / 2;
    return before + static_cast<std::int64_t>(
                        draw_crop(volume, {1, 1, 1}, true, RandomStream(3).fork(i))[2]);
  };
  std::map<std::int64_t, int> draws;
  for (std::uint64_t i = 0; i < 900; ++i) ++draws[drawn(i)];
  CHECK(draws.size() == 3);
  CHECK(draws[10] == Approx(100).margin(30));
  CHECK(draws[30] == Approx(250).margin(45));
  CHECK(draws[50] == Approx(550).margin(50));
  // A region that is not there is not drawn.
  volume.labels[30] = volume.labels[50] = 0;
  note_voxels(volume, 4, regions);
  for (std::uint64_t i = 0; i < 20; ++i) CHECK(drawn(i) == 10);
}

TEST_CASE("region_labels: a later region is written over those before it", "[data][volumes]") {
  // The second is not part of the first, as a network may have it.
  const std::vector<Region> regions = {{"whole", "", {1, 2}, 2}, {"core", "", {2}, 1}};
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const Tensor prob =
      Tensor::from<float>({0.4f, 0.6f, 0.6f, 0.5f, nan, 0.9f, 0.1f, 0.2f, 0.9f, 0.7f, 0.6f, 0.5f},
                          {1, 2, 1, 2, 3}, fovea::test::cpu());
  const auto labels = region_labels(prob, regions).values<std::int64_t>();
  CHECK(std::vector<std::int64_t>(labels.begin(), labels.end()) ==
        std::vector<std::int64_t>{0, 2, 1, 1, 1, 2});
  CHECK_THROWS_AS(region_labels(prob, {regions[0]}), ShapeError);
}

TEST_CASE("volumes: probabilities of regions are labels on the grid of the file",
          "[data][volumes]") {
  const Folder folder;
  const auto d = tumours(folder, kTumour, 3, R"(, "spacing": [0.5, 1, 1])");
  const VolumeDataset& v = *find_volumes(*d);
  const Tensor mask = d->for_evaluation()->get(0).at("mask");
  CHECK(mask.shape() == Shape{8, 6, 8});
  // What is sure of its labels at the network's size has them at the file's, twice as coarse.
  std::vector<float> prob;
  for (const Region& region : v.info().regions) {
    for (const std::int64_t label : mask.values<std::int64_t>())
      prob.push_back(std::ranges::count(region.classes, label) > 0 ? 1.0f : 0.0f);
  }
  const Tensor maps = Tensor::from(prob, {3, 8, 6, 8}, fovea::test::cpu());
  const auto found = v.labels_at_original(maps, 0).values<std::int64_t>();
  const auto truth = v.original_mask(0).values<std::int64_t>();
  CHECK(std::equal(found.begin(), found.end(), truth.begin(), truth.end()));
}

TEST_CASE("volumes: weights know the regions that they were trained with", "[data][volumes]") {
  const Folder folder;
  const auto d = tumours(folder, kTumour);
  auto files = d->weight_files();
  d->check_weight_files(files, "last");
  std::string other = kTumour;
  other.replace(other.find("[2, 3]"), 6, "[1, 2]");
  CHECK_THROWS_WITH(
      tumours(folder, other)->check_weight_files(files, "last"),
      Catch::Contains("last/regions.json: the weights were trained with the regions whole_tumor "
                      "1+2+3 (written as 1), tumor_core 2+3"));
  files["regions.json"] = "{";
  CHECK_THROWS_AS(d->check_weight_files(files, "last"), FileError);
}
