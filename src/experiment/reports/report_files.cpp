#include "experiment/reports/report_files.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/error.h"
#include "base/file.h"
#include "base/suggest.h"
#include "data/boxes/box_dataset.h"
#include "experiment/reports/confusion_files.h"
#include "experiment/reports/curve_files.h"
#include "experiment/reports/objects/coco_files.h"
#include "experiment/reports/objects/detection_table.h"
#include "experiment/reports/overlay_files.h"
#include "experiment/reports/score_files.h"
#include "experiment/reports/table_file.h"
#include "training/tasks/task_registry.h"

namespace fovea::experiment {
namespace {

// The words of --save, of those that are known.
std::set<std::string> parse_saves(const std::vector<std::string>& words,
                                  const std::vector<std::string>& known, const std::string& gives) {
  for (const std::string& word : words) {
    FOVEA_CHECK(
        std::find(known.begin(), known.end(), word) != known.end(), ConfigError,
        fmt::format("--save {}: a network that gives {} has nothing of that name{} (known: {})",
                    word, gives, did_you_mean(word, known), fmt::join(known, ", ")));
  }
  return {words.begin(), words.end()};
}

}  // namespace

ReportFiles::ReportFiles(Run& run, const ReportSettings& settings)
    : run_(run), settings_(settings) {
  const std::string gives = training::tasks().find(run.experiment().task).info.gives;
  const training::BatchSource& source = run.task().source();
  if (gives != "masks") {
    wanted_ = parse_saves(settings.save,
                          gives == "classes" ? score_words()
                          : gives == "boxes" ? object_words(makes_masks(run.model()))
                                             : std::vector<std::string>(),
                          gives);
    return;
  }
  const data::Dataset& samples = source.at(settings.split);
  volumes_ = data::find_volumes(samples);
  wanted_ = parse_saves(
      settings.save, volumes_ == nullptr ? MaskFiles::words() : PredictedVolumes::words(), gives);
  if (volumes_ != nullptr) {
    predicted_.emplace(*volumes_, settings.folder, wanted_, run.task().postprocessing());
  } else {
    masks_.emplace(
        source, settings.split, settings.folder, wanted_, run.task().postprocessing(),
        samples.shape().label_maps ? data::images_of(samples).label_values() : std::vector<int>());
  }
}

training::ReportRequest ReportFiles::request() {
  training::ReportRequest request{settings_.split, settings_.pictures};
  if (!wanted_.empty() && (masks_ || predicted_)) {
    request.maps = [this](const data::Batch& batch, const Tensor& probabilities,
                          const Tensor& labels) { take_maps(batch, probabilities, labels); };
  }
  return request;
}

void ReportFiles::take_maps(const data::Batch& batch, const Tensor& probabilities,
                            const Tensor& labels) {
  if (predicted_) {
    predicted_->add(batch.indices.front(), probabilities);
  } else {
    masks_->add(batch, probabilities, labels);
  }
}

std::vector<std::string> ReportFiles::write_rows(const training::Report& report) const {
  const training::BatchSource& source = run_.task().source();
  ScoredSamples samples{report.indices, {}, {}, source.class_names()};
  for (const std::int64_t i : report.indices)
    samples.names.push_back(source.sample_name(settings_.split, i));
  for (const auto& file : source.at(settings_.split).files()) samples.files.insert(file.string());
  write_predictions(settings_.folder, *report.scores, samples);
  return write_scores(settings_.folder, wanted_, *report.scores, samples, source.options().host);
}

std::vector<std::string> ReportFiles::write_objects(const training::Report& report) const {
  const data::BoxDataset* boxes = data::find_boxes(run_.task().source().at(settings_.split));
  CocoSamples samples{{}, boxes->class_names(), category_ids(*boxes)};
  for (const std::int64_t i : report.indices)
    samples.images.push_back({boxes->image_id(i), boxes->name(i)});
  return write_coco(settings_.folder, wanted_, report.detected, samples);
}

std::vector<std::string> ReportFiles::write(const training::Report& report) {
  const std::filesystem::path& folder = settings_.folder;
  for (const training::Table& table : report.tables)
    io::write_atomic(folder / (table.name + ".csv"), csv_text(table));
  write_curves(folder, settings_.title, report.curves);
  write_bars(folder, settings_.title, report.bars);
  if (report.confusion) write_confusion(folder, settings_.title, *report.confusion);
  write_overlays(folder, settings_.title, run_.task(), settings_.split, report.shown);
  if (predicted_ && report.counts)
    write_nnunet_summary(folder / "summary.json", *volumes_, *predicted_, report.indices,
                         report.counts->classes, report.counts->pixels);
  if (report.scores) return write_rows(report);
  if (!report.detected.empty()) return write_objects(report);
  return predicted_ ? predicted_->finish() : masks_ ? masks_->finish() : std::vector<std::string>();
}

}  // namespace fovea::experiment
