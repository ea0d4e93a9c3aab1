// The parts of a data set and how their samples are chosen: the keys that all data sets have.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "schema/fields.h"

namespace fovea::data {

/// What the samples of a data set are.
enum class Kind { kImages, kMaskedImages, kTexts };
/// "images", "images with masks", "texts".
std::string_view name_of(Kind kind);

/// The three parts of a data set. kVal is either a part that the data set comes with or a piece cut
/// from train.
enum class Split { kTrain, kVal, kTest };

/// "train", "val", "test".
std::string_view name_of(Split split);
/// Inverse of name_of. Throws ConfigError.
Split split_from_name(std::string_view name);

/// Throws ConfigError.
[[noreturn]] void no_split(std::string_view name);

/// The parts of one data set by name; any may be null.
template <class D>
struct Splits {
  std::shared_ptr<const D> train, val, test;

  /// "train", "val" or "test"; null for anything else.
  std::shared_ptr<const D> find(std::string_view name) const {
    return name == "train" ? train : name == "val" ? val : name == "test" ? test : nullptr;
  }
  /// Throws ConfigError for a part that is not there.
  const D& at(std::string_view name) const {
    const auto found = find(name);
    if (found == nullptr) no_split(name);
    return *found;
  }
  /// One of those that are there, for what they share.
  const D& any() const { return train ? *train : val ? *val : *test; }
};

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
