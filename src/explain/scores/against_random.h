// Scores of methods against those of random relevance, image by image. explain B.11.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "explain/scores/score.h"
#include "metrics/statistics.h"
#include "metrics/verdict.h"

namespace fovea::explain {

/// One method on one score.
struct AgainstRandom {
  metrics::Estimate value;       // over the images where it is defined
  metrics::Estimate difference;  // to random, over those where both are; positive is better
  double p = 0;                  // of the sign-flip test of the differences
  double p_holm = 0;             // adjusted over the methods
  double win_rate = 0;           // share of images better than random, equal ones count half
  std::int64_t left_out = 0;     // images where one of the two is NaN

  /// By p_holm at metrics::kAlpha; none where it is NaN.
  metrics::Verdict verdict() const;
};

/// The score of random relevance of every image, the mean over seeds; a seed without a score for an
/// image is left out of its mean, which is NaN without any. Throws ShapeError unless all seeds are
/// as long, and without a seed.
std::vector<double> mean_over_seeds(std::span<const std::vector<double>> random);

/// values: for each method the scores of the images; random: for each seed those of random
/// relevance, whose mean_over_seeds() stands for an image. Throws ShapeError unless all are as
/// long, and without a seed.
std::vector<AgainstRandom> against_random(std::span<const std::vector<double>> values,
                                          std::span<const std::vector<double>> random,
                                          Better better);

/// The same of a paired comparison of two methods: `a` minus `b`, positive where a is better.
/// p_holm is p.
AgainstRandom compared(std::span<const double> a, std::span<const double> b, Better better);

/// Sets p_holm of every one by the p of all.
void adjust(std::span<AgainstRandom> rows);

/// A warning where no test of so few images can reach 0.05 (metrics::pairs_needed); else "".
std::string too_few(std::int64_t images);

}  // namespace fovea::explain
