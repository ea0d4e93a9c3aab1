#include "training/store/foreign_weights.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/hash.h"
#include "models/vit/other_names.h"
#include "training/positions.h"
#include "training/store/model_file.h"
#include "training/store/weights_file.h"

namespace fovea::training {
namespace {

using Tensors = std::map<std::string, Tensor>;

// Gives every tensor the name that `change` makes of its own.
template <class Change>
Tensors with_names(const Tensors& tensors, const std::string& flag, Change change) {
  Tensors result;
  std::map<std::string, std::string> before;
  bool changed = false;
  for (const auto& [name, tensor] : tensors) {
    const std::string now = change(name);
    changed = changed || now != name;
    const auto [other, added] = before.emplace(now, name);
    FOVEA_CHECK(
        added, ConfigError,
        fmt::format("{}: {} and {} would both be called \"{}\"", flag, other->second, name, now));
    result.emplace(now, tensor);
  }
  FOVEA_CHECK(changed, ConfigError,
              fmt::format("{}: changes no name of the file, which has {}{}", flag,
                          tensors.empty() ? "none" : tensors.begin()->first,
                          tensors.size() > 1 ? ", ..., " + tensors.rbegin()->first : ""));
  return result;
}

std::string without_prefix(const std::string& name, const std::string& prefix) {
  return name.starts_with(prefix) ? name.substr(prefix.size()) : name;
}

struct Renaming {
  std::string from, to;
  bool at_start = false;
};

Renaming parse_renaming(const std::string& text) {
  const std::size_t equals = text.find('=');
  FOVEA_CHECK(equals != std::string::npos && equals > 0, ConfigError,
              fmt::format("--rename {}: expected OLD=NEW, or ^OLD=NEW for the beginning", text));
  Renaming renaming{text.substr(0, equals), text.substr(equals + 1), text[0] == '^'};
  if (renaming.at_start) renaming.from.erase(0, 1);
  return renaming;
}

std::string replaced(std::string name, const Renaming& r) {
  if (r.at_start) {
    return name.starts_with(r.from) ? r.to + name.substr(r.from.size()) : name;
  }
  for (std::size_t at = name.find(r.from); at != std::string::npos;
       at = name.find(r.from, at + r.to.size())) {
    name.replace(at, r.from.size(), r.to);
  }
  return name;
}

std::vector<std::string> names_in(const schema::Value& record, const char* key) {
  std::vector<std::string> names;
  const schema::Value* list = record.find(key);  // older programs wrote fewer
  if (list == nullptr) return names;
  for (const schema::Value& name : list->items()) names.push_back(name.as_string());
  return names;
}

bool contains(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

std::string some_of(const std::vector<std::string>& names) {
  constexpr std::size_t kMostListed = 8;
  const std::size_t listed = std::min(names.size(), kMostListed);
  std::string text = fmt::format(
      "{}", fmt::join(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(listed), ", "));
  if (names.size() > listed) text += fmt::format(" and {} more", names.size() - listed);
  return text;
}

}  // namespace

Tensors renamed(const Tensors& tensors, const ForeignWeights& from) {
  Tensors result = nn::without_wrapper(tensors);
  for (const std::string& prefix : from.strip_prefix) {
    result = with_names(result, "--strip-prefix " + prefix,
                        [&](const std::string& name) { return without_prefix(name, prefix); });
  }
  for (const std::string& text : from.rename) {
    const Renaming renaming = parse_renaming(text);
    result = with_names(result, "--rename " + text,
                        [&](const std::string& name) { return replaced(name, renaming); });
  }
  return models::timm_tensors(result, models::names_of(from.names), from.file.string());
}

nn::LoadReport load_foreign(models::Model& model, const ForeignWeights& from, const Device& host) {
  const std::string file = from.file.string();
  Tensors tensors = renamed(is_model_file(from.file) ? read_model_file(from.file, host).weights
                                                     : read_safetensors(from.file, host).tensors,
                            from);
  if (from.interpolate_pos_embed) {
    const auto own = named_tensors(model);
    const auto to = own.find("pos_embed");
    const auto given = tensors.find("pos_embed");
    FOVEA_CHECK(to != own.end() && given != tensors.end(), ConfigError,
                fmt::format("--interpolate-pos-embed: {} has no pos_embed",
                            to == own.end() ? "the network" : file));
    const attention::Context geometry = model.geometry();
    const std::int64_t rows = to->second.size(1), patches = geometry.grid_h * geometry.grid_w;
    const std::int64_t prefix = rows == patches ? 0 : geometry.prefix_tokens;  // no_embed_class: 0
    given->second =
        resample_positions(given->second, {prefix, geometry.grid_h, geometry.grid_w, rows}, file);
  }
  return load_weights(model, tensors, file, from.options);
}

schema::Value to_value(const nn::LoadReport& report) {
  using schema::Value;
  return Value::object({{"loaded", report.loaded},
                        {"random", Value::array(report.random)},
                        {"left_out", Value::array(report.left_out)},
                        {"other_shape", Value::array(report.other_shape)},
                        {"unused", Value::array(report.unused)},
                        {"known_unused", Value::array(report.known_unused)}});
}

schema::Value to_value(const ForeignWeights& from, const nn::LoadReport& report) {
  schema::Value record = schema::Value::object(
      {{"file", from.file.string()}, {"hash", hash_file(weights_file(from.file))}});
  const schema::Value lists = to_value(report);
  for (const auto& member : lists.members()) record.set(member.key, member.value);
  return record;
}

std::string random_text(const schema::Value& init) {
  const bool told = init.find("left_out") != nullptr;
  const std::vector<std::string> left_out = names_in(init, "left_out");
  const std::vector<std::string> other_shape = names_in(init, "other_shape");
  std::vector<std::string> missing = names_in(init, "random");
  std::erase_if(missing, [&](const std::string& name) {
    return contains(left_out, name) || contains(other_shape, name);
  });
  std::string text;
  const auto add = [&](const std::vector<std::string>& names, const char* why) {
    if (!names.empty())
      text += fmt::format("{}{}: {}", text.empty() ? "" : "; ", some_of(names), why);
  };
  add(missing, told ? "random, not in the file" : "random, not taken from the file");
  add(left_out, "random, left out as asked");
  add(other_shape, "random, of another shape in the file");
  add(names_in(init, "known_unused"), "not read, no part of this network uses them");
  return text;
}

}  // namespace fovea::training
