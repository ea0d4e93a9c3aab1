#include "verify/config.h"

#include <fmt/format.h>

#include <algorithm>

namespace fovea::verify {
namespace {

using schema::Value;

bool same_value(const Value& a, const Value& b) {
  if (a.is_number() && b.is_number()) return a.as_double() == b.as_double();
  if (!a.is_array() || !b.is_array()) return a == b;
  return std::equal(a.items().begin(), a.items().end(), b.items().begin(), b.items().end(),
                    same_value);
}

void add_unread(const Value& value, const std::string& path, const std::set<std::string>& read,
                std::vector<std::string>& unread) {
  if (read.contains(path)) return;
  const bool objects = value.is_array() && value.size() > 0 && value.at(0).is_object();
  if (value.is_object()) {
    for (const auto& member : value.members()) {
      if (member.key == "note") continue;
      add_unread(member.value, path.empty() ? member.key : path + "." + member.key, read, unread);
    }
  } else if (objects) {
    for (std::size_t i = 0; i < value.size(); ++i)
      add_unread(value.at(i), fmt::format("{}[{}]", path, i), read, unread);
  } else {
    unread.push_back(path);
  }
}

}  // namespace

Config::Config(Value value)
    : whole_(std::make_shared<Whole>(Whole{std::move(value), {}})), value_(&whole_->value) {}

Config::Config(std::shared_ptr<Whole> whole, const Value* value, std::string path)
    : whole_(std::move(whole)), value_(value), path_(std::move(path)) {}

std::string Config::path_of(const std::string& key) const {
  return path_.empty() ? key : path_ + "." + key;
}

const Value* Config::find(const std::string& key) const {
  const Value* found = value_->find(key);
  if (found != nullptr) whole_->read.insert(path_of(key));
  return found;
}

bool Config::given(const std::string& key) const {
  const Value* found = value_->find(key);
  if (found == nullptr) return false;
  if (found->is_null()) whole_->read.insert(path_of(key));
  return !found->is_null();
}

const Value& Config::value(const std::string& key) const {
  const Value* found = find(key);
  FOVEA_CHECK(found != nullptr, NotImplemented, fmt::format("config: {} is missing", path_of(key)));
  return *found;
}

std::int64_t Config::integer(const std::string& key) const {
  const Value& found = value(key);
  if (!found.is_integer()) refuse(key);
  return found.as_int();
}
double Config::number(const std::string& key) const {
  const Value& found = value(key);
  if (!found.is_number()) refuse(key);
  return found.as_double();
}
std::string Config::text(const std::string& key) const {
  const Value& found = value(key);
  if (!found.is_string()) refuse(key);
  return found.as_string();
}

std::int64_t Config::integer(const std::string& key, std::int64_t otherwise) const {
  return given(key) ? integer(key) : otherwise;
}
double Config::number(const std::string& key, double otherwise) const {
  return given(key) ? number(key) : otherwise;
}
std::string Config::text(const std::string& key, const std::string& otherwise) const {
  return given(key) ? text(key) : otherwise;
}
bool Config::flag(const std::string& key, bool otherwise) const {
  if (!given(key)) return otherwise;
  if (!value(key).is_bool()) refuse(key);
  return value(key).as_bool();
}

std::vector<std::int64_t> Config::integers(const std::string& key) const {
  std::vector<std::int64_t> numbers;
  if (!value(key).is_array()) refuse(key);
  for (const Value& item : value(key).items()) {
    if (!item.is_integer()) refuse(key);
    numbers.push_back(item.as_int());
  }
  return numbers;
}

std::vector<double> Config::numbers(const std::string& key) const {
  std::vector<double> numbers;
  if (!value(key).is_array()) refuse(key);
  for (const Value& item : value(key).items()) {
    if (!item.is_number()) refuse(key);
    numbers.push_back(item.as_double());
  }
  return numbers;
}

Config Config::at(const std::string& key) const {
  const Value* found = value_->find(key);
  FOVEA_CHECK(found != nullptr, NotImplemented, fmt::format("config: {} is missing", path_of(key)));
  if (!found->is_object() && !found->is_array()) refuse(key);
  return {whole_, found, path_of(key)};
}

Config Config::at(std::size_t index) const {
  return {whole_, &value_->at(index), fmt::format("{}[{}]", path_, index)};
}

std::vector<std::string> Config::keys() const {
  std::vector<std::string> keys;
  for (const auto& member : value_->members()) keys.push_back(member.key);
  return keys;
}

void Config::only(const std::string& key, const Value& expected) const {
  if (!given(key)) return;
  if (same_value(value(key), expected)) return;
  throw NotImplemented(fmt::format("config: {} is {}; only {} is implemented", path_of(key),
                                   value(key).dump(0), expected.dump(0)));
}

void Config::nothing_dropped(std::initializer_list<const char*> keys, bool training) const {
  for (const char* key : keys) {
    if (training) {
      only(key, 0);
    } else if (given(key)) {
      number(key);
    }
  }
}

void Config::describes(std::initializer_list<const char*> keys) const {
  for (const char* key : keys) find(key);
}

void Config::of_others(std::initializer_list<const char*> keys) const { describes(keys); }

void Config::refuse(const std::string& key) const {
  throw NotImplemented(
      fmt::format("config: {} {} is not implemented", path_of(key), value(key).dump(0)));
}

std::vector<std::string> Config::unread() const {
  std::vector<std::string> unread;
  add_unread(*value_, path_, whole_->read, unread);
  return unread;
}

}  // namespace fovea::verify
