// What is written about a segmentation: a table of the images, outlines, masks.
#include <fmt/format.h>

#include <algorithm>

#include "base/csv_field.h"
#include "base/file.h"
#include "training/mask_files.h"
#include "training/segmentation.h"
#include "visualise/overlay.h"

namespace fovea::training {
namespace {

using schema::Value;
using Evaluation = Segmentation::Evaluation;

std::string samples_csv(const Evaluation &clean,
                        const std::vector<std::string> &names) {
  std::string text =
      "index,name,iou,dsc,true_positives,false_positives,false_negatives\n";
  for (std::size_t i = 0; i < names.size(); ++i) {
    const metrics::MaskCounts &counts = clean.by_sample[i];
    text +=
        fmt::format("{},{},{},{},{},{},{}\n", clean.indices[i],
                    csv_field(names[i]), counts.iou(metrics::Empty::kOne),
                    counts.dice(metrics::Empty::kOne), counts.true_positives(),
                    counts.false_positives(), counts.false_negatives());
  }
  return text;
}

std::vector<float> floats(const Tensor &tensor) {
  const auto values = tensor.host_values<float>();
  return {values.begin(), values.end()};
}

Value pixels_json(const metrics::MaskCounts &counts) {
  return Value::object({{"true_positives", counts.true_positives()},
                        {"false_positives", counts.false_positives()},
                        {"false_negatives", counts.false_negatives()},
                        {"true_negatives", counts.true_negatives()}});
}

} // namespace

// Samples spread over the split, a page for every six.
void Segmentation::write_overlays(const ReportRequest &request,
                                  const Evaluation &clean) {
  constexpr std::int64_t kRows = 6;
  const auto known = static_cast<std::int64_t>(clean.indices.size());
  const std::int64_t count = std::min(request.pictures, known);
  for (std::int64_t first = 0; first < count; first += kRows) {
    std::vector<visualise::Segmented> page;
    for (std::int64_t k = first; k < std::min(first + kRows, count); ++k) {
      const auto place = static_cast<std::size_t>(k * known / count);
      const std::int64_t sample = clean.indices[place];
      const data::Sample seen = source().at(request.split).get(sample);
      const Tensor &image = seen.at("image");
      const std::string label = fmt::format(
          "{}, DSC {:.1f} %", io::fs::path(seen.name).stem().string(),
          100 * clean.by_sample[place].dice(metrics::Empty::kOne));
      page.push_back({label, floats(image), floats(seen.at("mask")),
                      predict(request.split, sample), image.size(0),
                      image.size(1), image.size(2)});
    }
    visualise::write_png(request.folder /
                             fmt::format("overlays-{}.png", first / kRows + 1),
                         visualise::overlay_grid(request.title, page));
  }
}

Report Segmentation::report(const ReportRequest &request) {
  const auto wanted = parse_saves(request.save, MaskFiles::words(), "masks");
  MaskFiles files(source(), request.split, request.folder, wanted);
  Visit keep;
  if (!wanted.empty()) {
    keep = [&](const data::Batch &batch, const Tensor &prob) {
      files.add(prob, batch.indices);
    };
  }
  const Evaluation clean = evaluate_in_full(request.split, std::nullopt, keep);
  io::write_atomic(request.folder / "samples.csv",
                   samples_csv(clean, names_of(clean.indices, request.split)));
  write_overlays(request, clean);
  Report report;
  report.metrics = clean.metrics;
  report.indices = clean.indices;
  report.details.set("pixels", pixels_json(clean.counts));
  report.details.set(
      "images_without_foreground",
      Value::object({{"in_truth", clean.truth_empty},
                     {"in_truth_and_prediction", clean.both_empty}}));
  if (clean.truth_empty > 0) {
    report.lines.push_back(
        fmt::format("{} of the {} images have no foreground; for {} of these "
                    "none was predicted: they count "
                    "100 % in the means over the images, the others 0 %",
                    clean.truth_empty, clean.indices.size(), clean.both_empty));
  }
  report.saved = files.finish();
  return report;
}

} // namespace fovea::training
