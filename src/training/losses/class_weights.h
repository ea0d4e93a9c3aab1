// Weights of classes, as losses of labels know them: given, or from the training samples.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "schema/fields.h"

namespace fovea::training {

/// How many training samples have each label. Empty: there are no data. None: samples have no
/// class.
using LabelCounts = std::optional<std::vector<std::int64_t>>;

/// samples / (classes x samples of the class): scikit-learn's compute_class_weight("balanced").
/// Throws ConfigError for a class without samples.
std::vector<double> balanced_weights(const std::vector<std::int64_t>& counts);

/// What the options class_weights and balanced ask for; without data each weight is 1. Throws
/// ConfigError where both are given, and for balanced where samples have no class.
std::vector<double> chosen_weights(const std::vector<double>& class_weights, bool balanced,
                                   const LabelCounts& counts);

/// These options. Members: std::vector<double> class_weights, bool balanced.
template <class Options>
schema::Fields<Options> with_class_weights(schema::Fields<Options> fields) {
  return fields
      .add("class_weights", &Options::class_weights, schema::at_least(0),
           "weight of every class, as PyTorch's: means are over the weights of the labels; [] = 1 "
           "each")
      .add("balanced", &Options::balanced,
           "instead weights from the training samples: samples / (classes x samples of the class), "
           "as scikit-learn's class_weight=\"balanced\"; of classifications");
}

}  // namespace fovea::training
