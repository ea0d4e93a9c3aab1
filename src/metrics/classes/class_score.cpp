#include "metrics/classes/class_score.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/error.h"
#include "base/suggest.h"
#include "metrics/label_maps.h"

namespace fovea::metrics {

#define FOVEA_ENTRY(name) ClassScoreEntry class_score_entry_##name();
#include "metrics/classes/class_scores.def"
#undef FOVEA_ENTRY

namespace {

std::vector<const ClassScoreEntry*> asked_scores(const std::vector<std::string>& names) {
  std::vector<const ClassScoreEntry*> entries;
  std::vector<std::string> known;
  for (const ClassScoreEntry& entry : class_scores()) {
    known.push_back(entry.name);
    if (std::ranges::count(names, entry.name) > 0) entries.push_back(&entry);
  }
  for (const std::string& name : names) {
    FOVEA_CHECK(find_class_score(name) != nullptr, ConfigError,
                fmt::format("eval.metrics: no metric of classifications called \"{}\"{}; expected "
                            "some of {}",
                            name, did_you_mean(name, known), fmt::join(known, ", ")));
  }
  return entries;
}

}  // namespace

schema::Registry<ClassScoreEntry>& class_scores() {
  static schema::Registry<ClassScoreEntry> all = {
#define FOVEA_ENTRY(name) class_score_entry_##name(),
#include "metrics/classes/class_scores.def"
#undef FOVEA_ENTRY
  };
  return all;
}

const ClassScoreEntry* find_class_score(const std::string& name) {
  const auto found = std::ranges::find(class_scores(), name, &ClassScoreEntry::name);
  return found == class_scores().end() ? nullptr : &*found;
}

MetricInfo ClassScoreEntry::info() const {
  return {.name = name,
          .unit = rule.unit,
          .larger_is_better = rule.larger_is_better,
          .decimals = rule.unit.empty() ? 4 : 2};
}

std::string class_scores_help() {
  std::vector<std::string> lines;
  for (const ClassScoreEntry& entry : class_scores())
    lines.push_back(entry.name + ": " + entry.help);
  return fmt::format("{}", fmt::join(lines, "; "));
}

std::vector<MetricInfo> class_scores_of(const std::vector<std::string>& names) {
  std::vector<MetricInfo> infos;
  for (const ClassScoreEntry* entry : asked_scores(names)) infos.push_back(entry->info());
  return infos;
}

std::vector<Measurement> measure_class_scores(const std::vector<std::string>& names,
                                              const ClassPredictions& predictions) {
  std::vector<Measurement> measured;
  for (const ClassScoreEntry* entry : asked_scores(names)) {
    const std::vector<double> values = entry->rule.values(predictions);
    const double mean = class_mean(values, 0, Empty::kLeftOut);
    Measurement one{entry->info(), entry->rule.unit == "%" ? 100 * mean : mean, {}};
    const Coverage coverage = coverage_of({values});
    if (!coverage.complete()) one.coverage = coverage;
    measured.push_back(std::move(one));
  }
  return measured;
}

ConfusionMatrix ClassPredictions::confusion() const {
  ConfusionMatrix matrix(num_classes);
  matrix.add(labels, predictions);
  return matrix;
}

// The largest logit is subtracted so that nothing overflows.
std::vector<float> class_probabilities(const std::vector<float>& logits, std::int64_t width) {
  std::vector<float> result(logits.size());
  const auto w = static_cast<std::size_t>(width);
  for (std::size_t row = 0; row < logits.size(); row += w) {
    const float* x = logits.data() + row;
    const double largest = *std::max_element(x, x + w);
    double sum = 0;
    for (std::size_t c = 0; c < w; ++c) sum += std::exp(x[c] - largest);
    for (std::size_t c = 0; c < w; ++c)
      result[row + c] = static_cast<float>(std::exp(x[c] - largest) / sum);
  }
  return result;
}

}  // namespace fovea::metrics
