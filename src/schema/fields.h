// Fields<Options>: how a plain struct with default member values is written in JSON. One line for
// each member gives its key, range and help; parsing, validation, suggestions, dumping and
// documentation follow from these lines.
//
//   struct Options { std::int64_t num_heads = 8; double attn_drop = 0.0; };
//   const auto fields = Fields<Options>{}
//       .add("num_heads", &Options::num_heads, at_least(1), "number of heads; must divide dim")
//       .add("attn_drop", &Options::attn_drop, in_range(0, 1), "dropout on attention weights");
//   const Options options = fields.parse(json, "model.attention");
#pragma once

#include <concepts>
#include <cstddef>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "schema/codec.h"
#include "schema/describe/description.h"
#include "schema/json/value.h"

namespace fovea::schema {

/// The part of Fields that does not depend on the struct: members are known by their offset.
class MemberFields : public Description {
 protected:
  struct Member {
    std::ptrdiff_t offset = 0;
    std::function<Value(const void*)> to_value;
    std::function<void(const Value&, void*)> from_value;
    std::function<void(Field&, const void*)> set_default;  // from the member of the defaults
  };

  void add_field(std::string key, std::ptrdiff_t offset, Codec codec, Range range, std::string help,
                 const void* defaults);
  /// The fields of a base, which begins at `offset`.
  void include_all(const MemberFields& base, std::ptrdiff_t offset, const void* defaults);
  void take_defaults(const void* defaults);
  Value read(const void* options) const;
  void write(const Value& resolved, void* options) const;

  std::vector<Member> members_;
};

template <class Options>
class Fields : public MemberFields {
 public:
  /// Defaults are Options{} or the given object, so that one struct can serve several registry
  /// entries that differ in their defaults.
  explicit Fields(Options defaults = Options{}) : defaults_(std::move(defaults)) {}

  /// bool, integers, floating point, std::string, and std::optional, std::vector, std::array of
  /// them. The range holds for each item.
  template <class T, class Owner>
  requires std::derived_from<Options, Owner> Fields& add(std::string key, T Owner::*member,
                                                         Range range, std::string help) {
    return add_field(std::move(key), member, scalar_codec<innermost_t<T>>(), std::move(range),
                     std::move(help));
  }
  template <class T, class Owner>
  requires std::derived_from<Options, Owner> Fields& add(std::string key, T Owner::*member,
                                                         std::string help) {
    return add(std::move(key), member, any(), std::move(help));
  }

  /// An enumeration by names: `.add_enum("mode", &Options::mode, {{"constant", Mode::kConstant}},
  /// help)`.
  template <class T, class Owner>
  requires std::derived_from<Options, Owner> Fields& add_enum(
      std::string key, T Owner::*member, std::vector<std::pair<std::string, innermost_t<T>>> names,
      std::string help) {
    std::vector<std::string> words;
    for (const auto& name : names) words.push_back(name.first);
    return add_field(std::move(key), member, enum_codec(std::move(names)), one_of(std::move(words)),
                     std::move(help));
  }

  /// A nested struct, an optional one, or a list of them. The defaults of a plain nested struct are
  /// those of the member in this struct's defaults.
  template <class T, class Owner>
  requires std::derived_from<Options, Owner> Fields& add_object(
      std::string key, T Owner::*member, const Fields<innermost_t<T>>& fields, std::string help) {
    using Inner = innermost_t<T>;
    add_field(std::move(key), member, object_codec<Inner>(fields), any(), std::move(help));
    if constexpr (std::same_as<T, Inner>) {
      members_.back().set_default = [fields](Field& field, const void* object) {
        const Inner& defaults = *static_cast<const Inner*>(object);
        auto inner = std::make_shared<Fields<Inner>>(fields);
        inner->set_defaults(defaults);
        field.default_value = inner->raw(defaults);
        field.type.object = std::move(inner);
      };
      take_defaults(&defaults_);
    }
    return *this;
  }

  /// A Component, an optional one (null for none), or a list of them. A bare string "flip" stands
  /// for {"type": "flip"}. Where the type is that of the default, options not given are those of
  /// the default.
  template <class T, class Owner>
  requires std::derived_from<Options, Owner> && std::same_as<innermost_t<T>, Component> Fields&
  add_component(std::string key, T Owner::*member, Choices choices, std::string help) {
    if (choices.kind.empty()) choices.kind = key;
    return add_field(std::move(key), member, component_codec(std::move(choices)), any(),
                     std::move(help));
  }

