#include "schema/carry.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "schema/load.h"

namespace fovea::schema {
namespace {

void settle_members(const Description& description, Value& object, const std::string& path,
                    Notes& notes);

const Choice* find_by_name(const std::vector<Choice>& choices, const std::string& name) {
  const auto found = std::find_if(choices.begin(), choices.end(),
                                  [&](const Choice& choice) { return choice.name == name; });
  return found == choices.end() ? nullptr : &*found;
}

bool knows(const Choice& choice, const std::string& key) {
  return choice.fields != nullptr && choice.fields->find(key) != nullptr;
}

void drop(const Choice& choice, const std::vector<Choice>& all, Value& object,
          const std::string& path, Notes& notes) {
  std::vector<std::string> named;
  std::erase_if(object.members(), [&](const Value::Member& member) {
    if (!member.value.carried() || member.key == "type" || knows(choice, member.key)) return false;
    if (std::none_of(all.begin(), all.end(), [&](const Choice& c) { return knows(c, member.key); }))
      return false;
    if (!member.value.is_null()) named.push_back(member.key);
    return true;
  });
  if (named.empty()) return;
  notes.add(fmt::format("{}: dropped {}, which {} does not have", path, fmt::join(named, ", "),
                        choice.name));
}

void settle_component(const Field& field, const Choices& choices, Value& given,
                      const std::string& path, Notes& notes) {
  if (given.is_string() && given.covered() != nullptr) given = expand_shorthand(std::move(given));
  if (!given.is_object()) return;
  const Value* type = given.find("type");
  if (type == nullptr) type = field.default_value.find("type");
  if (type == nullptr || !type->is_string()) return;
  const std::vector<Choice> all = choices.list();
  const Choice* choice = find_by_name(all, type->as_string());
  if (choice == nullptr) return;  // refused later
  drop(*choice, all, given, path, notes);
  if (choice->fields != nullptr) settle_members(*choice->fields, given, path, notes);
}

void settle(const Field& field, const Type& type, Value& given, const std::string& path,
            Notes& notes) {
  if (type.kind == Type::Kind::kArray && given.is_array()) {
    for (std::size_t i = 0; i < given.size(); ++i)
      settle(field, *type.item, given.items()[i], join_path(path, std::to_string(i)), notes);
  } else if (type.kind == Type::Kind::kObject && given.is_object()) {
    settle_members(*type.object, given, path, notes);
  } else if (type.kind == Type::Kind::kComponent) {
    settle_component(field, type.choices, given, path, notes);
  }
}

void settle_members(const Description& description, Value& object, const std::string& path,
                    Notes& notes) {
  for (Value::Member& member : object.members()) {
    const Field* field = description.find(member.key);
    if (field != nullptr)
      settle(*field, field->type, member.value, join_path(path, member.key), notes);
  }
}

}  // namespace

Value laid_over(Value name, const Value& covered) {
  if (covered.is_object()) {
    name.set_covered(std::make_shared<const Value>(covered));
  } else if (covered.is_string()) {
    name.set_covered(covered.shared_covered());
  }
  return name;
}

void mark_carried(Value& object) {
  for (Value::Member& member : object.members()) member.value.set_carried(true);
}

void drop_foreign_options(const Description& root, Value& value, Notes& notes) {
  if (value.is_object()) settle_members(root, value, "", notes);
}

}  // namespace fovea::schema
