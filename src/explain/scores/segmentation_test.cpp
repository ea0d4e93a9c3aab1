#include "explain/scores/segmentation_test.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "base/error.h"
#include "explain/scores/localisation.h"
#include "metrics/classes/ranked_samples.h"

namespace fovea::explain {
namespace {

bool is_ignored(std::int64_t label) { return label == 255 || label == -1; }

std::vector<double> scaled_to_one(std::span<const double> map) {
  const auto [least, most] = std::ranges::minmax(map);
  std::vector<double> scaled(map.size(), 0.0);
  if (most > least) {
    for (std::size_t p = 0; p < map.size(); ++p) scaled[p] = (map[p] - least) / (most - least);
  }
  return scaled;
}

double ap_of(const std::vector<double>& scaled, std::span<const std::int64_t> labels) {
  std::vector<double> scores;
  std::vector<std::uint8_t> right;
  for (const std::int64_t side : {0, 1}) {
    for (std::size_t p = 0; p < labels.size(); ++p) {
      if (is_ignored(labels[p])) continue;
      scores.push_back(side == 0 ? 1 - scaled[p] : scaled[p]);
      right.push_back(labels[p] == side ? 1 : 0);
    }
  }
  const double ap = metrics::average_precision(metrics::ranked_samples(scores, right));
  return std::isnan(ap) ? 0 : ap;
}

// Of one image alone.
SegmentationTest test_of(const Explained& e) {
  SegmentationTest test;
  const std::vector<double> map = enlarged(e.relevance, *e.units);
  std::vector<std::int64_t> labels;
  for (const std::uint8_t value : e.mask) labels.push_back(value != 0 ? 1 : 0);
  test.add(map, labels);
  return test;
}

double segmentation_ap_score(const Explained& e, const NoOptions&) {
  return is_flat(e.relevance) ? std::numeric_limits<double>::quiet_NaN() : test_of(e).mean_ap();
}
double segmentation_miou_score(const Explained& e, const NoOptions&) {
  return is_flat(e.relevance) ? std::numeric_limits<double>::quiet_NaN() : test_of(e).mean_iou();
}

}  // namespace

SegmentationTest::Segmented SegmentationTest::add(std::span<const double> map,
                                                  std::span<const std::int64_t> labels) {
  FOVEA_CHECK(!map.empty() && map.size() == labels.size(), ShapeError,
              fmt::format("segmentation test: {} values and {} labels; expected as many",
                          map.size(), labels.size()));
  FOVEA_CHECK(std::ranges::all_of(map, [](double v) { return std::isfinite(v); }), NumericError,
              "segmentation test: relevance is not finite");
  const std::vector<double> scaled = scaled_to_one(map);
  const double mean =
      std::accumulate(scaled.begin(), scaled.end(), 0.0) / static_cast<double>(scaled.size());
  Segmented result;
  for (std::size_t p = 0; p < scaled.size(); ++p) {
    const bool foreground = scaled[p] > mean;
    result.foreground.push_back(foreground ? 1 : 0);
    if (is_ignored(labels[p])) continue;
    FOVEA_CHECK(labels[p] == 0 || labels[p] == 1, ConfigError,
                fmt::format("segmentation test: label {}; expected 0, 1, or 255 or -1 for pixels "
                            "that do not count",
                            labels[p]));
    ++counts_[labels[p]][foreground ? 1 : 0];
  }
  result.ap = ap_of(scaled, labels);
  ap_sum_ += result.ap;
  ++images_;
  return result;
}

double SegmentationTest::pixel_accuracy() const {
  const std::int64_t right = counts_[0][0] + counts_[1][1];
  return static_cast<double>(right) / static_cast<double>(right + counts_[0][1] + counts_[1][0]);
}

double SegmentationTest::iou(std::size_t label) const {
  const std::int64_t both = counts_[label][label], other = counts_[0][1] + counts_[1][0];
  return static_cast<double>(both) / static_cast<double>(both + other);
}

double SegmentationTest::mean_ap() const { return ap_sum_ / static_cast<double>(images_); }

FOVEA_SCORE(segmentation_ap,
            "average precision of the map as a segmentation of the object and of the background",
            (ScoreRule{Better::kHigher, {Need::kMask}}), schema::Fields<NoOptions>{},
            segmentation_ap_score)
FOVEA_SCORE(segmentation_miou,
            "mean IoU of object and background in one image, the object being where the map is "
            "above its mean",
            (ScoreRule{Better::kHigher, {Need::kMask}}), schema::Fields<NoOptions>{},
            segmentation_miou_score)

}  // namespace fovea::explain