  /// For the component added last: these options of the default also apply to other types that have
  /// them, unless they are given.
  Fields& for_every_type(std::vector<std::string> keys) {
    fields_.back().for_every_type = std::move(keys);
    return *this;
  }

  /// A value of any form, kept as it is.
  template <class Owner>
  requires std::derived_from<Options, Owner> Fields& add_any(std::string key, Value Owner::*member,
                                                             std::string help) {
    return add_field(std::move(key), member, any_codec(), any(), std::move(help));
  }

  /// The field added last must be given.
  Fields& required() {
    fields_.back().required = true;
    return *this;
  }

  /// Results do not depend on the field added last, nor on anything inside it: runs that differ in
  /// it give equal weights and scores.
  Fields& no_effect() {
    fields_.back().effect = Effect::kNone;
    return *this;
  }

  /// The field added last says where data lie, not what they are.
  Fields& is_place() {
    fields_.back().effect = Effect::kPlace;
    return *this;
  }

  /// The field added last names files whose content results depend on; the function finds them in a
  /// resolved object with this field (contents.h).
  Fields& names_files(std::function<std::vector<std::filesystem::path>(const Value&)> files) {
    fields_.back().files = std::move(files);
    return *this;
  }

  /// The field added last is the name of such a file, or "": runs that differ only in the name are
  /// the same.
  Fields& is_file() {
    fields_.back().effect = Effect::kFile;
    return names_files([key = fields_.back().key](const Value& object) {
      const std::string& name = object.at(key).as_string();
      return name.empty() ? std::vector<std::filesystem::path>{}
                          : std::vector<std::filesystem::path>{name};
    });
  }

  /// The field added last, of the root, holds the hashes of these files.
  Fields& is_content() {
    fields_.back().effect = Effect::kContent;
    return *this;
  }

  /// All fields and checks of a base struct; defaults are this struct's.
  template <class Base>
  requires std::derived_from<Options, Base> Fields& include(const Fields<Base>& base) {
    include_all(base, distance(static_cast<const Base*>(&defaults_)), &defaults_);
    return *this;
  }

  /// A condition on several fields: returns the complaint, or "". It sees the fields added so far.
  Fields& check(std::function<std::string(const Options&)> complaint) {
    checks_.push_back([so_far = *this, complaint = std::move(complaint)](const Value& resolved) {
      return complaint(so_far.from_resolved(resolved));
    });
    return *this;
  }

  /// Strict parsing: Description::resolve says what is refused.
  Options parse(const Value& object, const std::string& path = "") const {
    return from_resolved(resolve(object, path));
  }
  Options parse(const Component& component, const std::string& path = "") const {
    return from_resolved(resolve_component(component.object(), path));
  }

  /// Every key, fully resolved: parse(dump(o)) == o. Throws ConfigError if `options` are not valid.
  Value dump(const Options& options) const { return resolve(raw(options)); }

  /// The struct that the defaults come from.
  const Options& defaults() const { return defaults_; }
  Fields& set_defaults(const Options& defaults) {
    defaults_ = defaults;
    take_defaults(&defaults_);
    return *this;
  }

  /// The members as they are, unchecked.
  Value raw(const Options& options) const { return read(&options); }
  /// The struct, from an object that was resolved by this description.
  Options from_resolved(const Value& resolved) const {
    Options options = defaults_;
    write(resolved, &options);
    return options;
  }

 private:
  std::ptrdiff_t distance(const void* part) const {
    return static_cast<const std::byte*>(part) -
           static_cast<const std::byte*>(static_cast<const void*>(&defaults_));
  }

  template <class T, class Owner>
  Fields& add_field(std::string key, T Owner::*member, Codec innermost, Range range,
                    std::string help) {
    MemberFields::add_field(std::move(key), distance(&(defaults_.*member)),
                            Lift<T>::from(std::move(innermost)), std::move(range), std::move(help),
                            &defaults_);
    return *this;
  }

  Options defaults_;
};

}  // namespace fovea::schema
