#include "data/parts/division.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <map>
#include <numeric>
#include <regex>
#include <utility>

#include "base/error.h"
#include "base/suggest.h"

namespace fovea::data {
namespace {

// A unit that is drawn as a whole: a sample, or all samples of a group.
struct Unit {
  std::string name;
  std::int64_t label = 0;
  std::vector<std::int64_t> members;
};

// The most frequent label of a group, the smallest of equally frequent ones.
std::int64_t usual_label(const Samples& samples, const std::vector<std::int64_t>& members) {
  std::map<std::int64_t, std::int64_t> counts;
  for (const std::int64_t i : members) ++counts[samples.labels[static_cast<std::size_t>(i)]];
  const auto more = [](const auto& a, const auto& b) { return a.second < b.second; };
  return std::max_element(counts.begin(), counts.end(), more)->first;
}

// Single samples in the order of the files, groups in the order of their names.
std::vector<Unit> units_of(const Samples& samples, const std::vector<std::int64_t>& indices,
                           const std::string& by_group) {
  std::vector<Unit> units;
  if (by_group.empty()) {
    for (const std::int64_t i : indices) {
      const auto at = static_cast<std::size_t>(i);
      units.push_back({samples.names[at], samples.labels[at], {i}});
    }
    return units;
  }
  const Grouping grouping(by_group);
  std::map<std::string, std::vector<std::int64_t>> groups;
  for (const std::int64_t i : indices)
    groups[grouping.group_of(samples.names[static_cast<std::size_t>(i)])].push_back(i);
  for (auto& [name, members] : groups) {
    const std::int64_t label = usual_label(samples, members);
    units.push_back({name, label, std::move(members)});
  }
  return units;
}

std::vector<std::int64_t> all_of(std::size_t n) {
  std::vector<std::int64_t> indices(n);
  std::iota(indices.begin(), indices.end(), std::int64_t{0});
  return indices;
}

// Both ascending.
void keep_only(const std::vector<std::int64_t>& allowed, std::vector<std::int64_t>& indices) {
  std::vector<std::int64_t> both;
  std::set_intersection(indices.begin(), indices.end(), allowed.begin(), allowed.end(),
                        std::back_inserter(both));
  indices = std::move(both);
}

std::vector<std::int64_t> members_of(const std::vector<Unit>& units,
                                     const std::vector<std::int64_t>& chosen) {
  std::vector<std::int64_t> indices;
  for (const std::int64_t u : chosen) {
    const auto& members = units[static_cast<std::size_t>(u)].members;
    indices.insert(indices.end(), members.begin(), members.end());
  }
  std::sort(indices.begin(), indices.end());
  return indices;
}

SplitIndices members_of(const std::vector<Unit>& units, const SplitIndices& chosen) {
  return {members_of(units, chosen.train), members_of(units, chosen.val)};
}

std::vector<std::int64_t> labels_of(const std::vector<Unit>& units) {
  std::vector<std::int64_t> labels;
  for (const Unit& unit : units) labels.push_back(unit.label);
  return labels;
}

void check_classes(const Samples& samples, const CutOptions& o) {
  FOVEA_CHECK(samples.has_classes || !o.stratified.value_or(false), ConfigError,
              "dataset.split.stratified: is true, but samples with masks have no classes; expected "
              "false or null");
}

// A share of the samples. `plain` is the stream where classes do not matter.
SplitIndices draw(const Samples& samples, const std::vector<std::int64_t>& indices,
                  const CutOptions& o, double share, const RandomStream& stream,
                  const RandomStream& plain) {
  check_classes(samples, o);
  const std::vector<Unit> units = units_of(samples, indices, o.by_group);
  const std::vector<std::int64_t> all = all_of(units.size());
  if (!o.stratified.value_or(samples.has_classes))
    return members_of(units, random_split(all, share, plain));
  return members_of(units, stratified_split(labels_of(units), all, share, stream));
}

// Units that nnU-Net would hold out, among cases of these names.
std::vector<std::int64_t> held_out_of_sorted(const std::vector<std::string>& cases,
                                             const Fold& fold) {
  std::vector<std::int64_t> order = all_of(cases.size());
  std::sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) {
    return cases[static_cast<std::size_t>(a)] < cases[static_cast<std::size_t>(b)];
  });
  std::vector<std::int64_t> held;
  for (const std::int64_t place : held_out_of_fold(std::ssize(cases), fold.index, fold.count))
    held.push_back(order[static_cast<std::size_t>(place)]);
  return held;
}

