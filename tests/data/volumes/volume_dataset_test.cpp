// Whole volumes: readers, the plan, prepared volumes, crops, and that nothing depends on threads.
#include <catch2/catch.hpp>

#include <algorithm>
#include <set>

#include "base/error.h"
#include "data/augment/volumes/volume_augment.h"
#include "data/loader.h"
#include "data/volumes/volume_dataset.h"
#include "tests/data/config.h"
#include "tests/data/files.h"
#include "tests/data/nifti_files.h"
#include "tests/support/tensors.h"

using namespace fovea;
using namespace fovea::data;
using namespace fovea::data::test;

namespace {

constexpr const char* kTwoClasses = R"({"labels": {"0": "background", "3": "lesion"},
                                        "modality": {"0": "MRI"}})";

// `name` with a border of zeros, a block of class 3, whose last column is of class `last`, and
// values that differ from case to case.
void write_case(const Folder& folder, const std::string& name, int shift, std::int16_t last = 3) {
  NiftiFile image{.depth = 4, .height = 6, .width = 8, .values = {}};
  NiftiFile labels = image;
  for (int d = 0; d < 4; ++d) {
    for (int h = 0; h < 6; ++h) {
      for (int w = 0; w < 8; ++w) {
        const bool border = h == 0 || w == 0 || w == 7;
        const bool block = d > 0 && h > 1 && h < 4 && w > 2 && w < 6;
        image.values.push_back(
            static_cast<std::int16_t>(border ? 0 : 10 + shift + (block ? 50 : 0) + w));
        labels.values.push_back(!block ? std::int16_t{0} : w == 5 ? last : std::int16_t{3});
      }
    }
  }
  labels.slope = 2;  // is no business of labels
  folder.write("imagesTr/" + name + "_0000.nii.gz", gzip(image.bytes()));
  folder.write("labelsTr/" + name + ".nii.gz", gzip(labels.bytes()));
}

void write_nnunet_cases(const Folder& folder) {
  folder.write("dataset.json", kTwoClasses);
  int shift = 0;
  for (const char* name : {"a_1", "a_2", "a_3", "a_4"}) write_case(folder, name, shift++);
}

std::shared_ptr<const Dataset> volumes(const std::string& type, const Folder& folder,
                                       const std::string& more = "", Split split = Split::kTrain) {
  return make_dataset(component(type, folder.path, more), split);
}

std::set<std::string> cases_of(const Dataset& d) {
  std::set<std::string> names;
  for (std::int64_t i = 0; i < d.size(); ++i) names.insert(find_volumes(d)->case_name(i));
  return names;
}

const char* const kPhantoms =
    R"({"type": "synthetic_volumes", "train_size": 6, "test_size": 2, "size": [20, 24, 28],
        "img_size": [8, 12, 12], "samples_per_epoch": 7})";

std::vector<float> epoch_of(const std::shared_ptr<const Dataset>& d, std::int64_t workers,
                            std::int64_t first = 0) {
  Loader loader(
      d, {.batch_size = 2, .num_workers = workers, .shuffle = true, .augment = true, .seed = 5},
      fovea::test::cpu());
  loader.start(3, first);
  std::vector<float> all;
  while (const auto batch = loader.next()) {
    const auto values = batch->at("image").values<float>();
    all.insert(all.end(), values.begin(), values.end());
    for (const std::int64_t label : batch->at("mask").values<std::int64_t>())
      all.push_back(static_cast<float>(label));
  }
  return all;
}

PreparedVolume ramp(const VolumeSides& size) {
  PreparedVolume volume;
  volume.size = size;
  for (std::int64_t i = 0; i < size[0] * size[1] * size[2]; ++i) {
    volume.values.push_back(static_cast<float>(i));
    volume.labels.push_back(i == 77 ? 1 : 0);
  }
  note_voxels(volume, 2);
  return volume;
}

}  // namespace

