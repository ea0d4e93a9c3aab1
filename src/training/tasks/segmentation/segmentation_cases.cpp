#include "training/tasks/segmentation/segmentation_cases.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <regex>
#include <utility>

#include "base/error.h"
#include "data/images/image_dataset.h"
#include "data/volumes/volume_dataset.h"
#include "metrics/cases/case_metric.h"
#include "metrics/label_maps.h"
#include "training/store/run_state.h"
#include "training/tasks/segmentation/segmentation.h"

namespace fovea::training {

std::optional<std::vector<double>> pixel_spacing(const data::Geometry& geometry,
                                                 const std::vector<std::int64_t>& size) {
  constexpr std::size_t kPlane = 2;  // axes
  const data::Geometry own = size.size() == kPlane ? geometry.in_plane() : geometry;
  const bool known = own.spacing.size() == size.size() && own.original_size.size() == size.size();
  if (!known) return {};
  // Slices that lie on one another are as far apart as in their volume.
  const bool stacked = size.size() > kPlane && !own.offset.empty();
  if (stacked) {
    auto spacing = pixel_spacing(own.in_plane(), {size.end() - kPlane, size.end()});
    if (spacing) spacing->insert(spacing->begin(), own.spacing.front());
    return spacing;
  }
  std::vector<double> spacing = own.spacing;
  if (!own.offset.empty()) return spacing;
  for (std::size_t axis = 0; axis < spacing.size(); ++axis)
    spacing[axis] *= static_cast<double>(own.original_size[axis]) / static_cast<double>(size[axis]);
  return spacing;
}

void Segmentation::add_metrics(const metrics::CaseMetrics& asked) {
  metrics::case_metrics(asked);  // throws for unknown names
  const CaseCollector check(asked, {});
  asked_ = asked;
  if (!has_source()) return;
  asked_.first_class = first_scored();
  chosen_classes();  // throws for unknown names
}

std::vector<std::size_t> Segmentation::chosen_classes() const {
  return metrics::chosen_classes(asked_.classes, scored_names(), first_scored());
}

CaseCollector::Image Segmentation::image_of(std::span<const std::int64_t> truth,
                                            std::span<const std::int64_t> predicted,
                                            const std::vector<std::int64_t>& size,
                                            const data::Batch& batch, std::int64_t i,
                                            data::Split split) const {
  const auto place = static_cast<std::size_t>(i);
  const std::int64_t index = batch.indices.at(place);
  CaseCollector::Image image{
      truth, predicted,
      size,  place < batch.geometry.size() ? batch.geometry[place] : data::Geometry{},
      index, source().sample_name(split, index)};
  if (const auto* volumes = data::find_volumes(source().at(split))) {
    image.geometry.original_size = size;
    if (!at_original_size(split)) {
      const auto& spacing = volumes->plan().spacing;
      image.geometry.spacing = {spacing.begin(), spacing.end()};
    }
    return image;
  }
  if (const auto slice = data::images_of(source().at(split)).slice_of(index)) {
    image.volume = slice->volume;
    image.slices = slice->depth;
  }
  return image;
}

std::vector<metrics::MetricInfo> Segmentation::with_cases(
    std::vector<metrics::MetricInfo> metrics, const std::vector<std::string>& class_names) const {
  const std::vector<metrics::MetricInfo> asked = class_names.empty()
                                                     ? metrics::case_metrics(asked_)
                                                     : metrics::case_metrics(asked_, class_names);
  metrics.insert(metrics.end(), asked.begin(), asked.end());
  return metrics;
}

CaseCollector::CaseCollector(const metrics::CaseMetrics& asked, metrics::LabelSets sets)
    : asked_(asked), sets_(std::move(sets)) {
  if (asked.volumes.empty() || asked.volumes == metrics::kNoVolumes) return;
  try {
    grouping_.emplace(asked.volumes);
  } catch (const std::regex_error&) {
    throw ConfigError(fmt::format(
        "eval.volumes is \"{}\"; expected \"folder\" or a regular expression (ECMAScript)",
        asked.volumes));
  }
}

void CaseCollector::add(const metrics::ClassCounts& counts, const Image& image) {
  if (!wanted()) return;
  const std::string name = volume_of(image);
  if (name.empty()) {
    images_[image.index] = scores_of(counts, image);
    return;
  }
  Volume& volume = volumes_[name];
  volume[image.index] = {{image.truth.begin(), image.truth.end()},
                         {image.predicted.begin(), image.predicted.end()},
                         image.size,
                         image.geometry,
                         counts};
  // Most often slices come one after another, so that few volumes are kept.
  if (grouping_ || std::ssize(volume) < image.slices) return;
  scored_[name] = scores_of(name, volume);
  volumes_.erase(name);
}

std::string CaseCollector::volume_of(const Image& image) const {
  if (asked_.volumes == metrics::kNoVolumes) return "";
  if (!grouping_) return image.volume;
  try {
    return grouping_->group_of(image.name);
  } catch (const ConfigError&) {
    throw ConfigError(
        fmt::format("eval.volumes: \"{}\" finds nothing in {}; expected a volume for "
                    "every image",
                    asked_.volumes, image.name));
  }
}

metrics::CaseScores CaseCollector::scores_of(const metrics::ClassCounts& counts,
                                             const Image& image) const {
  std::vector<const metrics::CaseMetricEntry*> in_pixels, in_millimetres;
  for (const metrics::CaseMetricEntry* entry : metrics::asked_entries(asked_)) {
    if (entry->is_of_masks())
      (entry->needs_spacing() ? in_millimetres : in_pixels).push_back(entry);
  }
  metrics::CaseScores scores{counts};
  const auto spacing = pixel_spacing(image.geometry, image.size);
  scores.pixels_alone = !spacing.has_value();
  const auto add = [&](const auto& entries, const metrics::Grid& grid) {
    scores.from_masks.merge(metrics::mask_values(entries, image.truth, image.predicted, sets_,
                                                 data::kIgnoreLabel, grid, asked_));
  };
  if (!in_pixels.empty()) add(in_pixels, {image.size});
  if (!in_millimetres.empty()) {
    const metrics::CaseMetricEntry* other = metrics::in_pixels(*in_millimetres.front());
    FOVEA_CHECK(spacing.has_value(), ConfigError,
                fmt::format("eval.metrics: {}, but the data set does not say how large pixels "
                            "are; {}",
                            in_millimetres.front()->name,
                            other != nullptr ? "choose " + other->name : "leave it out"));
    add(in_millimetres, {image.size, *spacing});
  }
  return scores;
}

metrics::CaseScores CaseCollector::scores_of(const std::string& name, const Volume& volume) const {
  const Slice& first = volume.begin()->second;
  std::vector<std::int64_t> truth, predicted;
  metrics::ClassCounts counts = first.counts;
  for (const auto& [index, slice] : volume) {
    FOVEA_CHECK(slice.size == first.size, ShapeError,
                fmt::format("eval.volumes: slices of {} differ in size; expected one size, or set "
                            "eval.score_size=network",
                            name));
    truth.insert(truth.end(), slice.truth.begin(), slice.truth.end());
    predicted.insert(predicted.end(), slice.predicted.begin(), slice.predicted.end());
    if (&slice == &first) continue;
    for (std::size_t c = 0; c < counts.truth.size(); ++c) {
      counts.truth[c] += slice.counts.truth[c];
      counts.predicted[c] += slice.counts.predicted[c];
      counts.both[c] += slice.counts.both[c];
    }
  }
  Image stacked{truth, predicted, first.size, first.geometry, 0, name};
  stacked.size.insert(stacked.size.begin(), std::ssize(volume));
  metrics::CaseScores scores = scores_of(counts, stacked);
  scores.volume = name;
  scores.images = std::ssize(volume);
  return scores;
}

std::vector<metrics::CaseScores> CaseCollector::finish() const {
  std::vector<metrics::CaseScores> cases;
  for (const auto& [index, scores] : images_) cases.push_back(scores);
  std::map<std::string, metrics::CaseScores> volumes = scored_;
  for (const auto& [name, volume] : volumes_) {
    volumes[name] = scores_of(name, volume);
    volumes[name].incomplete = !grouping_;
  }
  for (const auto& [name, scores] : volumes) cases.push_back(scores);
  return cases;
}

void Segmentation::add_cases(Metrics& metrics, const std::vector<metrics::CaseScores>& cases,
                             const std::vector<std::string>& class_names) const {
  for (const metrics::CaseMeasurement& one : metrics::measure_cases(asked_, cases, class_names))
    metrics.push_back(one.metric);
}

void Segmentation::add_cases(Report& report, const std::vector<metrics::CaseScores>& cases,
                             const std::vector<std::string>& class_names) const {
  if (!asked_.classes.empty())
    report.lines.push_back(fmt::format("means over classes are of {} of {} classes: {}",
                                       asked_.classes.size(), class_names.size() - first_scored(),
                                       fmt::join(asked_.classes, ", ")));
  const auto incomplete =
      std::count_if(cases.begin(), cases.end(), [](const auto& one) { return one.incomplete; });
  if (incomplete > 0)
    report.lines.push_back(fmt::format(
        "{} of {} volumes are without some of their slices, which the data set leaves out",
        incomplete, cases.size()));
  for (const metrics::CaseScores& one : cases)
    if (!one.volume.empty()) report.volumes.push_back(one.volume);
  for (const metrics::CaseMeasurement& one : metrics::measure_cases(asked_, cases, class_names)) {
    const metrics::MetricInfo& info = one.metric.info;
    schema::Value detail =
        schema::Value::object({{"undefined", one.undefined}, {"compared", one.compared}});
    set_number(detail, "strict", one.strict);
    report.details.set(info.name, detail);
    if (one.undefined == 0 || one.of_class) continue;
    report.lines.push_back(fmt::format(
        "{}: {} of {} cases and classes are undefined, since truth or prediction is empty; {}{}",
        info.name, one.undefined, one.compared,
        one.left_out ? "they are left out"
                     : fmt::format("without them it is {}", value_text(info, one.strict)),
        one.absent == 0
            ? std::string()
            : fmt::format(", but {} that no case has counts 0 in the mean",
                          one.absent == 1 ? std::string("a class")
                                          : fmt::format("each of {} classes", one.absent))));
  }
  const bool pixels_alone =
      std::any_of(cases.begin(), cases.end(), [](const auto& one) { return one.pixels_alone; });
  std::vector<std::string> lengths;  // names of metrics
  for (const metrics::CaseMetricEntry* entry : metrics::asked_entries(asked_))
    if (entry->rule.lengths == metrics::Lengths::kPixels) lengths.push_back(entry->name);
  if (pixels_alone && !lengths.empty())
    report.lines.push_back(
        fmt::format("{}: lengths are in pixels; the data set does not say how large these are",
                    fmt::join(lengths, ", ")));
}

namespace {

std::string class_head(const std::string& name, const std::string& word) {
  return word.empty() ? name : fmt::format("{}_{}", name, word);
}

// Shares of each class from `first` on, behind the means over classes.
std::vector<Column> share_columns(const std::vector<metrics::CaseScores>& cases,
                                  const std::vector<std::string>& class_words, std::size_t first) {
  std::vector<Column> columns;
  for (const metrics::CaseMetricEntry& entry : metrics::case_metric_entries()) {
    if (entry.is_of_masks()) continue;
    for (std::size_t c = 0; c < class_words.size(); ++c) {
      std::vector<double> shares;
      for (const metrics::CaseScores& one : cases)
        shares.push_back(entry.share(one.counts, c + first, metrics::EmptyMasks::kStrict));
      columns.push_back({class_head(entry.share_name(), class_words[c]), std::move(shares)});
    }
  }
  return columns;
}

}  // namespace

std::vector<Column> mask_columns(const metrics::CaseMetrics& asked,
                                 const std::vector<metrics::CaseScores>& cases,
                                 const std::vector<std::string>& class_words) {
  std::vector<Column> columns;
  for (const metrics::CaseMetricEntry* entry : metrics::asked_entries(asked)) {
    if (!entry->is_of_masks()) continue;
    for (std::size_t c = 0; c < class_words.size(); ++c) {
      std::vector<double> values;
      for (const metrics::CaseScores& one : cases) {
        const double own = one.from_masks.at(entry->name)[c];
        const bool fallen_back = std::isnan(own) && entry->is_share();
        values.push_back(fallen_back ? entry->share(one.counts, c + asked.first_class,
                                                    metrics::EmptyMasks::kStrict)
                                     : own);
      }
      columns.push_back({class_head(entry->share_name(), class_words[c]), std::move(values)});
    }
  }
  return columns;
}

Table volumes_table(const metrics::CaseMetrics& asked,
                    const std::vector<metrics::CaseScores>& cases,
                    const std::vector<std::string>& class_words) {
  std::vector<std::string> names;
  std::vector<std::int64_t> slices;
  for (const metrics::CaseScores& one : cases) {
    names.push_back(one.volume);
    slices.push_back(one.images);
  }
  Table table{"volumes", {{"volume", names}, {"slices", slices}}};
  const auto add = [&](std::vector<Column> columns) {
    std::move(columns.begin(), columns.end(), std::back_inserter(table.columns));
  };
  // Of one class the mean over the classes would be the column of its masks' values again.
  for (metrics::CaseMeasurement& one : metrics::measure_cases(asked, cases))
    if (class_words.size() > 1 || !one.entry->is_of_masks())
      table.columns.push_back({one.metric.info.name, std::move(one.metric.per_sample)});
  add(share_columns(cases, class_words, asked.first_class));
  add(mask_columns(asked, cases, class_words));
  return table;
}

void Segmentation::add_tables(Report& report, Table samples,
                              const std::vector<metrics::CaseScores>& cases,
                              const std::vector<std::string>& class_words) const {
  if (!cases.empty() && !cases.front().volume.empty()) {
    report.tables.push_back(volumes_table(asked_, cases, class_words));
  } else if (!cases.empty()) {
    for (Column& column : mask_columns(asked_, cases, class_words))
      samples.columns.push_back(std::move(column));
  }
  report.tables.push_back(std::move(samples));
}

}  // namespace fovea::training
