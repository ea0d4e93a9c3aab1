// The parts of a data set and how their samples are chosen: the keys that all data sets have.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "schema/fields.h"

namespace fovea::data {

/// The three parts of a data set. kVal is either a part that the data set comes with or a piece cut
/// from train.
enum class Split { kTrain, kVal, kTest };

/// "train", "val", "test".
std::string_view name_of(Split split);
/// Inverse of name_of. Throws ConfigError.
Split split_from_name(std::string_view name);

/// Number of samples kept of each split, class-balanced; none keeps all.
struct Limits {
  std::optional<std::int64_t> train;
  std::optional<std::int64_t> val;
  std::optional<std::int64_t> test;
};

struct SplitOptions {
  std::string root;  // empty: datasets/<type>
  Limits limit;
  double val_fraction = 0.0;
  std::int64_t val_seed = 0;
};
const schema::Fields<SplitOptions>& split_fields();

/// The samples of a split, ascending. labels: of the part it is taken from, which is train for a
/// kVal that is cut from it. Throws ConfigError if none is left.
std::vector<std::int64_t> choose_samples(const std::vector<std::int64_t>& labels, Split split,
                                         const SplitOptions& options, std::int64_t val_every = 0);

}  // namespace fovea::data