TEST_CASE("nnunet: cases, classes and labels as they are stored", "[data][volumes]") {
  const Folder folder;
  write_nnunet_cases(folder);
  const auto train = volumes("nnunet", folder, R"("img_size": [4, 4, 4], "split": {"val": 0.25})");
  CHECK(train->size() == 3);
  CHECK(train->class_names() == std::vector<std::string>{"background", "lesion"});
  CHECK(train->shape().depth == 4);
  const Sample whole = train->get(0);
  // The border of zeros is cut away: 4 x 5 x 6 of 4 x 6 x 8.
  CHECK(whole.at("image").shape() == Shape{1, 4, 5, 6});
  CHECK(whole.geometry.original_size == std::vector<std::int64_t>{4, 6, 8});
  CHECK(whole.geometry.spacing == std::vector<double>{8, 1.25, 1.5});
  const auto mask = whole.at("mask").values<std::int64_t>();
  CHECK(std::count(mask.begin(), mask.end(), 1) == 3 * 2 * 3);
  const auto original = find_volumes(*train)->original_mask(0);
  CHECK(original.shape() == Shape{4, 6, 8});
  double sum = 0;
  for (const float value : whole.at("image").values<float>()) sum += double{value};
  CHECK(sum == Approx(0).margin(1e-3));  // by its own mean
}

TEST_CASE("nnunet: splits_final.json is honoured", "[data][volumes]") {
  const Folder folder;
  write_nnunet_cases(folder);
  folder.write("splits_final.json", R"([{"train": ["a_4", "a_1"], "val": ["a_3"]},
                                        {"train": ["a_2"], "val": ["a_1"]}])");
  const std::string fold = R"("split": {"fold": "0/2"})";
  CHECK(cases_of(*volumes("nnunet", folder, fold)) == std::set<std::string>{"a_1", "a_4"});
  CHECK(cases_of(*volumes("nnunet", folder, fold, Split::kVal)) == std::set<std::string>{"a_3"});
}

TEST_CASE("nnunet: says in a line what is wrong with the files", "[data][volumes]") {
  const Folder folder;
  write_nnunet_cases(folder);
  const auto refused = [&](const std::string& part) {
    const auto read_all = [&] {
      const auto d = volumes("nnunet", folder, R"("split": {"val": 0.25})");
      for (std::int64_t i = 0; i < d->size(); ++i) d->get(i);
    };
    CHECK_THROWS_WITH(read_all(), Catch::Contains(part));
    CHECK_THROWS_AS(read_all(), FileError);
  };
  SECTION("a case without an image") {
    std::filesystem::remove(folder.path / "imagesTr/a_2_0000.nii.gz");
    refused("expected a_2.nii.gz or a_2_0000.nii.gz");
  }
  SECTION("a label that dataset.json does not name") {
    folder.write("dataset.json",
                 R"({"labels": {"background": 0, "x": 1}, "channel_names": {"0": "MRI"}})");
    refused("label 3 in slice 1, row 2, column 3; the data set declares 0, 1");
  }
  SECTION("labels of another size") {
    folder.write("labelsTr/a_1.nii.gz", gzip(counting_volume(2, 6, 8).bytes()));
    refused("the first channel of its volume is 4 x 6 x 8");
  }
  SECTION("no dataset.json") {
    std::filesystem::remove(folder.path / "dataset.json");
    refused("dataset.json: not found; see datasets/nnunet.md");
  }
}

