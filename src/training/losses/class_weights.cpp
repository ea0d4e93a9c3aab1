#include "training/losses/class_weights.h"

#include <fmt/format.h>

#include <numeric>

#include "base/error.h"

namespace fovea::training {

std::vector<double> balanced_weights(const std::vector<std::int64_t>& counts) {
  const auto samples =
      static_cast<double>(std::accumulate(counts.begin(), counts.end(), std::int64_t{0}));
  std::vector<double> weights;
  for (std::size_t c = 0; c < counts.size(); ++c) {
    FOVEA_CHECK(counts[c] > 0, ConfigError,
                fmt::format("loss.balanced: class {} has no training samples; give every class a "
                            "weight with loss.class_weights",
                            c));
    weights.push_back(samples /
                      (static_cast<double>(counts.size()) * static_cast<double>(counts[c])));
  }
  return weights;
}

std::vector<double> chosen_weights(const std::vector<double>& class_weights, bool balanced,
                                   const LabelCounts& counts) {
  if (!balanced) return class_weights;
  FOVEA_CHECK(class_weights.empty(), ConfigError,
              "loss.balanced: given with class_weights; choose one of the two");
  FOVEA_CHECK(counts.has_value(), ConfigError,
              "loss.balanced: counts the classes of samples, of a classification; give "
              "class_weights");
  return balanced_weights(*counts);
}

}  // namespace fovea::training
