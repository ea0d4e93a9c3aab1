// Mixup and CutMix of batches, repeated augmentation.
#include "data/augment/mix.h"

#include <catch2/catch.hpp>

#include <algorithm>
#include <map>
#include <numeric>

#include "data/loader.h"
#include "data/plan.h"
#include "tests/data/config.h"

using namespace fovea;
using namespace fovea::data;
using namespace fovea::data::test;

namespace {

Device mix_host() { return Device(DeviceType::kCpu, heap_memory(), nullptr); }

std::string shapes_with(const std::string& more) {
  return R"({"type": "synthetic", "train_size": 300, "img_size": 8, "augment": ["crop_flip"], )" +
         more + "}";
}

struct Drained {
  std::vector<std::int64_t> indices;
  std::vector<float> pixels, targets;
  bool operator==(const Drained&) const = default;
};

Drained drain(const std::string& json, std::int64_t workers, std::int64_t first_batch = 0) {
  Loader loader(
      make_dataset(component(json), Split::kTrain),
      {.batch_size = 16, .num_workers = workers, .shuffle = true, .augment = true, .seed = 3},
      mix_host());
  loader.start(2, first_batch);
  Drained all;
  while (const auto batch = loader.next()) {
    all.indices.insert(all.indices.end(), batch->indices.begin(), batch->indices.end());
    for (const float v : floats(batch->at("image"))) all.pixels.push_back(v);
    if (!batch->has("target")) continue;
    for (const float v : floats(batch->at("target"))) all.targets.push_back(v);
  }
  return all;
}

}  // namespace

TEST_CASE("mix: the share of mixup is Beta distributed", "[data]") {
  // Mean 1/2 and variance 1 / (4 (2 alpha + 1)).
  for (const double alpha : {0.2, 0.8, 1.0, 3.0}) {
    INFO(alpha);
    double sum = 0, squares = 0;
    constexpr int kDraws = 20000;
    for (int i = 0; i < kDraws; ++i) {
      const Mix mix = draw_mix({.mixup = alpha}, 8, 8, RandomStream(static_cast<std::uint64_t>(i)));
      CHECK_FALSE(mix.box);
      REQUIRE((mix.share >= 0 && mix.share <= 1));
      sum += mix.share;
      squares += mix.share * mix.share;
    }
    const double mean = sum / kDraws;
    CHECK(mean == Approx(0.5).margin(0.01));
    CHECK(squares / kDraws - mean * mean == Approx(1 / (4 * (2 * alpha + 1))).epsilon(0.04));
  }
}

TEST_CASE("mix: CutMix and mixup in turn, with their probabilities", "[data]") {
  const MixOptions both{.mixup = 0.8, .cutmix = 1, .prob = 0.9, .switch_prob = 0.25};
  int cut = 0, blended = 0;
  for (std::uint64_t seed = 0; seed < 4000; ++seed) {
    const Mix mix = draw_mix(both, 20, 30, RandomStream(seed));
    if (mix.box) {
      ++cut;
      CHECK(mix.share == Approx(1 - static_cast<double>(mix.box->height * mix.box->width) / 600.0));
      CHECK((mix.box->top >= 0 && mix.box->top + mix.box->height <= 20));
      CHECK((mix.box->left >= 0 && mix.box->left + mix.box->width <= 30));
    } else if (mix.share < 1) {
      ++blended;
    }
  }
  CHECK(cut / 4000.0 == Approx(0.225).margin(0.02));
  CHECK(blended / 4000.0 == Approx(0.675).margin(0.02));
  CHECK(draw_mix({}, 8, 8, RandomStream(1)).share == 1);
  CHECK(draw_mix({.cutmix = 1}, 8, 8, RandomStream(1)).box);
}

TEST_CASE("mix: boxes of CutMix as timm cuts them", "[data]") {
  // rand_bbox of timm 1.0.31 for these centres.
  const auto box = [](double share, std::int64_t row, std::int64_t column) {
    const Box b = cutmix_box(32, 24, share, row, column);
    return std::vector<std::int64_t>{b.top, b.top + b.height, b.left, b.left + b.width};
  };
  CHECK(box(0.7, 5, 20) == std::vector<std::int64_t>{0, 14, 14, 24});
  CHECK(box(0.25, 16, 12) == std::vector<std::int64_t>{3, 30, 2, 22});
  CHECK(box(0.0, 31, 0) == std::vector<std::int64_t>{15, 32, 0, 12});
  CHECK(box(1.0, 3, 3) == std::vector<std::int64_t>{3, 3, 3, 3});
}