TEST_CASE("volumes: the plan's spacing", "[data][volumes]") {
  const std::vector<VolumeSides> flat(3, {10, 256, 256}), deep(3, {100, 256, 256});
  const std::vector<std::array<double, 3>> spacings = {{8, 1, 1}, {10, 1.5, 1.5}, {5, 2, 2}};
  // Few slices that are far apart: their 10th percentile instead of the median.
  CHECK(target_spacing(spacings, flat)[0] == Approx(5.6));
  CHECK(target_spacing(spacings, flat)[1] == Approx(1.5));
  CHECK(target_spacing(spacings, deep)[0] == Approx(8));
  // Slices that are nearer than the pixels of the others are wide: no finer than these, and the
  // coarsest axis all the same (nnunetv2 2.x, determine_fullres_target_spacing).
  std::vector<std::array<double, 3>> mixed(9, {8, 1.5, 1.5});
  mixed.insert(mixed.end(), 3, {1, 1.5, 1.5});
  const std::vector<VolumeSides> few(12, {10, 256, 256});
  CHECK(target_spacing(mixed, few)[0] == Approx(1.50001).epsilon(1e-9));
}

TEST_CASE("volumes: holes count as inside, what reaches the border does not", "[data][volumes]") {
  std::vector<float> values(5 * 5 * 5, 0.0f);
  for (int d = 1; d < 4; ++d) {
    for (int h = 1; h < 4; ++h) {
      for (int w = 1; w < 4; ++w) values[static_cast<std::size_t>((d * 5 + h) * 5 + w)] = 1;
    }
  }
  values[(2 * 5 + 2) * 5 + 2] = 0;
  const auto mask = filled_mask(values, 1, {5, 5, 5});
  CHECK(std::count(mask.begin(), mask.end(), 1) == 27);
  CHECK(mask[(2 * 5 + 2) * 5 + 2] == 1);
}

TEST_CASE("volumes: labels come back on the grid of the file", "[data][volumes]") {
  LabelledVoxels volume;
  static_cast<VolumeSize&>(volume) = {6, 9, 7, {2, 1, 1}};
  for (std::int64_t i = 0; i < volume.voxels(); ++i) {
    const bool inside = i / 63 > 0 && i % 7 > 1;
    volume.values.push_back(inside ? 1.0f + static_cast<float>(i % 5) : 0.0f);
    volume.labels.push_back(inside && i % 7 > 3 ? 1 : 0);
  }
  VolumePlan plan;
  plan.spacing = {2, 1, 1};
  const PreparedVolume same = prepare_volume(volume, plan, 2);
  CHECK(same.size == VolumeSides{5, 9, 5});
  const auto maps_of = [](const PreparedVolume& v) {
    std::vector<float> maps;
    for (const auto label : v.labels) maps.push_back(label == 0 ? 1.0f : 0.0f);
    for (const auto label : v.labels) maps.push_back(label == 0 ? 0.0f : 1.0f);
    return maps;
  };
  CHECK(labels_on_file(maps_of(same), 2, same.size, same.place) == volume.labels);
  plan.spacing = {1, 0.5, 0.5};
  const PreparedVolume fine = prepare_volume(volume, plan, 2);
  CHECK(fine.size == VolumeSides{10, 18, 10});
  CHECK(labels_on_file(maps_of(fine), 2, fine.size, fine.place) == volume.labels);
}

TEST_CASE("volumes: the plan is a file that comes back", "[data][volumes]") {
  VolumePlan plan;
  plan.spacing = {1.0 / 3.0, 1, 2};
  plan.ct = true;
  plan.channels = {{-100.25, 300, 41.1, 77.7}};
  CHECK(VolumePlan::parse(plan.text(), "plan.json").text() == plan.text());
  CHECK_THROWS_AS(VolumePlan::parse("{}", "plan.json"), FileError);
}

TEST_CASE("volumes: ct is scaled by the training foreground", "[data][volumes]") {
  const Folder folder;
  write_nnunet_cases(folder);
  const auto d = volumes("nnunet", folder, R"("intensities": "ct", "split": {"val": 0.25})");
  const VolumePlan& plan = find_volumes(*d)->plan();
  REQUIRE(plan.channels.size() == 1);
  CHECK(plan.channels[0].low >= 63);
  CHECK(plan.channels[0].high <= 68);
  CHECK(d->weight_files().at("plan.json") == plan.text());
  auto other = d->weight_files();
  VolumePlan changed = plan;
  changed.spacing[0] = 3;
  other["plan.json"] = changed.text();
  CHECK_NOTHROW(d->check_weight_files(d->weight_files(), "x"));
  CHECK_THROWS_AS(d->check_weight_files(other, "x"), FileError);
}

