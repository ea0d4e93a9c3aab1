// The mala paper's metrics of dense prediction (8): COCO's scores of detections, mIoU of scenes.

#include <fmt/format.h>

#include <cmath>

#include "metrics/detection.h"
#include "metrics/label_maps.h"
#include "verify/runners.h"

namespace fovea::verify {
namespace {

using metrics::Overlap;

// Objects of all images, one after the other, as the case has them.
class Listed {
 public:
  // prefix: "gt" or "dt".
  Listed(const Case& c, const std::string& prefix, Overlap overlap)
      : image_(to_doubles(c.at("input/" + prefix + "_image"))),
        label_(to_doubles(c.at("input/" + prefix + "_cat"))) {
    if (overlap == Overlap::kBoxes) {
      boxes_ = to_doubles(c.at("input/" + prefix + "_bbox"));
    } else {
      const Tensor masks = c.on_host("input/" + prefix + "_mask");
      for (std::int64_t i = 0; i < masks.size(0); ++i)
        masks_.push_back(encode_mask(masks.rows(i, i + 1).host_values<std::uint8_t>(),
                                     masks.size(1), masks.size(2)));
    }
  }

  std::size_t size() const { return image_.size(); }
  std::int64_t image(std::size_t i) const { return static_cast<std::int64_t>(image_[i]); }
  /// Box or mask and label of an object.
  template <class Object>
  Object object(std::size_t i) const {
    Object made;
    made.label = static_cast<std::int64_t>(label_[i]);
    if (!masks_.empty()) {
      made.mask = masks_[i];
    } else {
      const double* box = boxes_.data() + 4 * i;
      made.box = {box[0], box[1], box[2], box[3]};
    }
    return made;
  }

 private:
  std::vector<double> image_, label_, boxes_;
  std::vector<MaskRuns> masks_;
};

// Of the class in the last axis, which has none where it has no truth: (thresholds, recalls,
// classes).
std::vector<double> precisions(const metrics::DetectionScores& scores) {
  std::vector<double> values;
  for (std::size_t t = 0; t < metrics::kOverlapThresholds; ++t) {
    for (std::size_t r = 0; r < metrics::kRecallPoints; ++r) {
      for (std::int64_t c = 0; c < scores.num_classes(); ++c)
        values.push_back(scores.precision(c, t)[r]);
    }
  }
  return values;
}

// The case has -1 for what is undefined.
std::vector<double> as_listed(std::vector<double> values) {
  for (double& value : values) value = std::isnan(value) ? -1 : value;
  return values;
}

void run_coco_eval(const Case& c, Checker& check) {
  const auto overlap = c.config().choice<Overlap>(
      "iou_type", {{"bbox", Overlap::kBoxes}, {"segm", Overlap::kMasks}}, Overlap::kMasks);
  const std::vector<std::int64_t> most = c.config().integers("max_dets");
  if (most.size() != 3) c.config().refuse("max_dets");
  const std::int64_t classes = c.integer("num_cats"), images = c.integer("num_images");
  c.check_all_read();
  const Listed truth(c, "gt", overlap), found(c, "dt", overlap);
  const std::vector<double> area = to_doubles(c.at("input/gt_area"));
  const std::vector<double> crowd = to_doubles(c.at("input/gt_iscrowd"));
  const std::vector<double> score = to_doubles(c.at("input/dt_score"));
  metrics::DetectionEvaluation evaluation(classes, overlap, {most[0], most[1], most[2]});
  for (std::int64_t image = 0; image < images; ++image) {
    std::vector<metrics::TruthObject> objects;
    std::vector<metrics::DetectedObject> detections;
    for (std::size_t i = 0; i < truth.size(); ++i) {
      if (truth.image(i) != image) continue;
      objects.push_back(truth.object<metrics::TruthObject>(i));
      objects.back().area = area[i];
      objects.back().crowd = crowd[i] != 0;
    }
    for (std::size_t i = 0; i < found.size(); ++i) {
      if (found.image(i) != image) continue;
      detections.push_back(found.object<metrics::DetectedObject>(i));
      detections.back().score = score[i];
    }
    evaluation.add(objects, detections);
  }
  const metrics::DetectionScores scores = evaluation.scores();
  const std::array<double, 12> numbers = metrics::coco_numbers(scores);
  check.compare("output/stats", as_listed({numbers.begin(), numbers.end()}));
  check.compare(fmt::format("output/precision_all_{}", most[2]), as_listed(precisions(scores)));
}

// Labels of files: with `without_zero` their 0 means no class, and 1 is the first class.
std::vector<std::int64_t> labels_of(const Tensor& raw, bool without_zero, std::int64_t ignore) {
  std::vector<std::int64_t> labels;
  for (const double value : to_doubles(raw)) {
    const auto label = static_cast<std::int64_t>(value);
    labels.push_back(!without_zero || label == ignore ? label : label == 0 ? ignore : label - 1);
  }
  return labels;
}

void run_miou(const Case& c, Checker& check) {
  const std::int64_t classes = c.integer("num_classes"), ignore = c.integer("ignore_index", 255);
  const bool without_zero = c.flag("reduce_zero_label");
  c.config().only("nan_policy", "classes with empty union excluded (nanmean)");
  c.check_all_read();
  const std::vector<std::int64_t> truth = labels_of(c.at("input/label_raw"), without_zero, ignore);
  const std::vector<std::int64_t> predicted = labels_of(c.at("input/pred"), false, ignore);
  metrics::ConfusionMatrix confusion(classes);
  confusion.add(truth, predicted, ignore);
  const metrics::ClassCounts counts = metrics::class_counts(confusion);
  std::vector<double> both, either, area;
  for (std::size_t k = 0; k < counts.both.size(); ++k) {
    both.push_back(static_cast<double>(counts.both[k]));
    either.push_back(static_cast<double>(counts.truth[k] + counts.predicted[k] - counts.both[k]));
    area.push_back(static_cast<double>(counts.truth[k]));
  }
  check.compare("output/intersect", both);
  check.compare("output/union", either);
  check.compare("output/label_area", area);
  check.compare("output/iou_present", as_listed(metrics::class_iou(counts)));
  const auto measured = metrics::measure_label_maps(
      0, {counts}, std::vector<std::string>(static_cast<std::size_t>(classes), "class"));
  const auto share = [&](const metrics::MetricInfo& info) {
    return std::vector<double>{metrics::value_of(measured, info.name) / 100};
  };
  check.compare("output/miou", share(metrics::kMiou));
  check.compare("output/aacc", share(metrics::kPixelAccuracy));
  if (c.has("output/macc")) check.compare("output/macc", share(metrics::kMeanClassAccuracy));
}

}  // namespace

Table dense_metrics() {
  Table table;
  table.add("coco_eval") = run_coco_eval;
  // (The operator is called as the metric is.)
  table.add(metrics::kMiou.name) = run_miou;
  return table;
}

}  // namespace fovea::verify
