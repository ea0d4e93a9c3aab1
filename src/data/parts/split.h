// The parts of a data set and how their samples are chosen: the keys that all data sets have.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "schema/fields.h"

namespace fovea::data {

/// What the samples of a data set are.
enum class Kind { kImages, kMaskedImages, kLabelMaps, kTexts, kBoxes, kStreams, kSpeech };
/// "images", "images with masks", "images with maps of labels", "texts", "images with boxes",
/// "streams of text", "recordings with transcripts".
std::string_view name_of(Kind kind);

/// The three parts of a data set. Val and test come with the data set or are cut from train. A
/// missing part is never replaced by another one.
enum class Split { kTrain, kVal, kTest };

/// "train", "val", "test".
std::string_view name_of(Split split);
/// Inverse of name_of, of a flag or a file. Throws ConfigError.
Split split_from_name(std::string_view name);

/// Throws ConfigError: a data set has no such part.
[[noreturn]] void no_split(Split split);

/// Number of samples kept of each split, class-balanced; none keeps all.
struct Limits {
  std::optional<std::int64_t> train;
  std::optional<std::int64_t> val;
  std::optional<std::int64_t> test;
};

/// `dataset.split`: parts that are cut from train (division.h).
struct CutOptions {
  double val = 0;
  double test = 0;
  std::int64_t seed = 0;
  std::optional<bool> stratified;
  std::string by_group;  // empty: off; "folder", or a regular expression
  std::string fold;      // empty: off; "i/k"

  bool cuts_val() const { return val > 0 || !fold.empty(); }
  bool cuts_test() const { return test > 0; }
};

/// nnU-Net's list of folds, below root.
inline constexpr const char* kFoldFile = "splits_final.json";
/// Fold `index` of `count`, from 0: "0/5" is what nnU-Net calls fold_0.
struct Fold {
  std::int64_t index = 0;
  std::int64_t count = 0;
};
/// Nothing for a text that is not "i/k" with 0 <= i < k and k >= 2.
std::optional<Fold> parse_fold(std::string_view text);

/// What happens when a sample cannot be read (key on_bad_sample): the run ends with its name, or
/// the sample is left out and counted.
enum class OnBadSample { kFail, kSkip };
std::vector<std::pair<std::string, OnBadSample>> bad_sample_words();
inline constexpr const char* kBadSampleHelp =
    "whether a sample that cannot be read ends the run or is left out and counted";

struct SplitOptions {
  std::string root;  // empty: datasets/<type>
  std::vector<std::string> exclude;
  Limits limit;
  CutOptions split;
};
const schema::Fields<SplitOptions>& split_fields();

/// The lists of samples below root that exist; where root itself is missing, root. For
/// Fields::names_files.
std::vector<std::filesystem::path> lists_below(const std::string& root,
                                               const std::vector<std::string>& names);

/// The name of a file, or of a file and a record, relative to the root of its data set.
std::string below(const std::string& root, const std::string& name);

/// The samples that a limit keeps. Throws ConfigError if there are none.
std::vector<std::int64_t> limited(const std::vector<std::int64_t>& labels,
                                  std::vector<std::int64_t> indices, Split split,
                                  const Limits& limits);

}  // namespace fovea::data
