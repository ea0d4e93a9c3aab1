// Segmentation of one foreground: scores, and what is said of them.
#include <fmt/format.h>

#include <algorithm>

#include "autograd/mode.h"
#include "base/error.h"
#include "metrics/classification.h"
#include "ops/conv/convolution.h"
#include "ops/elementwise.h"
#include "training/store/weights.h"
#include "training/tasks/segmentation/segmentation.h"

namespace fovea::training {
namespace {

Table samples_table(const MaskSegmentation::Evaluation& clean,
                    const std::vector<std::string>& names) {
  std::vector<double> iou, dice;
  std::vector<std::int64_t> true_positives, false_positives, false_negatives;
  for (const metrics::MaskCounts& counts : clean.by_sample) {
    iou.push_back(counts.iou(metrics::Empty::kOne));
    dice.push_back(counts.dice(metrics::Empty::kOne));
    true_positives.push_back(counts.true_positives());
    false_positives.push_back(counts.false_positives());
    false_negatives.push_back(counts.false_negatives());
  }
  return {"samples",
          {{"index", clean.indices},
           {"name", names},
           {"iou", iou},
           {"dsc", dice},
           {"true_positives", true_positives},
           {"false_positives", false_positives},
           {"false_negatives", false_negatives}}};
}

schema::Value pixels_json(const metrics::MaskCounts& counts) {
  return schema::Value::object({{"true_positives", counts.true_positives()},
                                {"false_positives", counts.false_positives()},
                                {"false_negatives", counts.false_negatives()},
                                {"true_negatives", counts.true_negatives()}});
}

}  // namespace

void MaskSegmentation::add_metrics(const metrics::CaseMetrics& asked) {
  FOVEA_CHECK(asked.classes.empty(), ConfigError,
              "eval.classes: masks of one foreground have no further classes; expected []");
  Segmentation::add_metrics(asked);
}

Tensor MaskSegmentation::probabilities(const Tensor& map) const { return ops::sigmoid(map); }

MaskSegmentation::Evaluation MaskSegmentation::evaluate_in_full(
    data::Split split, const std::optional<NoiseLevel>& noise, const Visit& also,
    const VisitLabels& visit_labels) {
  const autograd::NoGrad no_grad;
  Evaluation result;
  CaseCollector cases = collect_cases();
  metrics::RunningMean loss;
  for_each_batch(split, noise, [&](const data::Batch& batch, const models::Outputs& output) {
    const Tensor prob = probabilities(output.maps.front());
    if (also) also(batch, prob);
    const Tensor& masks = batch.at("mask");
    const std::int64_t b = batch.size();
    const bool original = at_original_size(split);
    // Images are of one size, so the loss of a batch is the mean over its images.
    loss.add(scalar_of(mean_loss(output, masks)), static_cast<double>(b));
    for (std::int64_t i = 0; i < b; ++i) {
      Tensor found = prob.rows(i, i + 1), truth = masks.rows(i, i + 1);
      if (original) {
        truth = original_truth(split, batch.indices[static_cast<std::size_t>(i)]);
        found = ops::resize(found, {truth.size(-2), truth.size(-1)}, ops::Interpolation::kLinear);
      }
      const std::vector<std::int64_t> size{truth.size(-2), truth.size(-1)};
      if (!postprocessing().empty())
        found = ops::cast(postprocessed_labels(foreground_labels(found), size, batch, i, split),
                          DType::kFloat32);
      if (visit_labels)
        visit_labels(foreground_labels(truth), foreground_labels(found),
                     grid_of(size, batch, i, split));
      metrics::MaskCounts counts;
      counts.add(found.host_values<float>(), truth.host_values<float>());
      result.counts.add(counts);
      result.by_sample.push_back(counts);
      if (!cases.wanted()) continue;
      const Tensor own = foreground_labels(truth), predicted = foreground_labels(found);
      const auto of_truth = own.host_values<std::int64_t>();
      const auto of_found = predicted.host_values<std::int64_t>();
      cases.add(metrics::class_counts(counts), image_of(of_truth, of_found, size, batch, i, split));
    }
    result.indices.insert(result.indices.end(), batch.indices.begin(), batch.indices.end());
  });
  const auto order = ascending(result.indices);
  result.indices = reordered(result.indices, order);
  result.by_sample = reordered(result.by_sample, order);
  result.cases = cases.finish();
  for (const metrics::MaskCounts& image : result.by_sample) {
    result.truth_empty += image.truth_is_empty() ? 1 : 0;
    result.both_empty += image.both_are_empty() ? 1 : 0;
  }
  result.metrics = metrics::measure_masks(loss.value(), result.by_sample);
  add_cases(result.metrics, result.cases, {});
  return result;
}

Report MaskSegmentation::report(const ReportRequest& request) {
  Visit keep;
  if (request.maps)
    keep = [&](const data::Batch& batch, const Tensor& prob) { request.maps(batch, prob, {}); };
  const Evaluation clean = evaluate_in_full(request.split, std::nullopt, keep);
  const std::vector<std::string> names = names_of(clean.indices, request.split);
  Report report;
  report.metrics = clean.metrics;
  report.indices = clean.indices;
  add_tables(report, samples_table(clean, names), clean.cases, {""});
  for (const std::size_t k : shown_places(request, names.size()))
    report.shown.push_back(
        {clean.indices[k],
         shown_label(names[k], "DSC", clean.by_sample[k].dice(metrics::Empty::kOne))});
  add_score_size(report, request.split, "probabilities are resized (bilinear), then cut");
  add_cases(report, clean.cases, {});
  report.details.set("pixels", pixels_json(clean.counts));
  add_empty_images(report, clean.truth_empty, clean.both_empty);
  return report;
}

}  // namespace fovea::training