TEST_CASE("mix: images and targets of pairs from both ends", "[data]") {
  const std::int64_t b = GENERATE(5, 6);
  std::vector<float> values(static_cast<std::size_t>(b * 2 * 3 * 4));
  std::iota(values.begin(), values.end(), 1.0f);
  const auto at = [&](const Tensor& x, std::int64_t i, std::int64_t rest) {
    return x.values<float>()[static_cast<std::size_t>(i * 24 + rest)];
  };
  const Tensor original = Tensor::from(values, {b, 2, 3, 4}, mix_host());
  const Tensor blended = Tensor::from(values, {b, 2, 3, 4}, mix_host());
  const Tensor cut = Tensor::from(values, {b, 2, 3, 4}, mix_host());
  mix_images(blended, {0.25, std::nullopt});
  mix_images(cut, {0.5, Box{1, 2, 2, 1}});
  for (std::int64_t i = 0; i < b; ++i) {
    for (std::int64_t k = 0; k < 24; ++k) {
      const float own = at(original, i, k), other = at(original, b - 1 - i, k);
      CHECK(at(blended, i, k) == Approx(i == b - 1 - i ? own : 0.25f * own + 0.75f * other));
      const bool inside = k % 12 / 4 >= 1 && k % 4 == 2;
      CHECK(at(cut, i, k) == (inside ? other : own));
    }
  }
  std::vector<std::int64_t> labels;
  for (std::int64_t i = 0; i < b; ++i) labels.push_back(i % 3);
  const Tensor targets = mixed_targets(Tensor::from(labels, {b}, mix_host()), 3, 0.25);
  for (std::int64_t i = 0; i < b; ++i) {
    std::vector<float> expected(3, 0.0f);
    expected[static_cast<std::size_t>(i % 3)] += 0.25f;
    expected[static_cast<std::size_t>((b - 1 - i) % 3)] += 0.75f;
    for (std::int64_t c = 0; c < 3; ++c) {
      CHECK(targets.values<float>()[static_cast<std::size_t>(i * 3 + c)] ==
            expected[static_cast<std::size_t>(c)]);
    }
  }
}

TEST_CASE("mix: batches do not depend on threads, nor on where an epoch is entered", "[data]") {
  const std::string json =
      shapes_with(R"("aug_repeats": 3, "mix": {"mixup": 0.8, "cutmix": 1}, "normalise": false)");
  const Drained expected = drain(json, 0);
  REQUIRE(expected.targets.size() == 4 * expected.indices.size());
  for (std::size_t i = 0; i < expected.indices.size(); ++i) {
    const auto row = expected.targets.begin() + static_cast<std::ptrdiff_t>(4 * i);
    CHECK(std::accumulate(row, row + 4, 0.0f) == Approx(1));
  }
  CHECK(drain(json, 1) == expected);
  CHECK(drain(json, 3) == expected);
  const Drained rest = drain(json, 2, 5);
  CHECK(rest.pixels ==
        std::vector<float>(expected.pixels.begin() + 5 * 16 * 192, expected.pixels.end()));
  CHECK(rest.targets ==
        std::vector<float>(expected.targets.begin() + 5 * 16 * 4, expected.targets.end()));
  // Without a share of both, images are those of a loader that mixes nothing.
  const Drained off =
      drain(shapes_with(R"("mix": {"mixup": 0.8, "prob": 0}, "normalise": false)"), 0);
  CHECK(off.pixels == drain(shapes_with(R"("normalise": false)"), 0).pixels);
  CHECK(off.targets.size() == 4 * off.indices.size());
}

TEST_CASE("mix: evaluation is left alone, images with masks are refused", "[data]") {
  const auto dataset = make_dataset(
      component(shapes_with(R"("mix": {"mixup": 1}, "aug_repeats": 2)")), Split::kTrain);
  Loader loader(dataset, {.batch_size = 50}, mix_host());
  loader.start(0);
  CHECK(loader.num_batches() == 6);
  CHECK_FALSE(loader.next()->has("target"));
  CHECK_THROWS_WITH(
      make_dataset(component(R"({"type": "synthetic_segmentation", "mix": {"cutmix": 1}})"),
                   Split::kTrain),
      Catch::Contains("dataset.mix"));
  CHECK_THROWS_WITH(
      make_dataset(component(R"({"type": "synthetic_segmentation", "augment": ["rand_augment"]})"),
                   Split::kTrain),
      Catch::Contains("\"rand_augment\" applies to pictures, not to pictures with masks"));
}

TEST_CASE("repeated augmentation: each sample so often in a row, augmented in another way",
          "[data]") {
  const Drained repeated = drain(shapes_with(R"("aug_repeats": 3)"), 1);
  // 300 samples: the first 256 places.
  REQUIRE(repeated.indices.size() == 256);
  std::map<std::int64_t, int> count;
  for (const std::int64_t i : repeated.indices) ++count[i];
  CHECK(count.size() == 86);
  for (std::size_t i = 0; i + 2 < 255; i += 3) {
    CHECK(repeated.indices[i] == repeated.indices[i + 1]);
    CHECK(repeated.indices[i] == repeated.indices[i + 2]);
  }
  const auto image = [&](std::size_t i) {
    const auto first = repeated.pixels.begin() + static_cast<std::ptrdiff_t>(i * 192);
    return std::vector<float>(first, first + 192);
  };
  int different = 0;
  for (std::size_t i = 0; i + 2 < 255; i += 3)
    different += image(i) != image(i + 1) && image(i + 1) != image(i + 2) ? 1 : 0;
  CHECK(different > 75);
  // A sample's first copy is what it would be without repeats.
  const Drained plain = drain(shapes_with(R"("aug_repeats": 1)"), 1);
  const auto at = std::find(plain.indices.begin(), plain.indices.end(), repeated.indices[0]);
  const auto first = plain.pixels.begin() + 192 * (at - plain.indices.begin());
  CHECK(image(0) == std::vector<float>(first, first + 192));
  CHECK(planned_samples(255, {.shuffle = true, .repeats = 3}) == 255);
  CHECK(planned_samples(1000, {.shuffle = true, .repeats = 3}) == 768);
  CHECK(planned_samples(1000, {.shuffle = true, .repeats = 1}) == 1000);
}
