// The BCa interval (Efron, "Better bootstrap confidence intervals", JASA 1987).
#pragma once

#include <span>

namespace fovea::metrics {

struct Interval {
  double low = 0;
  double high = 0;
};

/// The 95 % interval of the mean of values, corrected for bias and skewness: of all n^n resamples
/// up to 6 values, else of 9,999 drawn ones, the same every time. NaN below kLeastResampled values,
/// where a bootstrap says nothing, above kMostResampled, where it takes long and Student's interval
/// says the same, where all are equal, and where one is not finite.
inline constexpr std::size_t kLeastResampled = 5;
inline constexpr std::size_t kMostResampled = 500;
Interval bca_interval(std::span<const double> values);

}  // namespace fovea::metrics
