// Explanations of any grid as relevance of the units that scores remove. explain 0.3, 0.6.
#pragma once

#include <cstdint>
#include <vector>

#include "explain/methods/method.h"
#include "explain/units.h"

namespace fovea::explain {

/// The units of the images of a subject.
Units units_of(const Subject& subject);

/// Relevance of the units by sample i: a grid as fine or finer than the units, pixels among them,
/// is summed over each; of a coarser one the place in which the middle of a unit lies counts.
std::vector<double> on_units(const Explanation& found, std::int64_t i, const Units& units);

}  // namespace fovea::explain
