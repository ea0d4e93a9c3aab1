// What is said of detections: every one of them, the classes, the kinds of errors, precision over
// recall.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <utility>

#include "base/mask_runs.h"
#include "metrics/detection/errors.h"
#include "training/store/run_state.h"
#include "training/tasks/detection/detection.h"

namespace fovea::training {
namespace {

using metrics::DetectionKind;
using metrics::DetectionScores;
using metrics::ErrorCounts;
using schema::Value;

// The kinds that count, in the order of reports.
constexpr std::array kKinds = {DetectionKind::kFound,         DetectionKind::kTwice,
                               DetectionKind::kClass,         DetectionKind::kPlace,
                               DetectionKind::kClassAndPlace, DetectionKind::kBackground};
constexpr metrics::ErrorLimits kLimits{.least_score = 0.3};

struct Errors {
  std::vector<metrics::DetectionErrors> images;
  std::vector<ErrorCounts> classes;  // an error is of the class that was said, or missed
  ErrorCounts all;
};

Errors errors_of(const std::vector<DetectedImage>& images, std::size_t classes) {
  Errors errors{{}, std::vector<ErrorCounts>(classes), {}};
  for (const DetectedImage& image : images) {
    errors.images.push_back(metrics::detection_errors(image.truth, image.found,
                                                      static_cast<std::int64_t>(classes),
                                                      metrics::Overlap::kBoxes, kLimits));
    const metrics::DetectionErrors& own = errors.images.back();
    errors.all.add(own);
    for (std::size_t d = 0; d < own.kinds.size(); ++d) {
      ErrorCounts& counts = errors.classes[static_cast<std::size_t>(image.found[d].label)];
      ++counts.of_kind[static_cast<std::size_t>(own.kinds[d])];
    }
    for (std::size_t t = 0; t < own.missed.size(); ++t) {
      if (own.missed[t]) ++errors.classes[static_cast<std::size_t>(image.truth[t].label)].missed;
    }
  }
  return errors;
}

// "class_and_place".
std::string key_of(DetectionKind kind) {
  std::string key = metrics::name_of(kind);
  std::replace(key.begin(), key.end(), ' ', '_');
  return key;
}

std::size_t objects_in(const std::vector<DetectedImage>& images) {
  std::size_t objects = 0;
  for (const DetectedImage& image : images) objects += image.found.size();
  return objects;
}

Table detections_table(const Detection::Evaluation& clean, const Errors& errors,
                       const std::vector<std::string>& names,
                       const std::vector<std::string>& classes) {
  std::vector<std::int64_t> index, label, area;
  std::vector<std::string> name, word, kind;
  std::vector<double> score, x, y, width, height;
  const std::size_t rows = objects_in(clean.images);
  for (auto* column : {&score, &x, &y, &width, &height}) column->reserve(rows);
  for (std::size_t i = 0; i < clean.images.size(); ++i) {
    const std::vector<metrics::DetectedObject>& found = clean.images[i].found;
    for (std::size_t d = 0; d < found.size(); ++d) {
      index.push_back(clean.indices[i]);
      name.push_back(names[i]);
      word.push_back(classes[static_cast<std::size_t>(found[d].label)]);
      label.push_back(found[d].label);
      score.push_back(found[d].score);
      x.push_back(found[d].box.x);
      y.push_back(found[d].box.y);
      width.push_back(found[d].box.width);
      height.push_back(found[d].box.height);
      kind.push_back(metrics::name_of(errors.images[i].kinds[d]));
      if (clean.masks) area.push_back(found[d].mask ? mask_area(*found[d].mask) : 0);
    }
  }
  Table table{"detections",
              {{"index", index},
               {"name", name},
               {"class", word},
               {"class_index", label},
               {"score", score},
               {"x", x},
               {"y", y},
               {"width", width},
               {"height", height},
               {"kind", kind}}};
  if (clean.masks) table.columns.push_back({"mask_area", area});
  return table;
}

// Shares of 1: of all thresholds, of 0.5 and of 0.75.
constexpr std::size_t kAp50 = 0, kAp75 = 5;

struct ApColumns {
  std::vector<double> ap, ap50, ap75;
};

ApColumns ap_columns(const DetectionScores& scores) {
  ApColumns columns;
  for (std::int64_t k = 0; k < scores.num_classes(); ++k) {
    columns.ap.push_back(scores.average_precision(k));
    columns.ap50.push_back(scores.average_precision(k, metrics::AreaRange::kAll, kAp50));
    columns.ap75.push_back(scores.average_precision(k, metrics::AreaRange::kAll, kAp75));
  }
  return columns;
}

Table classes_table(const Detection::Evaluation& clean, const Errors& errors,
                    const std::vector<std::string>& classes) {
  std::vector<std::int64_t> objects, missed;
  for (std::size_t k = 0; k < classes.size(); ++k) {
    objects.push_back(clean.boxes.objects(static_cast<std::int64_t>(k)));
    missed.push_back(errors.classes[k].missed);
  }
  const ApColumns boxes = ap_columns(clean.boxes);
  Table table{"classes",
              {{"class", classes},
               {"objects", objects},
               {"ap", boxes.ap},
               {"ap50", boxes.ap50},
               {"ap75", boxes.ap75}}};
  if (clean.masks) {
    const ApColumns masks = ap_columns(*clean.masks);
    table.columns.push_back({"mask_ap", masks.ap});
    table.columns.push_back({"mask_ap50", masks.ap50});
    table.columns.push_back({"mask_ap75", masks.ap75});
  }
  for (const DetectionKind kind : kKinds) {
    std::vector<std::int64_t> counts;
    for (const ErrorCounts& own : errors.classes) counts.push_back(own.count(kind));
    table.columns.push_back({key_of(kind), counts});
  }
  table.columns.push_back({"missed", missed});
  return table;
}

Value per_class(const Detection::Evaluation& clean, const std::vector<std::string>& classes) {
  Value list = Value::array();
  const ApColumns boxes = ap_columns(clean.boxes);
  for (std::size_t k = 0; k < classes.size(); ++k) {
    Value row = Value::object(
        {{"class", classes[k]}, {"objects", clean.boxes.objects(static_cast<std::int64_t>(k))}});
    set_number(row, "ap", 100 * boxes.ap[k]);
    set_number(row, "ap50", 100 * boxes.ap50[k]);
    if (clean.masks)
      set_number(row, "mask_ap",
                 100 * clean.masks->average_precision(static_cast<std::int64_t>(k)));
    list.push_back(row);
  }
  return list;
}

Value errors_json(const ErrorCounts& counts) {
  Value errors =
      Value::object({{"least_score", kLimits.least_score}, {"overlap", kLimits.foreground}});
  for (const DetectionKind kind : kKinds) errors.set(key_of(kind), counts.count(kind));
  errors.set("missed", counts.missed);
  return errors;
}

Bars error_bars(const Errors& errors, const std::vector<std::string>& classes) {
  Bars bars{
      .name = "errors",
      .label = fmt::format("detections with a score of {} and more, objects", kLimits.least_score),
      .kinds = {},
      .classes = classes,
      .counts = {}};
  for (const DetectionKind kind : kKinds) {
    bars.kinds.push_back(metrics::name_of(kind));
    for (const ErrorCounts& own : errors.classes) bars.counts.push_back(own.count(kind));
  }
  bars.kinds.emplace_back("missed");
  for (const ErrorCounts& own : errors.classes) bars.counts.push_back(own.missed);
  return bars;
}

std::string errors_line(const ErrorCounts& counts) {
  std::vector<std::string> words;
  for (const DetectionKind kind : kKinds)
    words.push_back(fmt::format("{} {}", metrics::name_of(kind), counts.count(kind)));
  return fmt::format("detections with a score of {} and more, overlap {}: {}; missed {}",
                     kLimits.least_score, kLimits.foreground, fmt::join(words, ", "),
                     counts.missed);
}

// Precision at an overlap of 0.5, of each class with objects.
struct PrecisionRecall {
  Table table;
  Curves curves;
};

PrecisionRecall precision_recall(const DetectionScores& scores,
                                 const std::vector<std::string>& classes, const std::string& name) {
  std::vector<double> recalls;
  for (std::size_t r = 0; r < metrics::kRecallPoints; ++r)
    recalls.push_back(metrics::recall_point(r));
  PrecisionRecall result{{name, {{"recall", recalls}}},
                         {.name = name,
                          .x_label = "recall",
                          .y_label = "precision at an overlap of 0.5",
                          .y_low = 0,
                          .y_high = 1,
                          .curves = {}}};
  constexpr std::size_t kMostCurves = 12;  // more cannot be told apart
  for (std::size_t k = 0; k < classes.size(); ++k) {
    const auto label = static_cast<std::int64_t>(k);
    if (scores.objects(label) == 0) continue;
    const auto precision = scores.precision(label, kAp50);
    const std::vector<double> values(precision.begin(), precision.end());
    result.table.columns.push_back({classes[k], values});
    if (result.curves.curves.size() < kMostCurves)
      result.curves.curves.push_back({classes[k], recalls, values});
  }
  return result;
}

// "cell07, 9 of 12 found".
std::string shown_label(const DetectedImage& image, const metrics::DetectionErrors& errors,
                        const std::string& name) {
  const auto right = std::count(errors.kinds.begin(), errors.kinds.end(), DetectionKind::kFound);
  const auto objects =
      std::count_if(image.truth.begin(), image.truth.end(),
                    [](const metrics::TruthObject& object) { return !object.crowd; });
  return fmt::format("{}, {} of {} found", std::filesystem::path(name).stem().string(), right,
                     objects);
}

}  // namespace

Report Detection::report(const ReportRequest& request) {
  Evaluation clean = evaluate_in_full(request.split);
  const std::vector<std::string>& classes = source().class_names();
  const std::vector<std::string> names = names_of(clean.indices, request.split);
  const Errors errors = errors_of(clean.images, classes.size());
  Report report;
  report.tables = {detections_table(clean, errors, names, classes),
                   classes_table(clean, errors, classes)};
  const auto add = [&](PrecisionRecall drawn) {
    report.tables.push_back(std::move(drawn.table));
    if (!drawn.curves.curves.empty()) report.curves.push_back(std::move(drawn.curves));
  };
  add(precision_recall(clean.boxes, classes, "precision_recall"));
  if (clean.masks) add(precision_recall(*clean.masks, classes, "mask_precision_recall"));
  report.bars = {error_bars(errors, classes)};
  report.lines = {errors_line(errors.all)};
  report.details.set("per_class", per_class(clean, classes));
  report.details.set("errors", errors_json(errors.all));
  for (const std::size_t k : shown_places(request, names.size()))
    report.shown.push_back(
        {clean.indices[k], shown_label(clean.images[k], errors.images[k], names[k])});
  report.metrics = std::move(clean.metrics);
  report.indices = std::move(clean.indices);
  report.detected = std::move(clean.images);
  return report;
}

}  // namespace fovea::training
