// Losses of regions, which overlap: against sums written out, their gradients, and ignored places.
#include "ops/losses/mask_loss.h"

#include <cmath>

#include "autograd/graph.h"
#include "base/error.h"
#include "tests/support/tensors.h"

using namespace fovea;
using namespace fovea::test;

namespace {

constexpr std::int64_t kItems = 2, kMaps = 3, kPlaces = 6;
const std::vector<std::vector<std::int64_t>> kRegions = {{1, 2, 3}, {2, 3}, {3}};

Tensor labels_with_ignored() {
  return Tensor::from<std::int64_t>({0, 1, 2, 3, -100, 2, 3, 3, -100, -100, 0, 1}, {2, 1, 2, 3},
                                    cpu());
}

// Of every item and map: sum(p t), sum(p), sum(t), the cross-entropy, and how many places count.
struct Sums {
  double both = 0, predicted = 0, truth = 0, surprise = 0, places = 0, squares = 0;
  void add(const Sums& o) {
    both += o.both;
    predicted += o.predicted;
    truth += o.truth;
    surprise += o.surprise;
    places += o.places;
    squares += o.squares;
  }
};

std::vector<std::vector<Sums>> sums_of(const Tensor& logits, const Tensor& labels) {
  const auto x = logits.host_values<double>();
  const auto y = labels.host_values<std::int64_t>();
  std::vector<std::vector<Sums>> all(kItems, std::vector<Sums>(kMaps));
  for (std::int64_t b = 0; b < kItems; ++b) {
    for (std::int64_t r = 0; r < kMaps; ++r) {
      Sums& s = all[static_cast<std::size_t>(b)][static_cast<std::size_t>(r)];
      for (std::int64_t i = 0; i < kPlaces; ++i) {
        const std::int64_t label = y[static_cast<std::size_t>(b * kPlaces + i)];
        if (label < 0) continue;
        const double p =
            1 / (1 + std::exp(-x[static_cast<std::size_t>((b * kMaps + r) * kPlaces + i)]));
        const bool there = label > r;  // whole: 1, 2, 3; core: 2, 3; enhancing: 3
        ++s.places;
        s.predicted += p;
        s.squares += p * p;
        s.truth += there ? 1 : 0;
        s.both += there ? p : 0;
        s.surprise -= std::log(there ? p : 1 - p);
      }
    }
  }
  return all;
}

}  // namespace

TEST_CASE("region_masks: 1 where a label is of the region, ignored where it is ignored", "[ops]") {
  const Tensor labels = Tensor::from<std::int64_t>({0, 1, 2, 3, -100, 2}, {1, 1, 2, 3}, cpu());
  const Tensor masks = ops::region_masks(labels, {{1, 2, 3}, {2, 3}, {3}});
  CHECK(masks.shape() == Shape{1, 3, 1, 2, 3});
  const auto values = masks.host_values<std::int64_t>();
  CHECK(std::vector<std::int64_t>(values.begin(), values.end()) ==
        std::vector<std::int64_t>{0, 1, 1, 1, -100, 1, 0, 0, 1, 1, -100, 1, 0, 0, 0, 1, -100, 0});
  CHECK_THROWS_AS(ops::region_masks(labels, {}), ShapeError);
  CHECK_THROWS_AS(ops::region_masks(random_tensor({1, 4}, 1), kRegions), ShapeError);
}

