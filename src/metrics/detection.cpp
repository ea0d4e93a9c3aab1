#include "metrics/detection.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>

#include "base/error.h"
#include "metrics/label_maps.h"

namespace fovea::metrics {
namespace {

constexpr double kUndefined = std::numeric_limits<double>::quiet_NaN();

struct AreaLimits {
  double least, most;
};
constexpr std::array<AreaLimits, kAreaRanges> kAreaLimits = {
    {{0, 1e10}, {0, 32 * 32}, {32 * 32, 96 * 96}, {96 * 96, 1e10}}};

bool outside(double area, std::size_t range) {
  return area < kAreaLimits[range].least || area > kAreaLimits[range].most;
}

std::uint64_t bit(std::size_t area, std::size_t threshold) {
  return std::uint64_t{1} << (area * kOverlapThresholds + threshold);
}

// What an image has of one class.
struct ClassObjects {
  std::vector<TruthObject> truth;
  std::vector<DetectedObject> detections;
};

// Gives detections, from the highest score down, the free object with the largest overlap; of equal
// ones the last. Objects that count come before those to be ignored, and an ignored one is taken
// only where none that counts fits. A crowd is never used up.
class Matcher {
 public:
  // ious: (detections, truth).
  Matcher(const std::vector<TruthObject>& truth, const std::vector<double>& ious, std::size_t area)
      : truth_(truth), ious_(ious), order_(truth.size()), ignored_(truth.size()) {
    for (std::size_t g = 0; g < truth.size(); ++g)
      ignored_[g] = truth[g].crowd || outside(truth[g].area, area);
    std::iota(order_.begin(), order_.end(), std::size_t{0});
    std::stable_partition(order_.begin(), order_.end(),
                          [&](std::size_t g) { return !ignored_[g]; });
  }

  std::int64_t counted() const { return std::count(ignored_.begin(), ignored_.end(), false); }
  bool ignores(std::size_t object) const { return ignored_[object]; }

  void restart() { taken_.assign(truth_.size(), false); }
  std::optional<std::size_t> match(std::size_t detection, double threshold) {
    std::optional<std::size_t> best;
    double largest = std::min(threshold, 1 - 1e-10);
    for (const std::size_t g : order_) {
      if (taken_[g] && !truth_[g].crowd) continue;
      if (best && !ignored_[*best] && ignored_[g]) break;
      const double iou = ious_[detection * truth_.size() + g];
      if (iou < largest) continue;
      largest = iou;
      best = g;
    }
    if (best) taken_[*best] = true;
    return best;
  }

