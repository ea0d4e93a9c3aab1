#include "data/parts/published_parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <sstream>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "base/suggest.h"
#include "data/parts/folder.h"
#include "data/parts/image_pairs.h"
#include "data/parts/subset.h"

namespace fovea::data {
namespace {

constexpr std::uint64_t kDrawSeed = 42;  // that of the public code of gdla
constexpr Split kSplits[] = {Split::kTrain, Split::kVal, Split::kTest};

using Names = std::set<std::string>;

Names words_of(const char* text) {
  std::istringstream words(text);
  Names names;
  for (std::string word; words >> word;) names.insert(word);
  return names;
}

// The names a paper lists for a part; nothing where it has no list.
std::optional<Names> published(const std::string& set, Split split) {
#define FOVEA_PUBLISHED_PART(of, part, text) \
  if (set == #of && name_of(split) == #part) return words_of(text);
#include "data/parts/published_parts.def"
#undef FOVEA_PUBLISHED_PART
  return std::nullopt;
}

std::vector<std::int64_t> places_in(const std::vector<std::string>& ids, const Names& names) {
  std::vector<std::int64_t> places;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (names.contains(ids[i])) places.push_back(static_cast<std::int64_t>(i));
  }
  return places;
}

// Draws the parts of names that no paper lists.
Names drawn(const PartRule& rule, Split split, const Names& rest) {
  const std::vector<std::string> names(rest.begin(), rest.end());
  std::vector<std::int64_t> all(names.size());
  std::iota(all.begin(), all.end(), std::int64_t{0});
  const RandomStream stream = RandomStream(kDrawSeed).fork(rule.set);
  const SplitIndices test = random_split(all, rule.drawn.test, stream.fork("test"));
  const double share = rule.drawn.val / (1 - rule.drawn.test);
  const SplitIndices val = random_split(test.train, share, stream.fork("val"));
  Names part;
  for (const std::int64_t i : split == Split::kTest  ? test.val
                              : split == Split::kVal ? val.val
                                                     : val.train)
    part.insert(names[static_cast<std::size_t>(i)]);
  return part;
}

Names paper_part(const PartRule& rule, Split split, const Names& there,
                 std::vector<std::string>& notes) {
  Names rest = there;
  for (const Split other : kSplits) {
    const std::optional<Names> list = published(rule.set, other);
    if (!list) continue;
    for (const std::string& name : *list) rest.erase(name);
    if (other != split) continue;
    const auto missing = std::count_if(list->begin(), list->end(),
                                       [&](const auto& name) { return !there.contains(name); });
    if (missing > 0)
      notes.push_back(
          fmt::format("{}: {} of the {} names that the paper lists for {} have no files", rule.set,
                      missing, list->size(), name_of(split)));
    return *list;
  }
  return published(rule.set, Split::kTrain) ? Names() : drawn(rule, split, rest);
}

Names listed_part(const PartRule& rule, Split split, const Names& there) {
  std::map<Split, std::map<std::string, int>> lists;
  for (const Split s : kSplits) {
    if (has_list(rule.lists, s)) lists.emplace(s, names_in_list(rule.lists, s));
  }
  const auto file = [&](Split s) { return list_file(rule.lists, s).string(); };
  FOVEA_CHECK(lists.contains(Split::kTrain), FileError,
              fmt::format("dataset.parts: {}: not found; list the names of each part there, or "
                          "set dataset.parts to \"paper\" or \"all\"",
                          file(Split::kTrain)));
  Names part;
  for (const auto& [name, line] : lists[split]) {
    FOVEA_CHECK(there.contains(name), FileError,
                fmt::format("{}:{}: {}: no sample of this name{}", file(split), line, name,
                            did_you_mean(name, {there.begin(), there.end()})));
    for (const auto& [other, theirs] : lists) {
      FOVEA_CHECK(
          other == split || !theirs.contains(name), FileError,
          fmt::format("{}:{}: {} is also in {}.txt", file(split), line, name, name_of(other)));
    }
    part.insert(name);
  }
  return part;
}

}  // namespace

std::vector<std::int64_t> places_of_part(const PartRule& rule, Split split,
                                         const std::vector<std::string>& ids,
                                         std::vector<std::string>& notes) {
  const Names there(ids.begin(), ids.end());
  switch (rule.from) {
    case PartsFrom::kPaper:
      return places_in(ids, paper_part(rule, split, there, notes));
    case PartsFrom::kLists:
      return places_in(ids, listed_part(rule, split, there));
    case PartsFrom::kAll:
      break;
  }
  return split == Split::kTrain ? places_in(ids, there) : std::vector<std::int64_t>();
}

std::vector<std::filesystem::path> part_lists(const schema::Value& options) {
  if (options.at("parts").as_string() != "lists") return {};
  return lists_below(options.at("root").as_string(), part_names("splits", ".txt"));
}

std::vector<std::pair<std::string, PartsFrom>> parts_from_words() {
  return {{"paper", PartsFrom::kPaper}, {"lists", PartsFrom::kLists}, {"all", PartsFrom::kAll}};
}

}  // namespace fovea::data
