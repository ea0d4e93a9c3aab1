#include "training/store/data_identity.h"

#include <fmt/format.h>

#include <set>
#include <string>

#include "base/error.h"
#include "base/file.h"
#include "data/parts/split.h"
#include "schema/json/parse.h"

namespace fovea::training {
namespace {

using schema::Value;

constexpr const char* kAdvice =
    "bring the data back to what they were, or train into a new folder with --out";

Value parse_lists(const std::string& text, const std::string& file) {
  schema::Limits limits;
  limits.bytes = text.size();
  try {
    return schema::parse(text, file, limits);
  } catch (const ConfigError& error) {
    throw FileError(fmt::format("{}: damaged: {}", file, error.what()));
  }
}

std::set<std::string> names_of(const Value& list) {
  std::set<std::string> names;
  for (const Value& name : list.items()) names.insert(name.as_string());
  return names;
}

// The first difference of two objects of lists.
std::string difference(const Value& before, const Value& now) {
  for (const data::Split split : {data::Split::kTrain, data::Split::kVal, data::Split::kTest}) {
    const std::string_view part = data::name_of(split);
    const Value* old_list = before.find(part);
    const Value* new_list = now.find(part);
    if (old_list == nullptr && new_list == nullptr) continue;
    if (old_list == nullptr) return fmt::format("there was no {} part", part);
    if (new_list == nullptr) return fmt::format("there is no {} part any more", part);
    if (*old_list == *new_list) continue;
    const std::set<std::string> was = names_of(*old_list), is = names_of(*new_list);
    const std::string counts =
        fmt::format("{} has {} samples, it had {}", part, new_list->size(), old_list->size());
    for (const std::string& name : is) {
      if (was.count(name) == 0) return fmt::format("{}; {} is new", counts, name);
    }
    for (const std::string& name : was) {
      if (is.count(name) == 0) return fmt::format("{}; {} is gone", counts, name);
    }
    return fmt::format("the samples of {} have another order", part);
  }
  return "";
}

}  // namespace

void refuse_other_data(const Value& before, const Value& now,
                       const std::filesystem::path& run_folder) {
  if (before.is_null() || now.is_null()) return;
  if (before.at("hash") == now.at("hash") && before.at("samples") == now.at("samples")) return;
  std::string what;
  for (const Value::Member& part : now.at("samples").members()) {
    const Value* had = before.at("samples").find(part.key);
    if (had != nullptr && *had == part.value) continue;
    what += fmt::format("{}{} has {} samples, it had {}", what.empty() ? "" : ", ", part.key,
                        part.value.as_int(), had == nullptr ? 0 : had->as_int());
  }
  for (const Value::Member& part : before.at("samples").members()) {
    if (now.at("samples").find(part.key) == nullptr)
      what += fmt::format("{}there is no {} part any more", what.empty() ? "" : ", ", part.key);
  }
  if (what.empty()) what = "as many samples, but other files or other content of files";
  throw FileError(fmt::format("{}: the data are not those this run began with: {}; {}",
                              run_folder.string(), what, kAdvice));
}

void keep_sample_lists(const std::string& now, const std::filesystem::path& run_folder) {
  const std::filesystem::path file = run_folder / "splits.json";
  if (!io::fs::exists(file)) {
    io::write_atomic(file, now);
    return;
  }
  const std::string before = io::read_text(file);
  if (before == now) return;
  const std::string what =
      difference(parse_lists(before, file.string()), parse_lists(now, "the data set"));
  FOVEA_CHECK(what.empty(), FileError,
              fmt::format("{}: the samples are not those this run began with: {}; {}",
                          file.string(), what, kAdvice));
}

std::vector<std::string> sample_list(const std::filesystem::path& run_folder, data::Split split) {
  const std::filesystem::path file = run_folder / "splits.json";
  const Value lists = parse_lists(io::read_text(file), file.string());
  std::vector<std::string> names;
  if (const Value* list = lists.find(data::name_of(split))) {
    for (const Value& name : list->items()) names.push_back(name.as_string());
  }
  return names;
}

}  // namespace fovea::training
