#include "schema/identity.h"

#include <algorithm>

namespace fovea::schema {
namespace {

class Identity {
 public:
  explicit Identity(const Counted& counted) : counted_(counted) {}

  Value of(const Description& description, const Value& resolved, const std::string& path) const {
    Value result = Value::object();
    for (const Field& field : description.fields()) {
      const std::string at = join_path(path, field.key);
      const Value& value = resolved.at(field.key);
      if (field.effect == Effect::kContent) {
        // (Without files the field is left out: older programs did not have it.)
        if (const Value known = known_contents(value); known.size() > 0)
          result.set(field.key, known);
      } else if (counts(field.effect, at)) {
        result.set(field.key, of(field.type, value, at));
      }
    }
    return result;
  }

 private:
  bool counts(Effect effect, const std::string& path) const {
    const bool place = effect == Effect::kPlace || effect == Effect::kFile;
    if (place && counted_.places == Places::kCounted) return true;
    return effect == Effect::kResult || (effect == Effect::kFile && is_by_name(path));
  }

  bool is_by_name(const std::string& path) const {
    const auto& all = counted_.by_name;
    return std::find(all.begin(), all.end(), path) != all.end();
  }

  Value known_contents(const Value& noted) const {
    Value known = Value::object();
    if (!noted.is_object()) return known;
    for (const Value::Member& member : noted.members()) {
      if (!is_by_name(member.key)) known.set(member.key, member.value);
    }
    return known;
  }

  Value of(const Type& type, const Value& value, const std::string& path) const {
    if (value.is_null()) return value;
    if (type.kind == Type::Kind::kArray) {
      Value result = Value::array();
      for (const Value& item : value.items())
        result.push_back(of(*type.item, item, join_path(path, std::to_string(result.size()))));
      return result;
    }
    if (type.kind == Type::Kind::kObject) return of(*type.object, value, path);
    if (type.kind != Type::Kind::kComponent) return value;
    const Choice choice = find_choice(type.choices, value.at("type"), "");
    Value result = Value::object({{"type", value.at("type")}});
    if (choice.fields == nullptr) return result;
    const Value options = of(*choice.fields, value, path);
    for (const Value::Member& member : options.members()) result.set(member.key, member.value);
    return result;
  }

  const Counted& counted_;
};

}  // namespace

Value identity(const Description& description, const Value& resolved, const Counted& counted) {
  return Identity(counted).of(description, resolved, "");
}

}  // namespace fovea::schema
