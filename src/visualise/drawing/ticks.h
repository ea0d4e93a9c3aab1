// Axis limits, ticks and their labels.
#pragma once

#include <string>
#include <vector>

namespace fovea::visualise {

struct Tick {
  double value = 0;
  std::string label;  // empty for minor ticks of a logarithmic axis
};

/// Multiples of 1, 2, 2.5 or 5 times a power of ten inside [low, high], about `target` of them,
/// with as many decimals as the step needs; `whole` allows whole numbers only (epochs, steps).
/// Needs low < high, both finite.
std::vector<Tick> linear_ticks(double low, double high, int target, bool whole = false);

/// Powers of ten inside [low, high], labelled, with unlabelled minor ticks between them; where
/// less than three powers are inside, 1, 2 and 5 times powers of ten are labelled, and on an axis
/// too narrow for those the linear ticks are used. Needs 0 < low < high.
std::vector<Tick> log_ticks(double low, double high);

/// "⁻¹²".
std::string superscript(int exponent);

/// `value` with `decimals` digits after the point and a proper minus sign.
std::string fixed_label(double value, int decimals);

}  // namespace fovea::visualise
