// Segmentation into several classes, or regions of them: scores, and what is written about them.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "autograd/mode.h"
#include "base/csv_field.h"
#include "base/error.h"
#include "base/file.h"
#include "data/images/image_dataset.h"
#include "data/volumes/volume_dataset.h"
#include "metrics/classification.h"
#include "ops/reduce.h"
#include "ops/shape.h"
#include "training/store/run_state.h"
#include "training/store/weights.h"
#include "training/tasks/confusion_report.h"
#include "training/tasks/segmentation/mask_files.h"
#include "training/tasks/segmentation/predicted_volumes.h"
#include "training/tasks/segmentation/segmentation.h"
#include "visualise/layouts/label_overlay.h"

namespace fovea::training {
namespace {

using metrics::ClassCounts;

constexpr std::size_t kFirst = 1;  // class that is foreground

// Shares of 1; nothing for a class that is neither in the truth nor in the prediction.
std::string share_cell(double share) {
  return std::isnan(share) ? std::string() : fmt::format("{}", share);
}

std::int64_t sum_of(const std::vector<std::int64_t>& counts, std::size_t first) {
  std::int64_t sum = 0;
  for (std::size_t c = first; c < counts.size(); ++c) sum += counts[c];
  return sum;
}

// Of one image, over these classes.
double image_share(const std::vector<double>& shares, const std::vector<std::size_t>& chosen) {
  return metrics::class_mean(metrics::shares_at(shares, chosen), 0, metrics::Empty::kOne);
}

// Sizes of the mask of one sample, (spatial...), perhaps with the axis of a batch before them.
std::vector<std::int64_t> pixels_of(const Tensor& mask, bool volume) {
  const int axes = volume ? 3 : 2;
  return mask.shape().part(mask.rank() - axes, mask.rank()).to_vector();
}

std::vector<std::int64_t> integers(const Tensor& tensor) {
  const auto values = tensor.host_values<std::int64_t>();
  return {values.begin(), values.end()};
}

}  // namespace

std::vector<metrics::MetricInfo> LabelledSegmentation::metrics() const {
  const std::vector<std::string>& names = scored_names();
  return with_cases(
      scores_every_pixel() ? metrics::label_map_metrics(names) : metrics::region_metrics(names),
      names);
}

std::string LabelledSegmentation::samples_csv(const Evaluation& clean,
                                              const std::vector<std::string>& names,
                                              const std::string& heads,
                                              const std::vector<std::string>& cells) const {
  const std::size_t first = scores_every_pixel() ? 0 : kFirst;
  std::string text = scores_every_pixel() ? "index,name,dice,iou,accuracy" : "index,name,dice,iou";
  const std::vector<std::string> words = metrics::class_words(scored_names());
  for (const char* share : {"dice", "iou"}) {
    for (std::size_t c = first; c < words.size(); ++c)
      text += fmt::format(",{}", csv_field(fmt::format("{}_{}", share, words[c])));
  }
  text += heads + "\n";
  for (std::size_t i = 0; i < names.size(); ++i) {
    const ClassCounts& counts = clean.by_sample[i];
    const std::vector<double> dice = metrics::class_dice(counts), iou = metrics::class_iou(counts);
    text += fmt::format("{},{},{},{}", clean.indices[i], csv_field(names[i]),
                        image_share(dice, chosen_classes()), image_share(iou, chosen_classes()));
    if (scores_every_pixel())
      text += fmt::format(",{}", share_cell(static_cast<double>(sum_of(counts.both, 0)) /
                                            static_cast<double>(sum_of(counts.truth, 0))));
    for (const auto& shares : {dice, iou}) {
      for (std::size_t c = first; c < shares.size(); ++c)
        text += fmt::format(",{}", share_cell(shares[c]));
    }
    text += (cells.empty() ? "" : cells[i]) + "\n";
  }
  return text;
}

schema::Value LabelledSegmentation::per_class_json(const Evaluation& clean) const {
  const std::vector<std::string>& names = scored_names();
  const ClassCounts counts = metrics::class_counts(clean.confusion, scored_labels());
  const std::vector<double> dice = metrics::class_dice(counts), iou = metrics::class_iou(counts);
  schema::Value list = schema::Value::array();
  for (std::size_t c = scores_every_pixel() ? 0 : kFirst; c < names.size(); ++c) {
    schema::Value row = schema::Value::object({{"class", names[c]}});
    set_number(row, "dice", 100 * dice[c]);
    set_number(row, "iou", 100 * iou[c]);
    row.set("pixels", counts.truth[c]);
    row.set("predicted_pixels", counts.predicted[c]);
    list.push_back(row);
  }
  return list;
}

// Over the classes of every pixel.
Tensor LabelSegmentation::probabilities(const Tensor& map) const {
  std::vector<int> last{0}, back{0, map.rank() - 1};
  for (int axis = 2; axis < map.rank(); ++axis) {
    last.push_back(axis);
    back.push_back(axis - 1);
  }
  last.push_back(1);
  return ops::permute(ops::softmax(ops::permute(map, last)), back);
}

// Of sample i of a batch, (k, spatial...).
Tensor LabelledSegmentation::probabilities_of_sample(const Tensor& logits, std::int64_t i) const {
  const Tensor prob = probabilities(logits.rows(i, i + 1));
  return prob.alias(prob.shape().part(1, prob.rank()));
}

LabelledSegmentation::Evaluation LabelledSegmentation::evaluate_in_full(
    data::Split split, const std::optional<NoiseLevel>& noise, const Visit& also) {
  const autograd::NoGrad no_grad;
  const std::int64_t classes = std::ssize(source().class_names());
  const std::int64_t outputs = std::ssize(source().output_names());
  const metrics::LabelSets scored = scored_labels();
  Evaluation result{{}, metrics::ConfusionMatrix(classes), {}, {}, {}, {}};
  CaseCollector cases = collect_cases();
  metrics::RunningMean loss;
  for_each_batch(split, noise, [&](const data::Batch& batch, const models::Outputs& output) {
    const Tensor& logits = output.maps.front();
    FOVEA_CHECK(
        logits.size(1) == outputs, ConfigError,
        fmt::format("task: the network gives {} maps for the {} {} of the data set; "
                    "expected one each",
                    logits.size(1), outputs, source().has_regions() ? "regions" : "classes"));
    const data::VolumeDataset* volumes = data::find_volumes(source().at(split));
    if (also) also(batch, logits);
    const Tensor& masks = batch.at("mask");
    const Tensor predicted = labels_of(logits);
    const bool original = at_original_size(split);
    for (std::int64_t i = 0; i < batch.size(); ++i) {
      // One at a time: how many pixels count may differ.
      models::Outputs one;
      for (const Tensor& map : output.maps) one.maps.push_back(map.rows(i, i + 1));
      loss.add(scalar_of(mean_loss(one, masks.rows(i, i + 1))));
      metrics::ConfusionMatrix confusion(classes);
      Tensor labels = predicted.rows(i, i + 1), own = masks.rows(i, i + 1);
      if (original) {
        labels = volumes == nullptr
                     ? labels_at_original(labels, batch, i, split)
                     : volumes->labels_at_original(probabilities_of_sample(logits, i),
                                                   batch.indices[static_cast<std::size_t>(i)]);
        own = original_truth(split, batch.indices[static_cast<std::size_t>(i)]);
      }
      const auto truth = own.host_values<std::int64_t>();
      const auto found = labels.host_values<std::int64_t>();
      confusion.add(truth, found, data::kIgnoreLabel);
      result.confusion.add(confusion);
      result.by_sample.push_back(metrics::class_counts(confusion, scored));
      result.pixels.push_back(confusion.total());
      if (cases.wanted())
        cases.add(result.by_sample.back(),
                  image_of(truth, found, pixels_of(own, volumes != nullptr), batch, i, split));
    }
    result.indices.insert(result.indices.end(), batch.indices.begin(), batch.indices.end());
  });
  const auto order = ascending(result.indices);
  result.indices = reordered(result.indices, order);
  result.by_sample = reordered(result.by_sample, order);
  result.pixels = reordered(result.pixels, order);
  result.cases = cases.finish();
  const auto measure =
      scores_every_pixel() ? metrics::measure_label_maps : metrics::measure_regions;
  result.metrics = measure(loss.value(), result.by_sample, scored_names(), chosen_classes());
  add_cases(result.metrics, result.cases, scored_names());
  return result;
}

// A page for every six samples. (Images have no regions.)
void LabelledSegmentation::write_overlays(const ReportRequest& request, const Evaluation& clean) {
  constexpr std::size_t kRows = 6;
  const std::vector<std::size_t> places = drawn(request, clean.indices.size());
  for (std::size_t first = 0; first < places.size(); first += kRows) {
    std::vector<visualise::Labelled> page;
    for (std::size_t k = first; k < std::min(first + kRows, places.size()); ++k) {
      const std::int64_t sample = clean.indices[places[k]];
      const data::Sample seen = source().at(request.split).get(sample);
      const Tensor& image = seen.at("image");
      const auto pixels = image.host_values<float>();
      const Tensor prob = predict(request.split, sample);
      Shape batch{1};
      for (const std::int64_t size : prob.shape()) batch.push_back(size);
      const double dice =
          image_share(metrics::class_dice(clean.by_sample[places[k]]), chosen_classes());
      page.push_back(
          {fmt::format("{}, Dice {:.1f} %", io::fs::path(seen.name).stem().string(), 100 * dice),
           {pixels.begin(), pixels.end()},
           integers(seen.at("mask")),
           integers(metrics::predicted_labels(prob.alias(batch))),
           image.size(0),
           image.size(1),
           image.size(2)});
    }
    visualise::write_png(request.folder / fmt::format("overlays-{}.png", first / kRows + 1),
                         visualise::label_grid(request.title, source().class_names(), page));
  }
}

void LabelSegmentation::add_scores(Report& report, const ReportRequest& request,
                                   const Evaluation& clean) const {
  report.details.set("confusion",
                     write_confusion(request, clean.confusion, source().class_names()));
}

Report LabelledSegmentation::report(const ReportRequest& request) {
  const data::VolumeDataset* volumes = data::find_volumes(source().at(request.split));
  const auto wanted = parse_saves(
      request.save, volumes == nullptr ? MaskFiles::words() : PredictedVolumes::words(), "masks");
  const std::vector<std::string>& classes = scored_names();
  std::optional<MaskFiles> pictures;
  std::optional<PredictedVolumes> whole;
  if (volumes != nullptr) {
    whole.emplace(*volumes, request.folder, wanted);
  } else {
    pictures.emplace(source(), request.split, request.folder, wanted,
                     data::images_of(source().at(request.split)).label_values());
  }
  Visit keep;
  if (!wanted.empty()) {
    keep = [&](const data::Batch& batch, const Tensor& logits) {
      if (whole) {
        whole->add(batch.indices.front(), probabilities(logits));
      } else {
        pictures->add(batch, probabilities(logits), labels_of(logits));
      }
    };
  }
  const Evaluation clean = evaluate_in_full(request.split, std::nullopt, keep);
  const std::vector<std::string> words = metrics::class_words(classes);
  std::string heads;
  const auto cells =
      write_cases(request, clean.cases, {words.begin() + kFirst, words.end()}, heads);
  io::write_atomic(request.folder / "samples.csv",
                   samples_csv(clean, names_of(clean.indices, request.split), heads, cells));
  if (volumes == nullptr) {
    write_overlays(request, clean);
  } else {
    write_nnunet_summary(request.folder / "summary.json", *volumes, *whole, clean.indices,
                         clean.by_sample, clean.pixels);
  }
  Report report;
  report.metrics = clean.metrics;
  report.indices = clean.indices;
  add_score_size(report, request.split,
                 volumes == nullptr ? "predicted labels are taken from the nearest pixel"
                                    : "probabilities are taken from between the nearest voxels");
  add_cases(report, clean.cases, classes);
  report.details.set("per_class", per_class_json(clean));
  add_scores(report, request, clean);
  std::int64_t in_truth = 0, in_both = 0;
  for (const ClassCounts& image : clean.by_sample) {
    if (sum_of(image.truth, kFirst) > 0) continue;
    ++in_truth;
    in_both += sum_of(image.predicted, kFirst) == 0 ? 1 : 0;
  }
  add_empty_images(report, in_truth, in_both);
  report.saved = whole ? whole->finish() : pictures->finish();
  return report;
}

}  // namespace fovea::training
