#include "schema/renamed.h"

#include <fmt/format.h>

#include <array>
#include <map>
#include <optional>

#include "base/error.h"
#include "schema/load.h"

namespace fovea::schema {
namespace {

std::string first_key(const std::string& path) { return path.substr(0, path.find('.')); }

// Removes the value at a dotted path and returns it.
std::optional<Value::Member> take(Value& object, const std::string& path) {
  if (!object.is_object()) return std::nullopt;
  const std::string key = first_key(path);
  if (key.size() < path.size()) {
    Value* inner = object.find(key);
    return inner == nullptr ? std::nullopt : take(*inner, path.substr(key.size() + 1));
  }
  for (Value::Member& member : object.members()) {
    if (member.key != key) continue;
    Value::Member taken = std::move(member);
    object.members().erase(object.members().begin() + (&member - object.members().data()));
    return taken;
  }
  return std::nullopt;
}

// Whether a description has every key of a path.
bool has_path(const Description& description, const std::string& path) {
  const std::string key = first_key(path);
  const Field* field = description.find(key);
  if (field == nullptr) return false;
  if (key.size() == path.size()) return true;
  return field->type.kind == Type::Kind::kObject &&
         has_path(*field->type.object, path.substr(key.size() + 1));
}

class Renaming {
 public:
  Renaming(OldKeys old_keys, Notes& notes, std::span<const RenamedKey> table,
           std::span<const LaterKey> later)
      : old_keys_(old_keys), notes_(notes), table_(table), later_(later) {}

  void members(const Description& description, Value& object, const std::string& path) {
    for (Value::Member& member : object.members()) {
      const Field* field = description.find(member.key);
      if (field != nullptr)
        in_field(*field, field->type, member.value, join_path(path, member.key));
    }
  }

  void apply(const std::string& kind, const std::string& type, const Description& description,
             Value& object, const std::string& path) {
    std::map<std::string, std::string> moved;  // new key to the old one
    for (const RenamedKey& line : table_) {
      if (line.kind != kind || (!line.type.empty() && line.type != type)) continue;
      if (has_path(description, line.from) || !has_path(description, line.to)) continue;
      std::optional<Value::Member> old = take(object, line.from);
      if (!old) continue;
      const std::string from = join_path(path, line.from);
      const std::string to = join_path(path, line.to);
      const Value* present = find_path(object, line.to);
      if (present != nullptr && old_keys_ != OldKeys::kLater && !(*present == old->value)) {
        const auto other = moved.find(line.to);
        const std::string also = other == moved.end()
                                     ? ", which is given too"
                                     : " as " + join_path(path, other->second) + " is";
        throw ConfigError(fmt::format("{}is now {}{}: {} and {}; give one of them",
                                      where(old->key_origin, from), to, also, old->value.dump(0),
                                      present->dump(0)));
      }
      notes_.add(fmt::format("{} is now {}", from, to));
      moved.emplace(line.to, line.from);
      put(object, line.to, std::move(*old));
    }
    if (old_keys_ == OldKeys::kStored) add_later(kind, type, description, object);
  }

 private:
  void add_later(const std::string& kind, const std::string& type, const Description& description,
                 Value& object) const {
    for (const LaterKey& line : later_) {
      const bool here = line.kind == kind && (line.type.empty() || line.type == type);
      if (here && description.find(line.key) != nullptr && object.find(line.key) == nullptr)
        object.set(line.key, line.before);
    }
  }

  // The origin stays that of the old key, for messages about the value.
  static void put(Value& object, const std::string& path, Value::Member old) {
    const std::string key = first_key(path);
    Value* slot = object.find(key);
    if (slot == nullptr) {
      Value made;
      made.set_origin(old.key_origin);
      slot = &object.set(key, std::move(made));
    }
    if (key.size() == path.size()) {
      const bool both = slot->is_object() && old.value.is_object();
      *slot = both ? merge(std::move(*slot), old.value) : std::move(old.value);
      return;
    }
    if (!slot->is_object()) {
      *slot = Value::object();
      slot->set_origin(old.key_origin);
    }
    put(*slot, path.substr(key.size() + 1), std::move(old));
  }

  void in_field(const Field& field, const Type& type, Value& value, const std::string& path) {
    if (type.kind == Type::Kind::kArray && value.is_array()) {
      for (std::size_t i = 0; i < value.size(); ++i)
        in_field(field, *type.item, value.items()[i], join_path(path, std::to_string(i)));
    } else if (type.kind == Type::Kind::kObject && value.is_object()) {
      members(*type.object, value, path);
    } else if (type.kind == Type::Kind::kComponent && value.is_object()) {
      in_component(field, type.choices, value, path);
    }
  }

  void in_component(const Field& field, const Choices& choices, Value& value,
                    const std::string& path) {
    const Value* type = value.find("type");
    if (type == nullptr) type = field.default_value.find("type");
    if (type == nullptr || !type->is_string()) return;
    const std::string name = type->as_string();
    for (const Choice& choice : choices.list()) {
      if (choice.name != name || choice.fields == nullptr) continue;
      apply(choices.kind, name, *choice.fields, value, path);
      members(*choice.fields, value, path);
    }
  }

  OldKeys old_keys_;
  Notes& notes_;
  std::span<const RenamedKey> table_;
  std::span<const LaterKey> later_;
};

}  // namespace

std::span<const RenamedKey> renamed_keys() {
  static const std::array<RenamedKey, 5> table = {{
      {"dataset", "", "val_fraction", "split.val"},
      {"dataset", "", "val_seed", "split.seed"},
      {"dataset", "paired_folder", "test_fraction", "split.test"},
      {"dataset", "paired_folder", "test_seed", "split.seed"},
      {"model", "resnet_unet", "encoder", "backbone"},
  }};
  return table;
}

std::span<const LaterKey> later_keys() {
  static const std::array<LaterKey, 2> table = {{
      {"dataset", "nnunet", "foreground_voxels", Value(std::int64_t{0})},
      {"inferer", "nnunet_windows", "mean", Value("probabilities")},
  }};
  return table;
}

void rename_keys(const Description& description, Value& root, OldKeys old_keys, Notes& notes,
                 std::span<const RenamedKey> table, std::span<const LaterKey> later) {
  if (!root.is_object()) return;
  Renaming renaming(old_keys, notes, table, later);
  renaming.apply("", "", description, root, "");
  renaming.members(description, root, "");
}

}  // namespace fovea::schema
