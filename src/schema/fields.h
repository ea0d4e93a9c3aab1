// Fields<Options>: how a plain struct with default member values is written in JSON. One line a
// member gives its key, range and help; parsing, validation, suggestions, dumping and documentation
// follow from it.
//
//   struct Options { std::int64_t num_heads = 8; double attn_drop = 0.0; };
//   const auto fields = Fields<Options>{}
//       .add("num_heads", &Options::num_heads, at_least(1), "number of heads; must divide dim")
//       .add("attn_drop", &Options::attn_drop, in_range(0, 1), "dropout on attention weights");
//   const Options options = fields.parse(json, "model.attention");
#pragma once

#include <concepts>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "schema/codec.h"
#include "schema/description.h"
#include "schema/value.h"

namespace fovea::schema {

template <class Options>
class Fields : public Description {
 public:
  /// Defaults are Options{} or the given object, so that one struct can serve several registry
  /// entries that differ in their defaults.
  explicit Fields(Options defaults = Options{}) : defaults_(std::move(defaults)) {}

  /// bool, integers, floating point, std::string, and std::optional, std::vector, std::array of
  /// them. The range holds for each item.
  template <class T, class Owner>
  requires std::derived_from<Options, Owner> Fields& add(std::string key, T Owner::*member,
                                                         Range range, std::string help) {
    return put(std::move(key), member, lift<T>(scalar_codec<innermost_t<T>>()), std::move(range),
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
    return put(std::move(key), member, lift<T>(enum_codec(std::move(names))),
               one_of(std::move(words)), std::move(help));
  }

  /// A nested struct, an optional one, or a list of them. The defaults of a plain nested struct are
  /// those of the member in this struct's defaults.
  template <class T, class Owner>
  requires std::derived_from<Options, Owner> Fields& add_object(
      std::string key, T Owner::*member, const Fields<innermost_t<T>>& fields, std::string help) {
    using Inner = innermost_t<T>;
    put(std::move(key), member, lift<T>(object_codec<Inner>(fields)), any(), std::move(help));
    if constexpr (std::same_as<T, Inner>) {
      const auto rebased = [fields, member](Field& field, const Options& defaults) {
        auto inner = std::make_shared<Fields<Inner>>(fields);
        inner->set_defaults(defaults.*member);
        field.default_value = inner->raw(defaults.*member);
        field.type.object = std::move(inner);
      };
      bindings_.back().set_default = rebased;
      rebased(fields_.back(), defaults_);
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
    return put(std::move(key), member, lift<T>(component_codec(std::move(choices))), any(),
               std::move(help));
  }

  /// A free-form value, kept as it is.
  template <class Owner>
  requires std::derived_from<Options, Owner> Fields& add_any(std::string key, Value Owner::*member,
                                                             std::string help) {
    return put(std::move(key), member, any_codec(), any(), std::move(help));
  }

  /// The field added last must be given.
  Fields& required() {
    fields_.back().required = true;
    return *this;
  }

  /// All fields and checks of a base struct; defaults are this struct's.
  template <class Base>
  requires std::derived_from<Options, Base> Fields& include(const Fields<Base>& base) {
    for (std::size_t i = 0; i < base.fields_.size(); ++i) {
      const auto& from = base.bindings_[i];
      fields_.push_back(base.fields_[i]);
      bindings_.push_back({from.set_default, from.to_value, from.from_value});
      bindings_.back().set_default(fields_.back(), defaults_);
    }
    checks_.insert(checks_.end(), base.checks_.begin(), base.checks_.end());
    return *this;
  }

  /// A condition on several fields: returns the complaint, or "". Sees the fields added before.
  Fields& check(std::function<std::string(const Options&)> complaint) {
    checks_.push_back([fields = fields_, bindings = bindings_, defaults = defaults_,
                       complaint = std::move(complaint)](const Value& resolved) {
      return complaint(bind(fields, bindings, defaults, resolved));
    });
    return *this;
  }

  /// Strict parsing: see Description::resolve for what is refused.
  Options parse(const Value& object, const std::string& path = "") const {
    return bind(fields_, bindings_, defaults_, resolve(object, path));
  }
  Options parse(const Component& component, const std::string& path = "") const {
    return bind(fields_, bindings_, defaults_, resolve_component(component.options, path));
  }

  /// Every key, fully resolved: parse(dump(o)) == o. Throws ConfigError if `options` are not valid.
  Value dump(const Options& options) const { return resolve(raw(options)); }

  /// The struct behind the defaults.
  const Options& defaults() const { return defaults_; }
  Fields& set_defaults(const Options& defaults) {
    defaults_ = defaults;
    for (std::size_t i = 0; i < fields_.size(); ++i)
      bindings_[i].set_default(fields_[i], defaults_);
    return *this;
  }

  /// The members as they stand, unchecked.
  Value raw(const Options& options) const {
    Value object = Value::object();
    for (std::size_t i = 0; i < fields_.size(); ++i) {
      object.set(fields_[i].key, bindings_[i].to_value(options));
    }
    return object;
  }
  /// The struct of an object that was resolved by this description.
  Options from_resolved(const Value& resolved) const {
    return bind(fields_, bindings_, defaults_, resolved);
  }

 private:
  template <class>
  friend class Fields;

  struct Binding {
    std::function<void(Field&, const Options&)> set_default;
    std::function<Value(const Options&)> to_value;
    std::function<void(const Value&, Options&)> from_value;
  };

  template <class T, class Owner>
  Fields& put(std::string key, T Owner::*member, Codec<T> codec, Range range, std::string help) {
    Binding binding;
    binding.to_value = [member, to = codec.to_value](const Options& o) { return to(o.*member); };
    binding.from_value = [member, from = codec.from_value](const Value& value, Options& o) {
      o.*member = from(value);
    };
    binding.set_default = [to = binding.to_value](Field& field, const Options& o) {
      field.default_value = to(o);
    };
    fields_.push_back(
        {std::move(key), std::move(codec.type), std::move(range), Value(), std::move(help), false});
    binding.set_default(fields_.back(), defaults_);
    bindings_.push_back(std::move(binding));
    return *this;
  }

  static Options bind(const std::vector<Field>& fields, const std::vector<Binding>& bindings,
                      Options options, const Value& resolved) {
    for (std::size_t i = 0; i < fields.size(); ++i) {
      bindings[i].from_value(resolved.at(fields[i].key), options);
    }
    return options;
  }

  Options defaults_;
  std::vector<Binding> bindings_;
};

}  // namespace fovea::schema
