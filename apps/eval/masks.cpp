#include "eval/masks.h"

#include <fmt/format.h>

#include <algorithm>

#include "common/csv.h"
#include "eval/corruption.h"
#include "eval/mask_files.h"
#include "visualise/overlay.h"

namespace fovea::apps {
namespace {

using schema::Value;
using MaskEvaluation = training::Segmentation::Evaluation;

std::string samples_csv(const MaskEvaluation& clean, const training::BatchSource& data,
                        const std::string& split) {
  std::string text = "index,name,iou,dsc,true_positives,false_positives,false_negatives\n";
  for (std::size_t i = 0; i < clean.indices.size(); ++i) {
    const metrics::MaskCounts& counts = clean.by_sample[i];
    text += fmt::format("{},{},{},{},{},{},{}\n", clean.indices[i],
                        csv_field(data.sample_name(split, clean.indices[i])), counts.iou(1),
                        counts.dice(1), counts.true_positives(), counts.false_positives(),
                        counts.false_negatives());
  }
  return text;
}

// Outlines of samples spread over the split, a page for every six.
void write_overlays(const Job& job, training::Segmentation& task, const MaskEvaluation& clean) {
  constexpr std::int64_t kRows = 6;
  const data::Dataset& images = job.run.images().images(job.args.split);
  const auto known = static_cast<std::int64_t>(clean.indices.size());
  const std::int64_t count = std::min(job.args.overlays, known);
  for (std::int64_t first = 0; first < count; first += kRows) {
    std::vector<visualise::Segmented> page;
    for (std::int64_t k = first; k < std::min(first + kRows, count); ++k) {
      const auto place = static_cast<std::size_t>(k * known / count);
      const std::int64_t sample = clean.indices[place];
      data::Sample seen = images.get(sample);
      const std::string label =
          fmt::format("{}, DSC {:.1f} %", io::fs::path(seen.name).stem().string(),
                      100 * clean.by_sample[place].dice(1));
      page.push_back({label, std::move(seen.image), std::move(seen.mask),
                      task.predict(job.args.split, sample), images.channels(), images.height(),
                      images.width()});
    }
    visualise::write_png(job.out / fmt::format("overlays-{}.png", first / kRows + 1),
                         visualise::overlay_grid(job.name() + ", " + job.args.split, page));
  }
}

}  // namespace

Value evaluate_masks(const Job& job) {
  training::Segmentation& task = job.run.segmentation();
  const std::string& split = job.args.split;
  MaskFiles files(job);
  training::DataTask::Visit keep;
  if (job.saves.any()) keep = [&](const auto& batch, const Tensor& y) { files.add(batch, y); };
  const MaskEvaluation clean = task.evaluate_in_full(split, std::nullopt, keep);
  Value result = begin_report(job, clean.indices.size(), clean.metrics);
  add_corruption(job,
                 {"dsc", "DSC in %", metric_of(clean.metrics, "dsc"),
                  [&](const training::NoiseLevel& level) {
                    return task.evaluate_in_full(split, level).metrics;
                  }},
                 result);
  io::write_atomic(job.out / "samples.csv", samples_csv(clean, job.data, split));
  write_overlays(job, task, clean);
  const metrics::MaskCounts& counts = clean.counts;
  result.set("pixels", Value::object({{"true_positives", counts.true_positives()},
                                      {"false_positives", counts.false_positives()},
                                      {"false_negatives", counts.false_negatives()},
                                      {"true_negatives", counts.true_negatives()}}));
  result.set("images_without_foreground",
             Value::object(
                 {{"in_truth", clean.truth_empty}, {"in_truth_and_prediction", clean.both_empty}}));
  if (!job.json && clean.truth_empty > 0) {
    fmt::print(
        "  {} of the {} images have no foreground; for {} of these none was predicted: they count "
        "100 % in dice_per_image and iou_per_image, the others 0 %\n",
        clean.truth_empty, clean.indices.size(), clean.both_empty);
  }
  add_saved(job, files.finish(), result);
  return result;
}

}  // namespace fovea::apps