// Without a list of folds.
SplitIndices drawn_fold(const Samples& samples, const std::vector<std::int64_t>& indices,
                        const CutOptions& o, const Fold& fold) {
  check_classes(samples, o);
  const std::vector<Unit> units = units_of(samples, indices, o.by_group);
  FOVEA_CHECK(
      std::ssize(units) >= fold.count, ConfigError,
      fmt::format("dataset.split.fold: {} folds of {} samples or groups in train; expected at "
                  "most as many",
                  fold.count, units.size()));
  std::vector<std::string> names;
  for (const Unit& unit : units) names.push_back(unit.name);
  const std::vector<std::int64_t> held =
      o.stratified.value_or(false)
          ? held_out_of_stratified_fold(labels_of(units), fold.index, fold.count,
                                        static_cast<std::uint32_t>(o.seed))
          : held_out_of_sorted(o.by_group.empty() ? case_names(names) : names, fold);
  SplitIndices result;
  std::vector<bool> is_held(units.size(), false);
  for (const std::int64_t unit : held) is_held[static_cast<std::size_t>(unit)] = true;
  for (std::size_t u = 0; u < units.size(); ++u)
    (is_held[u] ? result.val : result.train).push_back(static_cast<std::int64_t>(u));
  return members_of(units, result);
}

SplitIndices fold_of(const Samples& samples, const std::vector<std::int64_t>& indices,
                     const SplitOptions& options, bool test_was_cut) {
  const Fold fold = *parse_fold(options.split.fold);
  const std::filesystem::path file = std::filesystem::path(options.root) / kFoldFile;
  std::error_code code;
  if (std::filesystem::exists(file, code)) {
    FOVEA_CHECK(!test_was_cut, ConfigError,
                fmt::format("dataset.split.test: would take samples from train that {} has in its "
                            "folds; set it to 0 or remove the file",
                            file.string()));
    return listed_fold(file.string(), case_names(samples.names), fold);
  }
  return drawn_fold(samples, indices, options.split, fold);
}

}  // namespace

struct Grouping::Pattern {
  std::regex regex;
};

Grouping::Grouping(const std::string& by_group)
    : text_(by_group),
      pattern_(new Pattern{std::regex(by_group, std::regex::ECMAScript | std::regex::optimize)}) {}

std::string Grouping::group_of(const std::string& name) const {
  if (text_ == "folder") return std::filesystem::path(name).parent_path().string();
  std::smatch match;
  const bool found = std::regex_search(name, match, pattern_->regex);
  const std::size_t which = match.size() > 1 ? 1 : 0;
  FOVEA_CHECK(
      found && match[which].length() > 0, ConfigError,
      fmt::format("dataset.split.by_group: \"{}\" finds nothing in {}; expected a group for "
                  "every sample",
                  text_, name));
  return match[which].str();
}

Division::Division(const SplitOptions& options, const DivisionRules& rules, Own own)
    : options_(options), rules_(rules), own_(std::move(own)) {}

SplitIndices Division::hold_out_val(const Samples& train,
                                    const std::vector<std::int64_t>& indices) const {
  const CutOptions& o = options_.split;
  if (rules_.val_every > 0) return regular_split(train.labels, indices, rules_.val_every);
  if (!o.fold.empty()) return fold_of(train, indices, options_, cuts_test());
  const RandomStream stream = RandomStream(static_cast<std::uint64_t>(o.seed)).fork("val_split");
  // Both shares are of the whole train part; test has been taken away already. Without classes all
  // samples are drawn as class 0 would be.
  const double share = cuts_test() ? o.val / (1 - o.test) : o.val;
  return draw(train, indices, o, share, stream, stream.fork(std::uint64_t{0}));
}

