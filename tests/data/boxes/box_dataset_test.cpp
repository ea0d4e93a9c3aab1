// Samples of images with boxes: from files, or drawn ones, to batches.
#include "data/boxes/box_dataset.h"

#include <catch2/catch.hpp>

#include <algorithm>
#include <set>

#include "base/error.h"
#include "data/loader.h"
#include "tests/data/boxes/box_sets.h"
#include "tests/data/config.h"

using namespace fovea;
using namespace fovea::data;
using namespace fovea::data::test;

namespace {

constexpr const char* kDrawn =
    R"({"type": "synthetic_boxes", "train_size": 24, "test_size": 6, "masks": true)";

schema::Component drawn(const std::string& more = "") { return component(kDrawn + more + "}"); }

Device cpu() { return Device(DeviceType::kCpu, heap_memory(), nullptr); }

std::vector<Batch> epoch(const std::shared_ptr<const BoxDataset>& d, LoaderOptions o) {
  Loader loader(d, std::move(o), cpu());
  loader.start(1);
  std::vector<Batch> batches;
  while (auto batch = loader.next()) batches.push_back(std::move(*batch));
  return batches;
}

}  // namespace

TEST_CASE("synthetic_boxes: boxes are the extents of the masks, everything repeats", "[data]") {
  const auto train = make_boxes(drawn(), Split::kTrain), test = make_boxes(drawn(), Split::kTest);
  CHECK(train->size() == 24);
  CHECK(test->size() == 6);
  CHECK(train->class_names() == std::vector<std::string>{"disc", "cross", "frame"});
  std::set<std::int64_t> seen;
  for (std::int64_t i = 0; i < train->size(); ++i) {
    const BoxTruth truth = train->truth(i);
    REQUIRE(truth.masks.size() == truth.objects.size());
    CHECK(std::max(truth.height, truth.width) == 64);
    CHECK(std::min(truth.height, truth.width) >= 48);
    for (std::size_t k = 0; k < truth.objects.size(); ++k) {
      const BoxedObject& object = truth.objects[k];
      const MaskBox box = mask_box(truth.masks[k]);
      CHECK(object.box == std::array<double, 4>{static_cast<double>(box.x),
                                                static_cast<double>(box.y),
                                                static_cast<double>(box.x + box.width),
                                                static_cast<double>(box.y + box.height)});
      CHECK(object.area == static_cast<double>(mask_area(truth.masks[k])));
      seen.insert(object.label);
    }
  }
  CHECK(seen.size() == 3);
  CHECK(image_of(train->get(3)) == image_of(make_boxes(drawn(), Split::kTrain)->get(3)));
  CHECK(image_of(train->get(3)) != image_of(test->get(3)));
  CHECK(train->image_id(4) == 5);
  CHECK(train->info().category_ids == std::vector<std::int64_t>{1, 2, 3});
  CHECK(kind_of(drawn()) == Kind::kBoxes);
}