TEST_CASE("volumes: prepared volumes are kept on disk by their content", "[data][volumes]") {
  const Folder folder, cache;
  write_nnunet_cases(folder);
  const std::string more =
      R"("split": {"val": 0.25}, "cache_folder": ")" + cache.path.string() + "\"";
  const auto files = [&] {
    std::vector<std::filesystem::path> found;
    for (const auto& entry : std::filesystem::directory_iterator(cache.path))
      found.push_back(entry.path());
    return found;
  };
  const auto all = [&](const std::string& options) {
    std::vector<float> values;
    const auto d = volumes("nnunet", folder, options);
    for (std::int64_t i = 0; i < d->size(); ++i) {
      for (const float value : floats(d->get(i).at("image"))) values.push_back(value);
    }
    return values;
  };
  const std::vector<float> plain = all(R"("split": {"val": 0.25})");
  CHECK(all(more) == plain);
  REQUIRE(files().size() == 4);  // the plan too
  CHECK(all(more) == plain);
  CHECK(files().size() == 4);
  for (const auto& file : files()) {
    // A number of the content, so that the file can still be read.
    std::string bytes = io::read_text(file);
    const bool plan = file.extension() == ".json";
    const std::size_t at = plan ? bytes.find("1.25") : bytes.size() - 2;
    REQUIRE(at < bytes.size());
    bytes[at] = static_cast<char>(bytes[at] ^ 1);
    cache.write(file.filename().string(), bytes);
  }
  CHECK(all(more) == plain);
  CHECK(files().size() == 4);
  for (const auto& file : files()) cache.write(file.filename().string(), "damaged");
  CHECK(all(more) == plain);
  for (const char* name : {"a_1", "a_2", "a_3", "a_4"}) write_case(folder, name, 20);
  CHECK(all(more) == all(R"("split": {"val": 0.25})"));
  CHECK(files().size() == 8);
}

