#include "data/parts/split.h"

#include <fmt/format.h>

#include <charconv>
#include <filesystem>
#include <regex>
#include <utility>

#include "base/error.h"
#include "data/parts/subset.h"

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

std::string complaint(const CutOptions& o) {
  if (o.val + o.test >= 1)
    return fmt::format("val is {} and test is {}; expected a sum below 1, the rest is train", o.val,
                       o.test);
  if (!o.fold.empty() && !parse_fold(o.fold))
    return fmt::format("fold is \"{}\"; expected \"i/k\" with i from 0 to k - 1, e.g. \"0/5\"",
                       o.fold);
  if (!o.fold.empty() && o.val > 0) return "val and fold are both given; choose one of them";
  try {
    const std::regex pattern(o.by_group);
  } catch (const std::regex_error&) {
    return fmt::format(
        "by_group is \"{}\"; expected \"folder\" or a regular expression (ECMAScript)", o.by_group);
  }
  return "";
}

Fields<CutOptions> make_cut_fields() {
  const auto share = at_least(0) && schema::less_than(1);
  return Fields<CutOptions>{}
      .add("val", &CutOptions::val, share,
           "share of train that is held out as val; 0: the val part that the data set comes with, "
           "if any")
      .add("test", &CutOptions::test, share,
           "share of train that is held out as test; 0: the test part that the data set comes "
           "with, if any")
      .add("seed", &CutOptions::seed, at_least(0),
           "seed of these draws, but for nnU-Net's folds; does not follow the seed of the run")
      .add("stratified", &CutOptions::stratified,
           "draw the shares within each class; null: where samples have classes, but for folds, "
           "which are then nnU-Net's")
      .add("by_group", &CutOptions::by_group,
           "samples of one group, such as a patient, never lie in two parts; val and test are then "
           "shares of the groups. \"folder\": the folder that a file is in; else a regular "
           "expression that is searched in a sample's name below root, whose first (...), or whole "
           "match, is the group")
      .add(
          "fold", &CutOptions::fold,
          "\"i/k\": fold i of k, counted from 0, is val, as nnU-Net has it: \"0/5\" is its fold_0. "
          "The folds of root/splits_final.json, or without that file those that nnU-Net would "
          "draw; with stratified true those of scikit-learn's StratifiedKFold")
      .check(complaint);
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
      .add("exclude", &SplitOptions::exclude,
           "names of samples that belong to no part: files below root, or files without folder and "
           "ending, which are the names of nnU-Net's cases")
      .add_object("limit", &SplitOptions::limit, limits,
                  "number of samples kept of each split: the first of every class in turn")
      .add_object("split", &SplitOptions::split, make_cut_fields(),
                  "parts that are cut from train; a part of that name that the data set comes "
                  "with is then not used")
      .names_files([](const schema::Value& o) -> std::vector<std::filesystem::path> {
        if (o.at("split").at("fold").as_string().empty()) return {};
        return lists_below(o.at("root").as_string(), {kFoldFile});
      });
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
  throw ConfigError(fmt::format("dataset: has no split \"{}\"", name));
}

std::vector<std::pair<std::string, OnBadSample>> bad_sample_words() {
  return {{"fail", OnBadSample::kFail}, {"skip", OnBadSample::kSkip}};
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
    case Kind::kLabelMaps:
      return "images with maps of labels";
    case Kind::kTexts:
      return "texts";
    case Kind::kBoxes:
      return "images with boxes";
    case Kind::kStreams:
      return "streams of text";
    case Kind::kSpeech:
      return "recordings with transcripts";
  }
  return "";
}

std::vector<std::filesystem::path> lists_below(const std::string& root,
                                               const std::vector<std::string>& names) {
  std::error_code code;
  if (!std::filesystem::is_directory(root, code)) return {root};
  std::vector<std::filesystem::path> found;
  for (const std::string& name : names) {
    const std::filesystem::path file = std::filesystem::path(root) / name;
    if (std::filesystem::exists(file, code)) found.push_back(file);
  }
  return found;
}

void no_split(Split split) {
  const std::string hint =
      split != Split::kTrain
          ? fmt::format("; set dataset.split.{} to cut one from train", name_of(split))
          : std::string();
  throw ConfigError(fmt::format("dataset: has no split \"{}\"{}", name_of(split), hint));
}

std::optional<Fold> parse_fold(std::string_view text) {
  Fold fold;
  const char* end = text.data() + text.size();
  const auto index = std::from_chars(text.data(), end, fold.index);
  if (index.ec != std::errc() || index.ptr == end || *index.ptr != '/') return std::nullopt;
  const auto count = std::from_chars(index.ptr + 1, end, fold.count);
  if (count.ec != std::errc() || count.ptr != end) return std::nullopt;
  if (fold.index < 0 || fold.count < 2 || fold.index >= fold.count) return std::nullopt;
  return fold;
}

std::string below(const std::string& root, const std::string& name) {
  const std::string prefix = (std::filesystem::path(root) / "").string();
  return name.starts_with(prefix) ? name.substr(prefix.size()) : name;
}

std::vector<std::int64_t> limited(const std::vector<std::int64_t>& labels,
                                  std::vector<std::int64_t> indices, Split split,
                                  const Limits& limits) {
  if (const auto limit = limit_of(limits, split))
    indices = balanced_subset(labels, indices, *limit);
  FOVEA_CHECK(!indices.empty(), ConfigError,
              fmt::format("dataset: split {} is left without samples; check dataset.limit and "
                          "dataset.split",
                          name_of(split)));
  return indices;
}

}  // namespace fovea::data