const std::vector<std::int64_t>& Division::kept(Split part, const Samples& samples) {
  const auto [found, added] = kept_.try_emplace(part);
  std::vector<std::int64_t>& kept = found->second;
  if (!added) return kept;
  const std::vector<std::string>& wanted = options_.exclude;
  if (wanted.empty()) return kept = all_of(samples.labels.size());
  sizes_[part] = samples.names.size();
  const std::vector<std::string> cases = case_names(samples.names);
  known_.insert(known_.end(), cases.begin(), cases.end());
  for (std::size_t i = 0; i < samples.names.size(); ++i) {
    const auto is_meant = [&](const std::string& name) {
      return name == samples.names[i] || name == cases[i];
    };
    const auto match = std::find_if(wanted.begin(), wanted.end(), is_meant);
    if (match == wanted.end()) {
      kept.push_back(static_cast<std::int64_t>(i));
    } else {
      excluded_.insert(*match);
    }
  }
  return kept;
}

void Division::check_exclude() const {
  for (const std::string& name : options_.exclude) {
    FOVEA_CHECK(
        excluded_.contains(name), ConfigError,
        fmt::format("dataset.exclude: \"{}\": no sample of this name{}; names are like {}", name,
                    did_you_mean(name, known_), known_.empty() ? "" : known_.front()));
  }
}

std::vector<std::string> Division::notes() const {
  std::vector<std::string> notes;
  for (const auto& [part, size] : sizes_) {
    const std::size_t left = kept_.at(part).size();
    if (left == size) continue;
    notes.push_back(fmt::format("dataset.exclude: {} of {} samples of {} left out", size - left,
                                size, name_of(part)));
  }
  return notes;
}

const Division::Cut& Division::cut() {
  if (cut_) return *cut_;
  const Samples& train = *own_(Split::kTrain);
  const CutOptions& o = options_.split;
  Cut cut{kept(Split::kTrain, train), {}, {}};
  if (cuts_test()) {
    const RandomStream stream = RandomStream(static_cast<std::uint64_t>(o.seed)).fork("test_split");
    SplitIndices parts = draw(train, cut.train, o, o.test, stream, stream);
    cut.train = std::move(parts.train);
    cut.test = std::move(parts.val);
  }
  if (cuts_val()) {
    SplitIndices parts = hold_out_val(train, cut.train);
    cut.train = std::move(parts.train);
    cut.val = std::move(parts.val);
    // (A list of folds may name them.)
    keep_only(kept(Split::kTrain, train), cut.train);
    keep_only(kept(Split::kTrain, train), cut.val);
  }
  cut_ = std::move(cut);
  return *cut_;
}

std::optional<Places> Division::find(Split split) {
  const bool from_train = split == Split::kTrain || (split == Split::kVal && cuts_val()) ||
                          (split == Split::kTest && cuts_test());
  Places places{from_train ? Split::kTrain : split, {}};
  const Samples* samples = own_(places.part);
  if (samples == nullptr) return std::nullopt;
  if (from_train) {
    const Cut& parts = cut();
    places.indices = split == Split::kTrain ? parts.train
                     : split == Split::kVal ? parts.val
                                            : parts.test;
  } else {
    places.indices = kept(places.part, *samples);
  }
  places.indices = limited(samples->labels, std::move(places.indices), split, options_.limit);
  return places;
}

void Division::check() {
  const Grouping grouping(options_.split.by_group);
  std::map<std::string, Split> group_in;
  int held_out = 0;
  for (const Split split : {Split::kTrain, Split::kVal, Split::kTest}) {
    const std::optional<Places> places = find(split);
    if (!places) continue;
    held_out += split != Split::kTrain ? 1 : 0;
    if (options_.split.by_group.empty()) continue;
    for (const std::int64_t i : places->indices) {
      const std::string& name = own_(places->part)->names[static_cast<std::size_t>(i)];
      const std::string group = grouping.group_of(name);
      const auto [known, added] = group_in.emplace(group, split);
      FOVEA_CHECK(added || known->second == split, ConfigError,
                  fmt::format("dataset.split.by_group: group \"{}\" lies in {} and in {} ({}); "
                              "these parts come with the data and cannot be kept apart",
                              group, name_of(known->second), name_of(split), name));
    }
  }
  FOVEA_CHECK(held_out > 0, ConfigError,
              fmt::format("dataset.split: {} has neither a val nor a test part; set "
                          "dataset.split.test or dataset.split.val to a share of train, or "
                          "dataset.split.fold",
                          options_.root));
}

}  // namespace fovea::data