TEST_CASE("volumes: a changed label of a large file is never taken from the cache",
          "[data][volumes]") {
  const Folder folder, cache;
  folder.write("dataset.json", kTwoClasses);
  NiftiFile image = counting_volume(16, 40, 40), labels = image;
  labels.values.assign(labels.values.size(), 0);
  labels.values[100] = labels.values[12'000] = 3;
  for (const char* name : {"a_1", "a_2"}) {
    folder.write(std::string("imagesTr/") + name + "_0000.nii", image.bytes());
    folder.write(std::string("labelsTr/") + name + ".nii", labels.bytes());
  }
  const auto labelled = [&] {
    const auto d =
        volumes("nnunet", folder,
                R"("split": {"val": 0.5}, "cache_folder": ")" + cache.path.string() + "\"");
    const auto mask = d->get(0).at("mask").values<std::int64_t>();
    return std::count(mask.begin(), mask.end(), 1);
  };
  CHECK(labelled() == 2);
  labels.values[12'000] = 0;
  for (const char* name : {"a_1", "a_2"})
    folder.write(std::string("labelsTr/") + name + ".nii", labels.bytes());
  CHECK(labelled() == 1);
}

TEST_CASE("volumes: nnU-Net's label ignore is no class and counts nowhere", "[data][volumes]") {
  const Folder folder;
  folder.write("dataset.json",
               R"({"labels": {"background": 0, "lesion": 1, "ignore": 3},
                   "channel_names": {"0": "CT"}})");
  for (const char* name : {"a_1", "a_2", "a_3", "a_4"}) write_case(folder, name, 0, 1);
  const auto d = volumes("nnunet", folder, R"("intensities": "mr", "split": {"val": 0.25},
                                              "img_size": [4, 4, 4], "augment": false)");
  CHECK(d->class_names() == std::vector<std::string>{"background", "lesion"});
  const VolumeDataset& v = *find_volumes(*d);
  CHECK(v.info().ignore_value == 3);
  for (const Tensor& mask : {v.original_mask(0), d->for_evaluation()->get(0).at("mask")}) {
    std::set<std::int64_t> values;
    for (const std::int64_t label : mask.values<std::int64_t>()) values.insert(label);
    CHECK(values == std::set<std::int64_t>{kIgnoreLabel, 0, 1});
  }
  // Crops lie around voxels of a class.
  const Sample crop = prepared(*d, 0);
  std::int64_t labelled = 0;
  for (const std::int64_t label : crop.at("mask").values<std::int64_t>()) {
    CHECK((label == kIgnoreLabel || label == 0 || label == 1));
    labelled += label >= 0 ? 1 : 0;
  }
  CHECK(labelled > 0);
  // The class alone makes intensities: its column has 10 + 50 + 5, the voxels without one less.
  const auto ct = volumes("nnunet", folder, R"("split": {"val": 0.25})");
  CHECK(find_volumes(*ct)->plan().channels.at(0).mean == 65);
  // Where nothing else is labelled, nothing is foreground.
  for (const char* name : {"a_1", "a_2", "a_3", "a_4"}) write_case(folder, name, 0);
  CHECK_THROWS_WITH(volumes("nnunet", folder, R"("split": {"val": 0.25})"),
                    Catch::Contains("hold nothing but background"));
  folder.write("dataset.json", R"({"labels": {"background": 0, "ignore": 1, "lesion": 3}})");
  CHECK_THROWS_WITH(volumes("nnunet", folder),
                    Catch::Contains("\"ignore\" is 1; expected one, the highest of all labels"));
}

TEST_CASE("volumes: crops are the same for any number of threads, and from any batch on",
          "[data][volumes]") {
  const auto d = make_dataset(component(kPhantoms), Split::kTrain);
  const std::vector<float> alone = epoch_of(d, 0);
  CHECK(alone.size() == 7 * 2 * 8 * 12 * 12);
  CHECK(epoch_of(d, 1) == alone);
  CHECK(epoch_of(d, 3) == alone);
  const std::vector<float> later = epoch_of(d, 2, 2);
  CHECK(later == std::vector<float>(alone.end() - std::ssize(later), alone.end()));
  CHECK(later.size() == 3 * 2 * 8 * 12 * 12);
}

TEST_CASE("volumes: evaluations see whole volumes, one in a batch", "[data][volumes]") {
  const Splits splits = make_splits(component(kPhantoms));
  CHECK_FALSE(one_a_batch(splits.train->fields()));
  const auto whole = splits.train->for_evaluation();
  CHECK(whole->size() == splits.train->size());
  CHECK(one_a_batch(whole->fields()));
  Loader loader(splits.test, {.batch_size = 1}, fovea::test::cpu());
  loader.start(0);
  std::set<std::int64_t> depths;
  int batches = 0;
  while (const auto batch = loader.next()) {
    CHECK(batch->at("image").rank() == 5);
    CHECK(batch->at("image").size(0) == 1);
    CHECK(batch->at("mask").size(1) == batch->at("image").size(2));
    ++batches;
  }
  CHECK(batches == 2);
}

TEST_CASE("volumes: the last sample of a batch lies around the foreground", "[data][volumes]") {
  const PreparedVolume volume = ramp({12, 12, 12});  // one voxel of class 1: 77 = (0, 6, 5)
  for (std::uint64_t k = 0; k < 20; ++k) {
    const auto first = draw_crop(volume, {4, 4, 4}, true, RandomStream(k));
    const VolumeCrop crop = crop_volume(volume, {4, 4, 4}, first, Outside::kZeros);
    CHECK(std::count(crop.labels.begin(), crop.labels.end(), 1) == 1);
  }
}

