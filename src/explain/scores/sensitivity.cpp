#include "explain/scores/sensitivity.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/error.h"

namespace fovea::explain {
namespace {

struct SensitivityOptions {
  std::int64_t samples = 10;
  double radius = 0.2;
};

double max_sensitivity_score(const Explained& e, const SensitivityOptions& options) {
  double largest = -std::numeric_limits<double>::infinity();
  for (std::int64_t k = 0; k < options.samples; ++k) {
    const RandomStream noise = e.stream.fork("max sensitivity").fork(static_cast<std::uint64_t>(k));
    Image image = e.image;
    for (std::size_t i = 0; i < image.values.size(); ++i) {
      const double uniform = 2 * static_cast<double>(noise.uniform(i)) - 1;
      image.values[i] = static_cast<float>(image.values[i] + options.radius * uniform);
    }
    const double change = relative_change(e.relevance, e.explain(image));
    if (std::isnan(change)) return change;
    largest = std::max(largest, change);
  }
  return largest;
}

}  // namespace

double relative_change(std::span<const double> before, std::span<const double> after) {
  FOVEA_CHECK(before.size() == after.size(), ShapeError,
              fmt::format("sensitivity: relevance of {} and of {} units; expected as many",
                          before.size(), after.size()));
  double moved = 0, size = 0;
  for (std::size_t i = 0; i < before.size(); ++i) {
    moved += (after[i] - before[i]) * (after[i] - before[i]);
    size += before[i] * before[i];
  }
  return size > 0 ? std::sqrt(moved) / std::sqrt(size) : std::numeric_limits<double>::quiet_NaN();
}

FOVEA_SCORE(max_sensitivity,
            "largest relative change of the explanation under uniform noise on the input",
            (ScoreRule{Better::kLower, {Need::kMethod}}),
            schema::Fields<SensitivityOptions>{}
                .add("samples", &SensitivityOptions::samples, schema::at_least(1), "draws of noise")
                .add("radius", &SensitivityOptions::radius, schema::greater_than(0),
                     "largest noise, in units of normalised inputs"),
            max_sensitivity_score)

}  // namespace fovea::explain
