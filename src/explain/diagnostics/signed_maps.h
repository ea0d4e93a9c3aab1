// How much of a signed map is negative, and what its two parts take from each other. explain C.9.
#pragma once

#include <cstdint>
#include <span>

#include "explain/diagnostics/mean_of.h"

namespace fovea::explain {

/// sum [-A]+ / sum |A|; NaN if all is 0.
double negative_mass(std::span<const double> map);
/// The mean over rows of 1 - |sum_j A_ij| / sum_j |A_ij|; rows of zeros are left out. map: n rows.
MeanOf row_cancellation(std::span<const double> map, std::int64_t n);

/// Of A = P - N with P, N >= 0 (DIFF: P = A1, N = lambda A2; M-DGSA: P = g A1, N = (1 - g) A2).
struct Cancellation {
  double cancelled = 0;  // 2 sum min(P, N) / (sum P + sum N): the share of attention that is gone
  double inhibited = 0;  // sum min(P, N) / sum N: the share of N that meets P
};
/// Throws ShapeError unless both are as large, NumericError for negative parts.
Cancellation cancellation(std::span<const double> positive, std::span<const double> negative);

}  // namespace fovea::explain
