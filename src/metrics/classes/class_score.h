// Scores of classifications that experiments ask for by eval.metrics, and what one is to the list
// of them. A score is one source file, which ends in FOVEA_CLASS_SCORE, and one line in
// class_scores.def; options, columns and help come from the list. Values agree with scikit-learn's.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "metrics/confusion.h"
#include "metrics/metric_info.h"
#include "schema/registry.h"

namespace fovea::metrics {

/// What a classifier said of the samples of a part.
struct ClassPredictions {
  std::int64_t num_classes = 0;                   // of the data
  std::int64_t width = 0;                         // outputs of the network: at least as many
  std::vector<std::int64_t> labels, predictions;  // (n)
  std::vector<float> probabilities;               // (n, width) row-major

  std::int64_t size() const { return std::ssize(labels); }
  /// Of one sample, its `width` numbers.
  std::span<const float> row(std::int64_t i) const {
    return std::span(probabilities)
        .subspan(static_cast<std::size_t>(i * width), static_cast<std::size_t>(width));
  }
  ConfusionMatrix confusion() const;
};

/// Softmax of rows of logits (n, width), the sums in float64.
std::vector<float> class_probabilities(const std::vector<float>& logits, std::int64_t width);

/// How a score is computed.
struct ClassRule {
  /// The values whose mean is the score: one of each class, or a single one. NaN is undefined and
  /// left out of the mean.
  std::vector<double> (*values)(const ClassPredictions& predictions) = nullptr;
  std::string unit = "%";  // of "%" the values are shares of 1
  bool larger_is_better = true;
  std::string undefined_for = "";  // which values are: "classes without samples"
};

struct ClassScoreEntry : schema::Choice {
  static constexpr const char* kKind = "class score";
  ClassRule rule;

  MetricInfo info() const;
};

/// All of class_scores.def, and what was added since.
schema::Registry<ClassScoreEntry>& class_scores();
/// The entry of that name; null where there is none.
const ClassScoreEntry* find_class_score(const std::string& name);
/// "balanced_accuracy: mean over the classes ...; macro_f1: ...".
std::string class_scores_help();
/// The scores of these names, in the order of the list, each once. Throws ConfigError, which names
/// eval.metrics, for an unknown name.
std::vector<MetricInfo> class_scores_of(const std::vector<std::string>& names);
/// Their values. The coverage says where the mean is not over all values.
std::vector<Measurement> measure_class_scores(const std::vector<std::string>& names,
                                              const ClassPredictions& predictions);

}  // namespace fovea::metrics

/// FOVEA_CLASS_SCORE(name, help, {ClassRule}): defines the entry that a line of class_scores.def
/// refers to. Inside namespace fovea::metrics.
#define FOVEA_CLASS_SCORE(name, help, ...)                  \
  ClassScoreEntry class_score_entry_##name() {              \
    return {{#name, help, nullptr}, ClassRule __VA_ARGS__}; \
  }