TEST_CASE("boxes: a sample at the network's size maps back to its file", "[data]") {
  const auto set = make_boxes(drawn(R"(, "min_size": 96, "max_size": 140)"), Split::kTest);
  for (std::int64_t i = 0; i < set->size(); ++i) {
    const Sample sample = prepared(*set, i);
    const BoxTruth truth = set->truth(i);
    const auto size = ints(sample.at("image_size"));
    CHECK(sample.at("image").shape() == Shape{3, size[0], size[1]});
    CHECK(size == std::vector<std::int64_t>{rescaled_size(truth.height, truth.width, 96, 140)[0],
                                            rescaled_size(truth.height, truth.width, 96, 140)[1]});
    CHECK(sample.geometry.original_size == std::vector<std::int64_t>{truth.height, truth.width});
    CHECK(set->original_size(i) == std::array<std::int64_t, 2>{truth.height, truth.width});
    const std::int64_t n = std::ssize(truth.objects);
    CHECK(sample.at("boxes").shape() == Shape{n, 4});
    CHECK(sample.at("masks").shape() == Shape{n, size[0], size[1]});
    const auto boxes = floats(sample.at("boxes"));
    for (std::int64_t k = 0; k < 4 * n; ++k) {
      const auto axis = static_cast<std::size_t>(k % 2 == 0 ? 1 : 0);
      const double factor = static_cast<double>(sample.geometry.original_size[axis]) /
                            static_cast<double>(size[axis]);
      CHECK(double{boxes[static_cast<std::size_t>(k)]} * factor ==
            Approx(
                truth.objects[static_cast<std::size_t>(k / 4)].box[static_cast<std::size_t>(k % 4)])
                .margin(1e-4));
    }
  }
  CHECK(set->shape().height == 96);
  CHECK(set->shape().width == 160);
  CHECK(set->shape().classes == 3);
  const auto known = known_shape(drawn(R"(, "min_size": 96, "max_size": 140)"));
  REQUIRE(known);
  CHECK(known->width == 160);
  CHECK(known->classes == 3);
  CHECK(known_shape(component(R"({"type": "voc", "classes": ["a", "b"]})"))->classes == 2);
  CHECK_FALSE(known_shape(component(R"({"type": "coco"})")));
}

TEST_CASE("boxes: normalised as images are, and get() is not", "[data]") {
  const auto set = make_boxes(drawn(), Split::kTest);
  const Sample raw = set->get(2), seen = prepared(*set, 2);
  CHECK(raw.name == set->name(2));
  const auto a = image_of(raw), b = image_of(seen);
  REQUIRE(a.size() == b.size());
  for (std::size_t i = 0; i < a.size(); i += 97)
    CHECK(double{b[i]} == Approx((double{a[i]} - 0.3) / 0.25).margin(1e-5));
  const auto off = make_boxes(drawn(R"(, "normalise": false)"), Split::kTest);
  CHECK(image_of(prepared(*off, 2)) == a);
  CHECK_THROWS_WITH(make_boxes(drawn(R"(, "mean": [0.1, 0.2])"), Split::kTest),
                    Catch::Contains("dataset.mean: 2 values for images of 3 channels"));
}

TEST_CASE("boxes: batches grow to a multiple, lists keep images without objects", "[data]") {
  const auto set = make_boxes(
      drawn(R"(, "empty": 0.4, "filter_empty": false, "group_by_aspect": false)"), Split::kTrain);
  std::int64_t samples = 0, empty = 0;
  for (const Batch& batch : epoch(set, {.batch_size = 5})) {
    const Tensor& image = batch.at("image");
    CHECK(image.size(2) % 32 == 0);
    CHECK(image.size(3) % 32 == 0);
    const auto size = ints(batch.at("image_size"));
    for (std::int64_t n = 0; n < batch.size(); ++n) {
      const auto k = static_cast<std::size_t>(n);
      const Tensor& boxes = batch.lists.at("boxes")[k];
      CHECK(batch.lists.at("labels")[k].size(0) == boxes.size(0));
      CHECK(batch.lists.at("crowd")[k].size(0) == boxes.size(0));
      CHECK(batch.lists.at("area")[k].size(0) == boxes.size(0));
      CHECK(batch.lists.at("masks")[k].shape() ==
            Shape{boxes.size(0), size[2 * k], size[2 * k + 1]});
      // Zeros behind the image.
      const float* pixels = image.data<float>() + n * image.numel() / image.size(0);
      if (size[2 * k + 1] < image.size(3)) CHECK(pixels[image.size(3) - 1] == 0.0f);
      empty += boxes.size(0) == 0 ? 1 : 0;
      ++samples;
    }
  }
  CHECK(samples == 24);
  CHECK(empty > 3);
}

