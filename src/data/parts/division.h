// Which samples make a part of a data set: all of what its files provide, or what `dataset.split`
// cuts from its train part. One rule for images, images with masks and texts.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "data/parts/split.h"
#include "data/parts/subset.h"

namespace fovea::data {

/// The samples of a part before they are read.
struct Samples {
  std::vector<std::int64_t> labels;
  std::vector<std::string> names;  // below root
  bool has_classes = true;
};

/// Some samples of a part that the files provide.
struct Places {
  Split part = Split::kTrain;
  std::vector<std::int64_t> indices;  // ascending
};

/// Rules of a data set besides `dataset.split`.
struct DivisionRules {
  std::int64_t val_every = 0;  // regular_split instead of a draw; 0: off
  bool lists_test = false;     // names of the test samples are listed: nothing is drawn
};

class Division {
 public:
  /// The samples of a part as the files provide it, null if there is none; train is always there.
  /// Only called for parts that are used.
  using Own = std::function<const Samples*(Split)>;
  Division(const SplitOptions& options, const DivisionRules& rules, Own own);

  /// Nothing for a part that is not there. Throws ConfigError for a part without samples and for
  /// what does not fit the data, FileError for a splits_final.json that does not.
  std::optional<Places> find(Split split);
  /// Throws ConfigError if there is neither val nor test, and if a group lies in two parts.
  void check();
  /// Throws ConfigError for a name in dataset.exclude that no sample has, of the parts that were
  /// asked for.
  void check_exclude() const;
  /// How many samples dataset.exclude has left out of which part, one line each.
  std::vector<std::string> notes() const;

 private:
  struct Cut {
    std::vector<std::int64_t> train, val, test;
  };
  const Cut& cut();
  /// Ascending positions of what dataset.exclude leaves of a part that the files provide.
  const std::vector<std::int64_t>& kept(Split part, const Samples& samples);
  SplitIndices hold_out_val(const Samples& train, const std::vector<std::int64_t>& indices) const;
  bool cuts_val() const { return options_.split.cuts_val() || rules_.val_every > 0; }
  bool cuts_test() const { return options_.split.cuts_test() && !rules_.lists_test; }

  SplitOptions options_;
  DivisionRules rules_;
  Own own_;
  std::optional<Cut> cut_;
  std::map<Split, std::vector<std::int64_t>> kept_;
  std::map<Split, std::size_t> sizes_;  // before anything is excluded
  std::set<std::string> excluded_;      // names of dataset.exclude that were found
  std::vector<std::string> known_;      // names of all cases, for messages
};

/// The groups of `dataset.split.by_group`.
class Grouping {
 public:
  explicit Grouping(const std::string& by_group);
  /// Throws ConfigError for a name without a group.
  std::string group_of(const std::string& name) const;

 private:
  struct Pattern;  // <regex> is long
  std::string text_;
  std::shared_ptr<const Pattern> pattern_;
};

/// nnU-Net's names of the samples: file names without folder and ending; where two are equal, with
/// the folder, then with the ending too.
std::vector<std::string> case_names(const std::vector<std::string>& names);

/// Fold of a splits_final.json, a list of {"train": [...], "val": [...]}: positions in `cases`.
/// Cases that it does not name belong to neither. Throws FileError.
SplitIndices listed_fold(const std::string& file, const std::vector<std::string>& cases,
                         const Fold& fold);

}  // namespace fovea::data
