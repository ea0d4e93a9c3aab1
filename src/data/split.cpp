#include "data/split.h"

#include <fmt/format.h>

#include <numeric>
#include <utility>

#include "base/error.h"
#include "data/subset.h"

namespace fovea::data {
namespace {

using schema::at_least;
using schema::Fields;

std::optional<std::int64_t> limit_of(const Limits& limit, Split split) {
  switch (split) {
    case Split::kTrain:
      return limit.train;
    case Split::kVal:
      return limit.val;
    case Split::kTest:
      return limit.test;
  }
  return std::nullopt;
}

Fields<SplitOptions> make_split_fields() {
  const auto limits = Fields<Limits>{}
                          .add("train", &Limits::train, at_least(1), "samples of train; null: all")
                          .add("val", &Limits::val, at_least(1), "samples of val; null: all")
                          .add("test", &Limits::test, at_least(1), "samples of test; null: all");
  return Fields<SplitOptions>{}
      .add("root", &SplitOptions::root,
           "folder of the files, relative to the current directory; empty: datasets/<type>")
      .is_place()
      .add_object("limit", &SplitOptions::limit, limits,
                  "number of samples kept of each split: the first of every class in turn")
      .add("val_fraction", &SplitOptions::val_fraction, at_least(0) && schema::less_than(1),
           "share of train that is held out as val, stratified by class; 0: the val part that the "
           "data set comes with, if any")
      .add("val_seed", &SplitOptions::val_seed, at_least(0),
           "seed of that split; does not follow the seed of the run");
}

}  // namespace

std::string_view name_of(Split split) {
  switch (split) {
    case Split::kTrain:
      return "train";
    case Split::kVal:
      return "val";
    case Split::kTest:
      return "test";
  }
  return "";
}

Split split_from_name(std::string_view name) {
  for (const Split split : {Split::kTrain, Split::kVal, Split::kTest}) {
    if (name == name_of(split)) return split;
  }
  throw ConfigError(fmt::format("no split called \"{}\"; expected train, val or test", name));
}

const Fields<SplitOptions>& split_fields() {
  static const Fields<SplitOptions> fields = make_split_fields();
  return fields;
}

std::string_view name_of(Kind kind) {
  switch (kind) {
    case Kind::kImages:
      return "images";
    case Kind::kMaskedImages:
      return "images with masks";
    case Kind::kTexts:
      return "texts";
  }
  return "";
}

void no_split(std::string_view name) {
  throw ConfigError(fmt::format("dataset: has no split \"{}\"", name));
}

std::vector<std::int64_t> choose_samples(const std::vector<std::int64_t>& labels, Split split,
                                         const SplitOptions& options, std::int64_t val_every) {
  std::vector<std::int64_t> indices(labels.size());
  std::iota(indices.begin(), indices.end(), std::int64_t{0});
  const bool cut = split != Split::kTest && (options.val_fraction > 0 || val_every > 0);
  if (cut) {
    SplitIndices parts = val_every > 0
                             ? regular_split(labels, indices, val_every)
                             : stratified_split(labels, indices, options.val_fraction,
                                                static_cast<std::uint64_t>(options.val_seed));
    indices = split == Split::kTrain ? std::move(parts.train) : std::move(parts.val);
  }
  if (const auto limit = limit_of(options.limit, split))
    indices = balanced_subset(labels, indices, *limit);
  FOVEA_CHECK(!indices.empty(), ConfigError,
              fmt::format("dataset: split {} is left without samples; check dataset.limit and "
                          "dataset.val_fraction",
                          name_of(split)));
  return indices;
}

}  // namespace fovea::data
