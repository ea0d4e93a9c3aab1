// How one C++ type is written in JSON: a codec for each innermost type, lifted through
// std::optional, std::vector and std::array. Used by fields.h only. A codec's own type does not
// depend on the C++ type, so that most of a description is compiled once for all structs.
#pragma once

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

#include "schema/describe/description.h"
#include "schema/json/value.h"

namespace fovea::schema {

template <class Options>
class Fields;

/// Reads and writes an object through a pointer to it. `from_value` is only called with values that
/// were resolved against `type`.
struct Codec {
  Type type;
  std::function<Value(const void*)> to_value;
  std::function<void(const Value&, void*)> from_value;
};

template <class T, class To, class From>
Codec codec_of(Type type, To to, From from) {
  return {std::move(type), [to](const void* object) { return to(*static_cast<const T*>(object)); },
          [from](const Value& value, void* object) { from(value, *static_cast<T*>(object)); }};
}

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
Codec scalar_codec() {
  Type type;
  const auto to = [](const T& object) { return Value(object); };
  if constexpr (std::same_as<T, bool>) {
    type.kind = Type::Kind::kBool;
    return codec_of<T>(type, to, [](const Value& value, T& object) { object = value.as_bool(); });
  } else if constexpr (std::integral<T>) {
    using Bounds = std::numeric_limits<T>;
    type.kind = Type::Kind::kInteger;
    type.min = static_cast<std::int64_t>(Bounds::min());
    type.max = sizeof(T) == 8 ? std::numeric_limits<std::int64_t>::max()
                              : static_cast<std::int64_t>(Bounds::max());
    return codec_of<T>(
        type, to, [](const Value& value, T& object) { object = static_cast<T>(value.as_int()); });
  } else if constexpr (std::floating_point<T>) {
    type.kind = Type::Kind::kNumber;
    return codec_of<T>(type, to, [](const Value& value, T& object) {
      object = static_cast<T>(value.as_double());
    });
  } else {
    static_assert(std::same_as<T, std::string>,
                  "bool, integer, floating point or std::string; structs need add_object, "
                  "enumerations add_enum, components add_component, free values add_any");
    type.kind = Type::Kind::kString;
    return codec_of<T>(type, to, [](const Value& value, T& object) { object = value.as_string(); });
  }
}

template <class E>
Codec enum_codec(std::vector<std::pair<std::string, E>> names) {
  Type type;
  type.kind = Type::Kind::kString;
  const auto to = [names](const E& object) {
    for (const auto& [name, value] : names) {
      if (value == object) return Value(name);
    }
    return Value("(unnamed)");
  };
  const auto from = [names](const Value& text, E& object) {
    object = E{};
    for (const auto& [name, value] : names) {
      if (name == text.as_string()) object = value;
    }
  };
  return codec_of<E>(type, to, from);
}

template <class Options>
Codec object_codec(const Fields<Options>& fields) {
  const auto shared = std::make_shared<const Fields<Options>>(fields);
  Type type;
  type.kind = Type::Kind::kObject;
  type.object = shared;
  return codec_of<Options>(
      type, [shared](const Options& object) { return shared->raw(object); },
      [shared](const Value& value, Options& object) { object = shared->from_resolved(value); });
}

Codec component_codec(Choices choices);
Codec any_codec();

/// The codec of T from that of its innermost type.
template <class T>
struct Lift {
  static Codec from(Codec leaf) { return leaf; }
};

template <class T>
struct Lift<std::optional<T>> {
  static Codec from(Codec leaf) {
    const Codec inner = Lift<T>::from(std::move(leaf));
    Type type = inner.type;
    type.nullable = true;
    return codec_of<std::optional<T>>(
        type,
        [to = inner.to_value](const std::optional<T>& object) {
          return object ? to(&*object) : Value();
        },
        [get = inner.from_value](const Value& value, std::optional<T>& object) {
          object.reset();
          if (!value.is_null()) get(value, &object.emplace());
        });
  }
};

template <class T>
struct Lift<std::vector<T>> {
  static_assert(!std::same_as<T, bool>, "std::vector<bool> has no elements to point to");
  static Codec from(Codec leaf) {
    const Codec inner = Lift<T>::from(std::move(leaf));
    Type type;
    type.kind = Type::Kind::kArray;
    type.item = std::make_shared<const Type>(inner.type);
    return codec_of<std::vector<T>>(
        type,
        [to = inner.to_value](const std::vector<T>& object) {
          Value array = Value::array();
          for (const T& item : object) array.push_back(to(&item));
          return array;
        },
        [get = inner.from_value](const Value& array, std::vector<T>& object) {
          object.clear();
          for (const Value& item : array.items()) get(item, &object.emplace_back());
        });
  }
};

template <class T, std::size_t N>
struct Lift<std::array<T, N>> {
  static Codec from(Codec leaf) {
    const Codec inner = Lift<T>::from(std::move(leaf));
    Type type;
    type.kind = Type::Kind::kArray;
    type.length = static_cast<std::int64_t>(N);
    type.item = std::make_shared<const Type>(inner.type);
    return codec_of<std::array<T, N>>(
        type,
        [to = inner.to_value](const std::array<T, N>& object) {
          Value array = Value::array();
          for (const T& item : object) array.push_back(to(&item));
          return array;
        },
        [get = inner.from_value](const Value& array, std::array<T, N>& object) {
          for (std::size_t i = 0; i < N; ++i) get(array.at(i), &object[i]);
        });
  }
};

// Compiled once, in codec.cpp.
extern template Codec scalar_codec<bool>();
extern template Codec scalar_codec<std::int64_t>();
extern template Codec scalar_codec<double>();
extern template Codec scalar_codec<std::string>();
extern template struct Lift<std::optional<bool>>;
extern template struct Lift<std::optional<std::int64_t>>;
extern template struct Lift<std::optional<double>>;
extern template struct Lift<std::vector<std::int64_t>>;
extern template struct Lift<std::vector<double>>;
extern template struct Lift<std::vector<std::string>>;

}  // namespace fovea::schema
