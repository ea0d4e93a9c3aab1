// The configuration of a golden case, which remembers what was read of it. A word that nothing read
// is an option that the toolkit does not have: the case is not implemented, whatever its numbers.
#pragma once

#include <initializer_list>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "schema/json/value.h"

namespace fovea::verify {

/// Thrown for a configuration that the toolkit does not have.
class NotImplemented : public Error {
 public:
  using Error::Error;
};

class Config {
 public:
  /// The whole configuration, an object, or an array of such.
  explicit Config(schema::Value value = schema::Value::object());

  /// There, perhaps null. Asking is not reading.
  bool has(const std::string& key) const { return value_->find(key) != nullptr; }
  /// There and not null. A null counts as read: the option is not used.
  bool given(const std::string& key) const;
  /// A value with all that lies in it. Throws NotImplemented if the key is missing.
  const schema::Value& value(const std::string& key) const;

  // Throw NotImplemented for a value of another type and, without a default, for a missing one.
  std::int64_t integer(const std::string& key) const;
  std::int64_t integer(const std::string& key, std::int64_t otherwise) const;
  double number(const std::string& key) const;
  double number(const std::string& key, double otherwise) const;
  bool flag(const std::string& key, bool otherwise = false) const;
  std::string text(const std::string& key) const;
  std::string text(const std::string& key, const std::string& otherwise) const;
  std::vector<std::int64_t> integers(const std::string& key) const;
  std::vector<double> numbers(const std::string& key) const;

  /// What lies in an object or array under a key, or in an item of this array.
  Config at(const std::string& key) const;
  Config at(std::size_t index) const;
  /// Whether that is an array. Asking is not reading.
  bool holds_array(const std::string& key) const {
    return has(key) && value_->find(key)->is_array();
  }
  std::size_t size() const { return value_->size(); }
  std::vector<std::string> keys() const;

  /// The meaning of a word. Throws NotImplemented for any other than those listed.
  template <class T>
  T choice(const std::string& key, std::initializer_list<std::pair<const char*, T>> words,
           T otherwise) const {
    if (!given(key)) return otherwise;
    const std::string word = text(key);
    for (const auto& [name, meaning] : words) {
      if (word == name) return meaning;
    }
    refuse(key);
  }

  /// A property that is fixed here: NotImplemented where the case has another value.
  void only(const std::string& key, const schema::Value& expected) const;
  /// Probabilities of dropping, which mean nothing in evaluation: in training only 0.
  void nothing_dropped(std::initializer_list<const char*> keys, bool training) const;
  /// Words for people, about the data of the case.
  void describes(std::initializer_list<const char*> keys) const;
  /// Options of other operators of the paper, which stand in every case of a network.
  void of_others(std::initializer_list<const char*> keys) const;
  /// Throws NotImplemented: the value of this key is none that the toolkit has.
  [[noreturn]] void refuse(const std::string& key) const;

  /// Paths of what nothing has read; "note" is for people.
  std::vector<std::string> unread() const;

 private:
  struct Whole {
    schema::Value value;
    std::set<std::string> read;
  };
  Config(std::shared_ptr<Whole> whole, const schema::Value* value, std::string path);
  std::string path_of(const std::string& key) const;
  const schema::Value* find(const std::string& key) const;

  std::shared_ptr<Whole> whole_;
  const schema::Value* value_;
  std::string path_;
};

}  // namespace fovea::verify
