// Segmentation of one foreground: scores, and what is written about them.
#include <fmt/format.h>

#include <algorithm>

#include "autograd/mode.h"
#include "base/csv_field.h"
#include "base/error.h"
#include "base/file.h"
#include "metrics/classification.h"
#include "ops/conv/convolution.h"
#include "ops/elementwise.h"
#include "training/store/weights.h"
#include "training/tasks/segmentation/mask_files.h"
#include "training/tasks/segmentation/segmentation.h"
#include "visualise/layouts/overlay.h"

namespace fovea::training {
namespace {

std::string mask_samples_csv(const MaskSegmentation::Evaluation& clean,
                             const std::vector<std::string>& names, const std::string& heads,
                             const std::vector<std::string>& cells) {
  std::string text = "index,name,iou,dsc,true_positives,false_positives,false_negatives";
  text += heads + "\n";
  for (std::size_t i = 0; i < names.size(); ++i) {
    const metrics::MaskCounts& counts = clean.by_sample[i];
    text += fmt::format("{},{},{},{},{},{},{}{}\n", clean.indices[i], csv_field(names[i]),
                        counts.iou(metrics::Empty::kOne), counts.dice(metrics::Empty::kOne),
                        counts.true_positives(), counts.false_positives(), counts.false_negatives(),
                        cells.empty() ? "" : cells[i]);
  }
  return text;
}

std::vector<float> floats(const Tensor& tensor) {
  const auto values = tensor.host_values<float>();
  return {values.begin(), values.end()};
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
    data::Split split, const std::optional<NoiseLevel>& noise, const Visit& also) {
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
      metrics::MaskCounts counts;
      counts.add(found.host_values<float>(), truth.host_values<float>());
      result.counts.add(counts);
      result.by_sample.push_back(counts);
      if (!cases.wanted()) continue;
      const auto labels = [](const Tensor& mask) {
        std::vector<std::int64_t> cut;
        for (const float value : mask.host_values<float>())
          cut.push_back(value >= metrics::kForeground ? 1 : 0);
        return cut;
      };
      const std::vector<std::int64_t> own = labels(truth), predicted = labels(found);
      cases.add(metrics::class_counts(counts),
                image_of(own, predicted, {truth.size(-2), truth.size(-1)}, batch, i, split));
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

// A page for every six samples.
void MaskSegmentation::write_overlays(const ReportRequest& request, const Evaluation& clean) {
  constexpr std::size_t kRows = 6;
  const std::vector<std::size_t> places = drawn(request, clean.indices.size());
  for (std::size_t first = 0; first < places.size(); first += kRows) {
    std::vector<visualise::Segmented> page;
    for (std::size_t k = first; k < std::min(first + kRows, places.size()); ++k) {
      const std::int64_t sample = clean.indices[places[k]];
      const data::Sample seen = source().at(request.split).get(sample);
      const Tensor& image = seen.at("image");
      const std::string label =
          fmt::format("{}, DSC {:.1f} %", io::fs::path(seen.name).stem().string(),
                      100 * clean.by_sample[places[k]].dice(metrics::Empty::kOne));
      page.push_back({label, floats(image), floats(seen.at("mask")),
                      floats(predict(request.split, sample)), image.size(0), image.size(1),
                      image.size(2)});
    }
    visualise::write_png(request.folder / fmt::format("overlays-{}.png", first / kRows + 1),
                         visualise::overlay_grid(request.title, page));
  }
}

Report MaskSegmentation::report(const ReportRequest& request) {
  const auto wanted = parse_saves(request.save, MaskFiles::words(), "masks");
  MaskFiles files(source(), request.split, request.folder, wanted);
  Visit keep;
  if (!wanted.empty()) {
    keep = [&](const data::Batch& batch, const Tensor& prob) { files.add(batch, prob); };
  }
  const Evaluation clean = evaluate_in_full(request.split, std::nullopt, keep);
  std::string heads;
  const auto cells = write_cases(request, clean.cases, {""}, heads);
  io::write_atomic(request.folder / "samples.csv",
                   mask_samples_csv(clean, names_of(clean.indices, request.split), heads, cells));
  write_overlays(request, clean);
  Report report;
  report.metrics = clean.metrics;
  report.indices = clean.indices;
  add_score_size(report, request.split, "probabilities are resized (bilinear), then cut");
  add_cases(report, clean.cases, {});
  report.details.set("pixels", pixels_json(clean.counts));
  add_empty_images(report, clean.truth_empty, clean.both_empty);
  report.saved = files.finish();
  return report;
}

}  // namespace fovea::training
