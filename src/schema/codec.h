// How one C++ type is written in JSON: a codec for each innermost type, lifted through
// std::optional, std::vector and std::array. Used by fields.h only.
#pragma once

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "schema/description.h"
#include "schema/value.h"

namespace fovea::schema {

template <class Options>
class Fields;

/// `from_value` is only called with values that were resolved against `type`.
template <class T>
struct Codec {
  Type type;
  std::function<Value(const T&)> to_value;
  std::function<T(const Value&)> from_value;
};

template <class T>
struct Innermost {
  using type = T;
};
template <class T>
struct Innermost<std::optional<T>> : Innermost<T> {};
template <class T>
struct Innermost<std::vector<T>> : Innermost<T> {};
template <class T, std::size_t N>
struct Innermost<std::array<T, N>> : Innermost<T> {};
template <class T>
using innermost_t = typename Innermost<T>::type;

template <class T>
Codec<T> scalar_codec() {
  Codec<T> codec;
  codec.to_value = [](const T& value) { return Value(value); };
  if constexpr (std::same_as<T, bool>) {
    codec.type.kind = Type::Kind::kBool;
    codec.from_value = [](const Value& value) { return value.as_bool(); };
  } else if constexpr (std::integral<T>) {
    using Bounds = std::numeric_limits<T>;
    codec.type.kind = Type::Kind::kInteger;
    codec.type.min = static_cast<std::int64_t>(Bounds::min());
    codec.type.max = sizeof(T) == 8 ? std::numeric_limits<std::int64_t>::max()
                                    : static_cast<std::int64_t>(Bounds::max());
    codec.from_value = [](const Value& value) { return static_cast<T>(value.as_int()); };
  } else if constexpr (std::floating_point<T>) {
    codec.type.kind = Type::Kind::kNumber;
    codec.from_value = [](const Value& value) { return static_cast<T>(value.as_double()); };
  } else {
    static_assert(std::same_as<T, std::string>,
                  "bool, integer, floating point or std::string; structs need add_object, "
                  "enumerations add_enum, components add_component, free values add_any");
    codec.type.kind = Type::Kind::kString;
    codec.from_value = [](const Value& value) { return value.as_string(); };
  }
  return codec;
}

template <class E>
Codec<E> enum_codec(std::vector<std::pair<std::string, E>> names) {
  Codec<E> codec;
  codec.type.kind = Type::Kind::kString;
  codec.to_value = [names](const E& value) {
    const auto found = std::find_if(names.begin(), names.end(),
                                    [&](const auto& name) { return name.second == value; });
    return found == names.end() ? Value("(unnamed)") : Value(found->first);
  };
  codec.from_value = [names](const Value& value) {
    const auto found = std::find_if(names.begin(), names.end(), [&](const auto& name) {
      return name.first == value.as_string();
    });
    return found == names.end() ? E{} : found->second;
  };
  return codec;
}

template <class Options>
Codec<Options> object_codec(const Fields<Options>& fields) {
  const auto shared = std::make_shared<const Fields<Options>>(fields);
  Codec<Options> codec;
  codec.type.kind = Type::Kind::kObject;
  codec.type.object = shared;
  codec.to_value = [shared](const Options& value) { return shared->raw(value); };
  codec.from_value = [shared](const Value& value) { return shared->from_resolved(value); };
  return codec;
}

Codec<Component> component_codec(Choices choices);
Codec<Value> any_codec();

template <class T>
struct Lift {
  static Codec<T> from(Codec<T> leaf) { return leaf; }
};

template <class T>
struct Lift<std::optional<T>> {
  static Codec<std::optional<T>> from(Codec<innermost_t<T>> leaf) {
    const Codec<T> inner = Lift<T>::from(std::move(leaf));
    Codec<std::optional<T>> codec;
    codec.type = inner.type;
    codec.type.nullable = true;
    codec.to_value = [to = inner.to_value](const std::optional<T>& value) {
      return value ? to(*value) : Value();
    };
    codec.from_value = [get = inner.from_value](const Value& value) {
      return value.is_null() ? std::optional<T>() : std::optional<T>(get(value));
    };
    return codec;
  }
};

template <class T>
struct Lift<std::vector<T>> {
  static Codec<std::vector<T>> from(Codec<innermost_t<T>> leaf) {
    const Codec<T> inner = Lift<T>::from(std::move(leaf));
    Codec<std::vector<T>> codec;
    codec.type.kind = Type::Kind::kArray;
    codec.type.item = std::make_shared<const Type>(inner.type);
    codec.to_value = [to = inner.to_value](const std::vector<T>& values) {
      Value array = Value::array();
      for (const auto& value : values) array.push_back(to(value));
      return array;
    };
    codec.from_value = [get = inner.from_value](const Value& array) {
      std::vector<T> values;
      for (const Value& item : array.items()) values.push_back(get(item));
      return values;
    };
    return codec;
  }
};

template <class T, std::size_t N>
struct Lift<std::array<T, N>> {
  static Codec<std::array<T, N>> from(Codec<innermost_t<T>> leaf) {
    const Codec<T> inner = Lift<T>::from(std::move(leaf));
    Codec<std::array<T, N>> codec;
    codec.type.kind = Type::Kind::kArray;
    codec.type.length = static_cast<std::int64_t>(N);
    codec.type.item = std::make_shared<const Type>(inner.type);
    codec.to_value = [to = inner.to_value](const std::array<T, N>& values) {
      Value array = Value::array();
      for (const T& value : values) array.push_back(to(value));
      return array;
    };
    codec.from_value = [get = inner.from_value](const Value& array) {
      std::array<T, N> values{};
      for (std::size_t i = 0; i < N; ++i) values[i] = get(array.at(i));
      return values;
    };
    return codec;
  }
};

template <class T>
Codec<T> lift(Codec<innermost_t<T>> leaf) {
  return Lift<T>::from(std::move(leaf));
}

}  // namespace fovea::schema
