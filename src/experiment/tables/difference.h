// A row of a table of results against its first one.
#pragma once

#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "metrics/bootstrap.h"
#include "metrics/statistics.h"
#include "metrics/verdict.h"

namespace fovea::experiment {

/// What a pair has in common: the seed of two runs, or the sample that two networks saw.
enum class PairedBy { kSeed, kCase };
/// "seed", "case"
const char* name_of(PairedBy by);

/// A row against the first one.
struct Difference {
  std::size_t index = 0;  // of the row
  std::string row;
  std::string metric;
  int decimals = 2;
  metrics::Paired paired;
  std::vector<double> values;                            // of the pairs
  metrics::Interval bca = {std::nan(""), std::nan("")};  // of their mean; set by collect_results
  double holm = 0;                                       // adjusted over the rows of the metric
  metrics::Verdict verdict = metrics::Verdict::kNone;
  std::int64_t tests = 0;  // rows of the metric that are tested
  /// Of seeds: the smallest difference that so many pairs, spread as these, show (verdict.h).
  std::optional<double> detectable;
  std::optional<double> margin;         // of a test for equivalence
  double p_equivalence = std::nan("");  // adjusted over the rows of the metric
  PairedBy by = PairedBy::kSeed;
  double p_signed_rank = 0;   // of cases: Wilcoxon's test beside that of the signs
  std::int64_t left_out = 0;  // cases or seeds where one of the two is undefined
  bool other_sets = false;    // of seeds: the two means of a pair are over different sets of values
};

}  // namespace fovea::experiment