 private:
  const std::vector<TruthObject>& truth_;
  const std::vector<double>& ious_;
  std::vector<std::size_t> order_;
  std::vector<bool> ignored_, taken_;
};

// Precision at the recall points. matched: of every detection that counts, the highest score first.
void write_precision(const std::vector<bool>& matched, std::int64_t objects, double* precision) {
  std::vector<double> recalls, precisions;
  double found = 0;
  for (std::size_t d = 0; d < matched.size(); ++d) {
    if (matched[d]) ++found;
    recalls.push_back(found / static_cast<double>(objects));
    precisions.push_back(found / (static_cast<double>(d + 1)));
  }
  for (std::size_t d = precisions.size(); d > 1; --d)
    precisions[d - 2] = std::max(precisions[d - 2], precisions[d - 1]);
  for (std::size_t r = 0; r < kRecallPoints; ++r) {
    const auto reached = std::lower_bound(recalls.begin(), recalls.end(), recall_point(r));
    precision[r] = reached == recalls.end()
                       ? 0
                       : precisions[static_cast<std::size_t>(reached - recalls.begin())];
  }
}

// One of COCO's twelve numbers: its name, and its value for a class.
struct CocoNumber {
  std::string name;
  double (*value)(const DetectionScores&, std::int64_t);
};

template <AreaRange area, int threshold = -1>
double precision_of(const DetectionScores& scores, std::int64_t label) {
  std::optional<std::size_t> at;
  if (threshold >= 0) at = threshold;
  return scores.average_precision(label, area, at);
}

template <AreaRange area, std::size_t most>
double recall_of(const DetectionScores& scores, std::int64_t label) {
  return scores.average_recall(label, area, most);
}

std::array<CocoNumber, 12> numbers_of(const MaxDetections& most) {
  using enum AreaRange;
  return {{{"ap", precision_of<kAll>},
           {"ap50", precision_of<kAll, 0>},
           {"ap75", precision_of<kAll, 5>},
           {"ap_small", precision_of<kSmall>},
           {"ap_medium", precision_of<kMedium>},
           {"ap_large", precision_of<kLarge>},
           {fmt::format("ar{}", most[0]), recall_of<kAll, 0>},
           {fmt::format("ar{}", most[1]), recall_of<kAll, 1>},
           {fmt::format("ar{}", most[2]), recall_of<kAll, 2>},
           {"ar_small", recall_of<kSmall, 2>},
           {"ar_medium", recall_of<kMedium, 2>},
           {"ar_large", recall_of<kLarge, 2>}}};
}

std::vector<double> of_classes(const CocoNumber& number, const DetectionScores& scores) {
  std::vector<double> values;
  for (std::int64_t label = 0; label < scores.num_classes(); ++label)
    values.push_back(number.value(scores, label));
  return values;
}

MetricInfo percent(Overlap overlap, const std::string& name) {
  return {.name = (overlap == Overlap::kMasks ? "mask_" : "") + name, .unit = "%", .decimals = 2};
}

// "ap_small" is the metric of small objects.
std::vector<std::string> detected_words(const std::vector<std::string>& class_names) {
  return class_words(class_names, {"small", "medium", "large"});
}

}  // namespace

// Both as NumPy's linspace() computes them, whose last digits decide at equality.
double overlap_threshold(std::size_t index) {
  constexpr double kStep = (0.95 - 0.5) / 9;
  return index + 1 == kOverlapThresholds ? 0.95 : static_cast<double>(index) * kStep + 0.5;
}

double recall_point(std::size_t index) {
  return index + 1 == kRecallPoints ? 1 : static_cast<double>(index) * 0.01;
}

std::span<const double> DetectionScores::precision(std::int64_t label, std::size_t threshold,
                                                   AreaRange area) const {
  const std::size_t place =
      (static_cast<std::size_t>(area) * static_cast<std::size_t>(num_classes_) +
       static_cast<std::size_t>(label)) *
          kOverlapThresholds +
      threshold;
  return std::span(precision_).subspan(place * kRecallPoints, kRecallPoints);
}

double DetectionScores::recall(std::int64_t label, std::size_t threshold, AreaRange area,
                               std::size_t most) const {
  const std::size_t classes = static_cast<std::size_t>(num_classes_);
  const std::size_t row = (most * kAreaRanges + static_cast<std::size_t>(area)) * classes +
                          static_cast<std::size_t>(label);
  return recall_[row * kOverlapThresholds + threshold];
}

std::int64_t DetectionScores::objects(std::int64_t label, AreaRange area) const {
  return objects_[static_cast<std::size_t>(area) * static_cast<std::size_t>(num_classes_) +
                  static_cast<std::size_t>(label)];
}

double DetectionScores::average_precision(std::int64_t label, AreaRange area,
                                          std::optional<std::size_t> threshold) const {
  const std::size_t first = threshold.value_or(0);
  const std::size_t count = threshold ? 1 : kOverlapThresholds;
  double sum = 0;
  for (std::size_t t = first; t < first + count; ++t) {
    const std::span<const double> values = precision(label, t, area);
    sum += std::accumulate(values.begin(), values.end(), 0.0);
  }
  return sum / static_cast<double>(count * kRecallPoints);
}

double DetectionScores::average_recall(std::int64_t label, AreaRange area, std::size_t most) const {
  double sum = 0;
  for (std::size_t t = 0; t < kOverlapThresholds; ++t) sum += recall(label, t, area, most);
  return sum / static_cast<double>(kOverlapThresholds);
}

DetectionEvaluation::DetectionEvaluation(std::int64_t num_classes, Overlap overlap,
                                         const MaxDetections& most)
    : num_classes_(num_classes),
      overlap_(overlap),
      most_(most),
      classes_(static_cast<std::size_t>(num_classes)) {
  FOVEA_CHECK(1 <= most[0] && most[0] < most[1] && most[1] < most[2], ConfigError,
              fmt::format("detection scores: at most {}, {} and {} detections; expected ascending "
                          "numbers from 1 on",
                          most[0], most[1], most[2]));
}

void DetectionEvaluation::add(std::span<const TruthObject> truth,
                              std::span<const DetectedObject> detections) {
  check_objects(truth, detections, num_classes_, overlap_);
  std::map<std::int64_t, ClassObjects> classes;
  for (const TruthObject& object : truth) classes[object.label].truth.push_back(object);
  for (const DetectedObject& found : detections) classes[found.label].detections.push_back(found);
  for (auto& [label, image] : classes) {
    std::stable_sort(image.detections.begin(), image.detections.end(),
                     [](const auto& a, const auto& b) { return a.score > b.score; });
    if (std::ssize(image.detections) > most_.back())
      image.detections.resize(static_cast<std::size_t>(most_.back()));
    const std::vector<double> ious = overlaps(image.detections, image.truth, overlap_);
    OfClass& all = classes_[static_cast<std::size_t>(label)];
    const std::size_t first = all.matches.size();
    std::vector<double> areas;
    for (const DetectedObject& found : image.detections) {
      all.matches.push_back({.score = found.score, .rank = std::ssize(areas)});
      areas.push_back(detected_area(found, overlap_));
    }
    for (std::size_t a = 0; a < kAreaRanges; ++a) {
      Matcher matcher(image.truth, ious, a);
      all.objects[a] += matcher.counted();
      for (std::size_t t = 0; t < kOverlapThresholds; ++t) {
        matcher.restart();
        for (std::size_t d = 0; d < areas.size(); ++d) {
          const std::optional<std::size_t> object = matcher.match(d, overlap_threshold(t));
          Match& match = all.matches[first + d];
          if (object) match.matched |= bit(a, t);
          if (object ? matcher.ignores(*object) : outside(areas[d], a)) match.ignored |= bit(a, t);
        }
      }
    }
  }
}

DetectionScores DetectionEvaluation::scores() const {
  DetectionScores scores;
  scores.num_classes_ = num_classes_;
  scores.max_detections_ = most_;
  const auto classes = static_cast<std::size_t>(num_classes_);
  scores.precision_.assign(kAreaRanges * classes * kOverlapThresholds * kRecallPoints, kUndefined);
  scores.recall_.assign(most_.size() * kAreaRanges * classes * kOverlapThresholds, kUndefined);
  scores.objects_.assign(kAreaRanges * classes, 0);
  for (std::size_t c = 0; c < classes; ++c) {
    std::vector<Match> matches = classes_[c].matches;
    std::stable_sort(matches.begin(), matches.end(),
                     [](const Match& a, const Match& b) { return a.score > b.score; });
    for (std::size_t a = 0; a < kAreaRanges; ++a) {
      const std::int64_t objects = classes_[c].objects[a];
      scores.objects_[a * classes + c] = objects;
      if (objects == 0) continue;
      for (std::size_t t = 0; t < kOverlapThresholds; ++t) {
        std::vector<bool> matched;
        std::array<std::int64_t, 3> found{};
        for (const Match& match : matches) {
          if ((match.ignored & bit(a, t)) != 0) continue;
          matched.push_back((match.matched & bit(a, t)) != 0);
          for (std::size_t m = 0; matched.back() && m < most_.size(); ++m)
            found[m] += match.rank < most_[m] ? 1 : 0;
        }
        const std::size_t place = (a * classes + c) * kOverlapThresholds + t;
        write_precision(matched, objects, scores.precision_.data() + place * kRecallPoints);
        for (std::size_t m = 0; m < most_.size(); ++m)
          scores.recall_[m * kAreaRanges * classes * kOverlapThresholds + place] =
              static_cast<double>(found[m]) / static_cast<double>(objects);
      }
    }
  }
  return scores;
}

std::array<double, 12> coco_numbers(const DetectionScores& scores) {
  std::array<double, 12> values{};
  const std::array<CocoNumber, 12> numbers = numbers_of(scores.max_detections());
  for (std::size_t i = 0; i < numbers.size(); ++i)
    values[i] = class_mean(of_classes(numbers[i], scores), 0, Empty::kLeftOut);
  return values;
}

std::vector<Measurement> measure_detections(const DetectionScores& scores, Overlap overlap,
                                            const std::vector<std::string>& class_names) {
  std::vector<Measurement> measured;
  std::vector<double> of_class;
  for (const CocoNumber& number : numbers_of(scores.max_detections())) {
    const std::vector<double> values = of_classes(number, scores);
    if (measured.empty()) of_class = values;
    Measurement one{percent(overlap, number.name), 100 * class_mean(values, 0, Empty::kLeftOut)};
    one.coverage = coverage_of({values});
    if (one.coverage.complete()) one.coverage = {};
    measured.push_back(one);
  }
  const std::vector<std::string> words = detected_words(class_names);
  for (std::size_t c = 0; c < words.size(); ++c)
    measured.push_back({percent(overlap, "ap_" + words[c]), 100 * of_class[c]});
  return measured;
}

std::vector<MetricInfo> detection_metrics(Overlap overlap,
                                          const std::vector<std::string>& class_names,
                                          const MaxDetections& most) {
  std::vector<MetricInfo> infos;
  for (const CocoNumber& number : numbers_of(most)) infos.push_back(percent(overlap, number.name));
  for (const std::string& word : detected_words(class_names))
    infos.push_back(percent(overlap, "ap_" + word));
  if (class_names.empty()) infos.push_back(percent(overlap, "ap_*"));
  return infos;
}

}  // namespace fovea::metrics