TEST_CASE("volumes: crops that overhang are zero there or take the border, and have no label",
          "[data][volumes]") {
  PreparedVolume volume = ramp({3, 4, 5});
  for (float& value : volume.values) ++value;
  std::fill(volume.labels.begin(), volume.labels.end(), std::uint8_t{1});
  const auto crop = [&](Outside outside) {
    return crop_volume(volume, {3, 4, 5}, {-1, 0, 2}, outside);
  };
  const VolumeCrop edge = crop(Outside::kEdge), zeros = crop(Outside::kZeros);
  CHECK(edge.values[0] == 3);  // slice 0 again
  CHECK(edge.values[20] == 3);
  CHECK(edge.values[24] == 5);  // the last column again
  CHECK(edge.labels == zeros.labels);
  for (std::size_t i = 0; i < zeros.values.size(); ++i) {
    const bool inside = i / 20 >= 1 && i % 5 < 3;
    CHECK(zeros.labels[i] == (inside ? 1 : 0));
    CHECK(zeros.values[i] == (inside ? edge.values[i] : 0));
  }
}

TEST_CASE("volumes: turned crops are zero outside as well", "[data][volumes]") {
  PreparedVolume volume = ramp({8, 8, 8});
  std::fill(volume.values.begin(), volume.values.end(), 1.0F);
  std::fill(volume.labels.begin(), volume.labels.end(), std::uint8_t{1});
  note_voxels(volume, 2);
  const VolumeAugmentation augmentation;
  int zeros = 0;
  for (std::uint64_t k = 0; k < 40; ++k) {
    const VolumeCrop crop =
        augmentation.crop(volume, {8, 8, 8}, {3, 0, 0}, Outside::kZeros, RandomStream(k));
    // (A constant that is blurred, or seen at low resolution, goes over into the zeros.)
    for (std::size_t i = 0; i < crop.values.size(); ++i) zeros += crop.values[i] == 0 ? 1 : 0;
    const VolumeCrop edge =
        augmentation.crop(volume, {8, 8, 8}, {3, 0, 0}, Outside::kEdge, RandomStream(k));
    CHECK(edge.labels == crop.labels);
  }
  CHECK(zeros > 40 * 3 * 64 / 2);
}

TEST_CASE(
    "volumes: augmentation changes crops, keeps labels on them and is a function of its stream",
    "[data][volumes]") {
  PreparedVolume volume = ramp({16, 16, 16});
  // Values say where the label is: 1 in the upper half.
  for (std::size_t i = 0; i < volume.values.size(); ++i) {
    volume.labels[i] = i / 256 >= 8 ? 1 : 0;
    volume.values[i] = volume.labels[i] == 1 ? 1.0f : -1.0f;
  }
  note_voxels(volume, 2);
  const VolumeAugmentation augmentation;
  int changed = 0;
  for (std::uint64_t k = 0; k < 40; ++k) {
    const RandomStream stream(k);
    const auto drawn = [&] {
      return augmentation.crop(volume, {8, 8, 8}, {4, 4, 4}, Outside::kZeros, stream);
    };
    const VolumeCrop a = drawn(), b = drawn();
    CHECK(a.values == b.values);
    CHECK(a.labels == b.labels);
    const VolumeCrop plain = crop_volume(volume, {8, 8, 8}, {4, 4, 4}, Outside::kZeros);
    changed += a.values != plain.values ? 1 : 0;
    double upper = 0, lower = 0, uppers = 0;
    for (std::size_t i = 0; i < a.labels.size(); ++i) {
      CHECK(std::isfinite(a.values[i]));
      (a.labels[i] == 1 ? upper : lower) += double{a.values[i]};
      uppers += a.labels[i];
    }
    REQUIRE(uppers > 0);
    CHECK(upper / uppers > lower / (512 - uppers) + 0.5);
  }
  CHECK(changed > 20);
}
