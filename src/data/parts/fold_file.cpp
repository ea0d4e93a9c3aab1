// The folds of nnU-Net's splits_final.json and the names that it knows samples by.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <unordered_map>
#include <unordered_set>

#include "base/error.h"
#include "base/file.h"
#include "base/suggest.h"
#include "data/parts/division.h"
#include "schema/json/parse.h"

namespace fovea::data {
namespace {

using schema::Value;

// "a/b.nii.gz" and "a/b.png" give "a/b"; "a.csv:12" is a record and has no ending.
std::string without_ending(const std::string& name) {
  const std::size_t dot = name.rfind('.');
  const std::size_t slash = name.rfind('/');
  const std::size_t first = slash == std::string::npos ? 0 : slash + 1;
  if (dot == std::string::npos || dot <= first) return name;
  const bool ending = std::all_of(name.begin() + static_cast<std::ptrdiff_t>(dot) + 1, name.end(),
                                  [](unsigned char c) { return std::isalnum(c) != 0; });
  if (!ending) return name;
  std::string stem = name.substr(0, dot);
  if (name.substr(dot) == ".gz" && stem.ends_with(".nii")) stem.resize(stem.size() - 4);
  return stem;
}

bool all_differ(const std::vector<std::string>& names) {
  return std::unordered_set<std::string>(names.begin(), names.end()).size() == names.size();
}

Value read(const std::string& file) {
  const std::string text = io::read_text(file);
  schema::Limits limits;
  limits.bytes = text.size();
  return schema::parse(text, file, limits);
}

SplitIndices choose(const Value& folds, const std::string& file,
                    const std::vector<std::string>& cases, const Fold& fold) {
  FOVEA_CHECK(folds.is_array() && std::ssize(folds.items()) == fold.count, FileError,
              fmt::format("{}: holds {} folds; expected {}, as dataset.split.fold says", file,
                          folds.size(), fold.count));
  std::unordered_map<std::string, std::int64_t> place_of;
  for (std::size_t i = 0; i < cases.size(); ++i)
    place_of.emplace(cases[i], static_cast<std::int64_t>(i));
  std::unordered_set<std::int64_t> seen;
  const auto part = [&](const char* name) {
    std::vector<std::int64_t> places;
    for (const Value& item : folds.at(static_cast<std::size_t>(fold.index)).at(name).items()) {
      const std::string& wanted = item.as_string();
      const auto found = place_of.find(wanted);
      FOVEA_CHECK(found != place_of.end(), FileError,
                  fmt::format("{}: fold {}, {}: no sample \"{}\" in train{}", file, fold.index,
                              name, wanted, did_you_mean(wanted, cases)));
      FOVEA_CHECK(seen.insert(found->second).second, FileError,
                  fmt::format("{}: fold {}: \"{}\" is named twice", file, fold.index, wanted));
      places.push_back(found->second);
    }
    std::sort(places.begin(), places.end());
    return places;
  };
  std::vector<std::int64_t> train = part("train");
  return {std::move(train), part("val")};
}

}  // namespace

std::vector<std::string> case_names(const std::vector<std::string>& names) {
  std::vector<std::string> paths, stems;
  for (const std::string& name : names) {
    paths.push_back(without_ending(name));
    const std::size_t slash = paths.back().rfind('/');
    stems.push_back(slash == std::string::npos ? paths.back() : paths.back().substr(slash + 1));
  }
  return all_differ(stems) ? stems : all_differ(paths) ? paths : names;
}

SplitIndices listed_fold(const std::string& file, const std::vector<std::string>& cases,
                         const Fold& fold) {
  try {
    return choose(read(file), file, cases, fold);
  } catch (const ConfigError& error) {  // of the parser, with the place in the file
    throw FileError(error.what());
  }
}

}  // namespace fovea::data