TEST_CASE("boxes: images without objects leave train with a note, evaluations keep them",
          "[data]") {
  const std::string some = R"(, "empty": 0.5, "split": {"val": 0.25})";
  const auto train = make_boxes(drawn(some), Split::kTrain);
  const auto all = make_boxes(drawn(some + R"(, "filter_empty": false)"), Split::kTrain);
  CHECK(all->size() == 18);
  CHECK(train->size() < 16);
  for (std::int64_t i = 0; i < train->size(); ++i) CHECK_FALSE(train->objects(i).empty());
  REQUIRE(train->notes().size() == 1);
  CHECK_THAT(train->notes()[0], Catch::Contains("of 18 images of train are left out"));
  const auto test = make_boxes(drawn(some), Split::kTest);
  CHECK(test->size() == 6);
  CHECK_THROWS_WITH(make_boxes(drawn(R"(, "empty": 1)"), Split::kTrain),
                    Catch::Contains("none of the 24 images of train has an object"));
  CHECK_THROWS_WITH(make_boxes(drawn(R"(, "min_image_side": 65)"), Split::kTrain),
                    Catch::Contains("sides of 65 pixels"));
}

TEST_CASE("boxes: wide and tall images have batches of their own", "[data]") {
  const auto set = make_boxes(drawn(), Split::kTrain);
  std::size_t mixed = 0;
  std::set<std::int64_t> seen;
  for (const Batch& batch : epoch(set, {.batch_size = 4, .shuffle = true, .seed = 3})) {
    std::set<std::int64_t> lengths;
    for (const std::int64_t i : batch.indices) {
      lengths.insert(set->length(i));
      CHECK(seen.insert(i).second);
    }
    mixed += lengths.size() - 1;
  }
  CHECK(seen.size() == 24);
  CHECK(mixed <= 1);
}

TEST_CASE("boxes: a sample is a function of seed, epoch and place", "[data]") {
  const auto set =
      make_boxes(drawn(R"(, "augment": ["horizontal_flip", "vertical_flip", "random_erasing"])"),
                 Split::kTrain);
  std::set<std::vector<float>> images;
  for (std::int64_t e = 0; e < 8; ++e) {
    const Draw draw{.seed = 7, .epoch = e, .augment = true};
    const Sample a = prepared(*set, 1, draw), b = prepared(*set, 1, draw);
    CHECK(image_of(a) == image_of(b));
    CHECK(floats(a.at("boxes")) == floats(b.at("boxes")));
    images.insert(image_of(a));
  }
  CHECK(images.size() > 2);
  const auto o = [](std::int64_t workers) {
    return LoaderOptions{.batch_size = 4, .num_workers = workers, .shuffle = true, .augment = true};
  };
  const auto alone = epoch(set, o(0)), threads = epoch(set, o(3));
  REQUIRE(alone.size() == threads.size());
  for (std::size_t k = 0; k < alone.size(); ++k) {
    CHECK(alone[k].indices == threads[k].indices);
    CHECK(floats(alone[k].at("image")) == floats(threads[k].at("image")));
    CHECK(floats(alone[k].lists.at("boxes")[0]) == floats(threads[k].lists.at("boxes")[0]));
  }
}

TEST_CASE("boxes: crowds keep their mark, noise and parts work as for other images", "[data]") {
  const auto set = make_boxes(drawn(R"(, "crowds": 0.5, "split": {"val": 0.25})"), Split::kVal);
  CHECK(set->size() == 6);
  int crowds = 0, objects = 0;
  for (std::int64_t i = 0; i < set->size(); ++i) {
    const Sample sample = prepared(*set, i);
    for (const std::uint8_t crowd : sample.at("crowd").values<std::uint8_t>()) crowds += crowd;
    objects += static_cast<int>(sample.at("crowd").numel());
  }
  CHECK(crowds > 0);
  CHECK(crowds < objects);
  Draw noisy;
  noisy.corruption = NoiseLevel{"gaussian", 0.3};
  CHECK(image_of(prepared(*set, 0, noisy)) != image_of(prepared(*set, 0)));
  CHECK(find_boxes(*set) == set.get());
  CHECK(find_boxes(*make_dataset(component(R"({"type": "synthetic"})"), Split::kTrain)) == nullptr);
}