TEST_CASE("mask losses: they are what sums over voxels and regions give", "[ops]") {
  const Tensor logits = random_tensor({kItems, kMaps, 1, 2, 3}, 7);
  const Tensor labels = labels_with_ignored();
  const Tensor masks = ops::region_masks(labels, kRegions);
  const auto of = sums_of(logits, labels);
  std::vector<Sums> batch(kMaps);
  for (const auto& item : of) {
    for (std::size_t r = 0; r < kMaps; ++r) batch[r].add(item[r]);
  }
  // Every region has as many voxels that count.
  double ce = 0;
  for (const Sums& s : batch) ce += s.surprise / s.places / double{kMaps};
  CHECK(ops::mask_cross_entropy(logits, masks).item<double>() == Approx(ce).epsilon(1e-12));
  const std::vector<double> weights = {2, 0.5, 3};
  double weighed = 0;
  for (std::size_t r = 0; r < kMaps; ++r)
    weighed += weights[r] * batch[r].surprise / batch[r].places / double{kMaps};
  CHECK(ops::mask_cross_entropy(logits, masks, weights).item<double>() ==
        Approx(weighed).epsilon(1e-12));

  // nnU-Net's: of the whole batch, and of each volume.
  const auto dice = [](const Sums& s) {
    return (2 * s.both + 1e-5) / (s.predicted + s.truth + 1e-5 + 1e-8);
  };
  double of_batch = 0, of_items = 0;
  for (std::size_t r = 0; r < kMaps; ++r) {
    of_batch += dice(batch[r]) / double{kMaps};
    for (const auto& item : of) of_items += dice(item[r]) / double{kMaps * kItems};
  }
  CHECK(ops::nnunet_mask_loss(logits, masks).item<double>() ==
        Approx(ce - of_batch).epsilon(1e-12));
  CHECK(ops::nnunet_mask_loss(logits, masks,
                              {.batch_dice = false, .ce_weight = 0.5, .dice_weight = 2})
            .item<double>() == Approx(0.5 * ce - 2 * of_items).epsilon(1e-12));

  // MONAI's DiceLoss(sigmoid=True), with and without squares.
  for (const bool squared : {false, true}) {
    double expected = 0;
    for (const auto& item : of) {
      for (std::size_t r = 0; r < kMaps; ++r) {
        const double all = (squared ? item[r].squares : item[r].predicted) + item[r].truth;
        expected +=
            weights[r] * (1 - (2 * item[r].both + 1e-5) / (all + 1e-5)) / double{kMaps * kItems};
      }
    }
    CHECK(ops::mask_dice(logits, masks, {.squared_pred = squared, .class_weights = weights})
              .item<double>() == Approx(expected).epsilon(1e-12));
  }
}

TEST_CASE("mask losses: gradients, and none at ignored voxels", "[ops]") {
  const Tensor masks = ops::region_masks(labels_with_ignored(), kRegions);
  const bool batch = GENERATE(false, true);
  CAPTURE(batch);
  const Tensor logits = random_tensor({kItems, kMaps, 1, 2, 3}, 3);
  const auto nnunet = [&](const auto& t) {
    return ops::nnunet_mask_loss(t[0], masks, {.batch_dice = batch, .ce_weight = 0.5});
  };
  check_gradients(nnunet, {logits});
  check_gradients(
      [&](const auto& t) {
        return ops::mask_dice(t[0], masks, {.batch = batch, .squared_pred = true});
      },
      {logits});
  check_gradients(
      [&](const auto& t) {
        return ops::mask_cross_entropy(t[0], masks, {1, 2, 3});
      },
      {logits});
  const Tensor x = trainable(logits);
  autograd::backward(nnunet(std::vector<Tensor>{x}));
  const auto gradient = x.grad().host_values<double>();
  const auto mask = masks.host_values<std::int64_t>();
  std::size_t ignored = 0;
  for (std::size_t i = 0; i < mask.size(); ++i) {
    CHECK((gradient[i] == 0) == (mask[i] < 0));
    ignored += mask[i] < 0 ? 1 : 0;
  }
  CHECK(ignored == 3 * kMaps);
}

TEST_CASE("mask losses: of voxels that are all ignored they are finite", "[ops]") {
  const Tensor logits = trainable(random_tensor({1, 2, 3}, 1));
  const Tensor masks = Tensor::from(std::vector<std::int64_t>(6, -100), {1, 2, 3}, cpu());
  CHECK(ops::mask_cross_entropy(logits, masks).item<double>() == 0);
  const Tensor loss = ops::nnunet_mask_loss(logits, masks);
  CHECK(loss.item<double>() == Approx(-1).epsilon(1e-2));
  autograd::backward(loss);
  for (const double g : logits.grad().host_values<double>()) CHECK(g == 0);
}

TEST_CASE("mask losses: shapes that do not fit are refused", "[ops]") {
  const Tensor logits = random_tensor({1, 2, 3}, 1);
  const auto masks = [](const Shape& shape) {
    return Tensor::from(std::vector<std::int64_t>(static_cast<std::size_t>(shape.numel()), 0),
                        shape, cpu());
  };
  CHECK_THROWS_WITH(ops::mask_dice(logits, masks({1, 3})), Catch::Contains("expected (b, k"));
  CHECK_THROWS_AS(ops::nnunet_mask_loss(logits, masks({1, 3, 3})), ShapeError);
  CHECK_THROWS_AS(ops::mask_cross_entropy(logits, random_tensor({1, 2, 3}, 2)), ShapeError);
  CHECK_THROWS_WITH(ops::mask_cross_entropy(logits, masks({1, 2, 3}), {1}),
                    Catch::Contains("1 class_weights for 2 maps"));
}
