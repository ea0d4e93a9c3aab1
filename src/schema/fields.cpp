#include "schema/fields.h"

namespace fovea::schema {
namespace {

const void* at(const void* object, std::ptrdiff_t offset) {
  return static_cast<const std::byte*>(object) + offset;
}
void* at(void* object, std::ptrdiff_t offset) { return static_cast<std::byte*>(object) + offset; }

}  // namespace

void MemberFields::add_field(std::string key, std::ptrdiff_t offset, Codec codec, Range range,
                             std::string help, const void* defaults) {
  Field field;
  field.key = std::move(key);
  field.type = std::move(codec.type);
  field.range = std::move(range);
  field.help = std::move(help);
  fields_.push_back(std::move(field));
  const auto set_default = [to = codec.to_value](Field& of, const void* member) {
    of.default_value = to(member);
  };
  set_default(fields_.back(), at(defaults, offset));
  members_.push_back({offset, codec.to_value, codec.from_value, set_default});
}

void MemberFields::include_all(const MemberFields& base, std::ptrdiff_t offset,
                               const void* defaults) {
  fields_.insert(fields_.end(), base.fields_.begin(), base.fields_.end());
  for (Member member : base.members_) {
    member.offset += offset;
    members_.push_back(std::move(member));
  }
  checks_.insert(checks_.end(), base.checks_.begin(), base.checks_.end());
  take_defaults(defaults);
}

void MemberFields::take_defaults(const void* defaults) {
  for (std::size_t i = 0; i < fields_.size(); ++i) {
    members_[i].set_default(fields_[i], at(defaults, members_[i].offset));
  }
}

Value MemberFields::read(const void* options) const {
  Value object = Value::object();
  for (std::size_t i = 0; i < fields_.size(); ++i) {
    object.set(fields_[i].key, members_[i].to_value(at(options, members_[i].offset)));
  }
  return object;
}

void MemberFields::write(const Value& resolved, void* options) const {
  for (std::size_t i = 0; i < fields_.size(); ++i) {
    members_[i].from_value(resolved.at(fields_[i].key), at(options, members_[i].offset));
  }
}

}  // namespace fovea::schema
