// Element types, the bfloat16 value type, and dispatch from a run-time type to a C++ type.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>

#include "base/error.h"

namespace fovea {

enum class DType : std::uint8_t { kFloat32, kFloat64, kBFloat16, kInt64, kInt32, kUint8 };

/// Bytes of one element.
std::int64_t size_of(DType dtype);
/// "float32", "float64", "bfloat16", "int64", "int32", "uint8".
std::string_view name_of(DType dtype);
/// Inverse of name_of. Throws ConfigError for another name.
DType dtype_from_name(std::string_view name);
bool is_floating(DType dtype);

/// The upper half of a float32. Conversion rounds to nearest, ties to even; NaN stays NaN.
struct BFloat16 {
  std::uint16_t bits = 0;

  BFloat16() = default;
  explicit BFloat16(float value) {
    const auto word = std::bit_cast<std::uint32_t>(value);
    const std::uint32_t rounded = word + 0x7fffu + ((word >> 16) & 1u);
    bits = static_cast<std::uint16_t>(std::isnan(value) ? (word >> 16) | 0x40u : rounded >> 16);
  }
  explicit operator float() const {
    return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
  }
  explicit operator double() const { return static_cast<double>(static_cast<float>(*this)); }
};

template <class T>
struct DTypeOf;
template <>
struct DTypeOf<float> {
  static constexpr DType value = DType::kFloat32;
};
template <>
struct DTypeOf<double> {
  static constexpr DType value = DType::kFloat64;
};
template <>
struct DTypeOf<BFloat16> {
  static constexpr DType value = DType::kBFloat16;
};
template <>
struct DTypeOf<std::int64_t> {
  static constexpr DType value = DType::kInt64;
};
template <>
struct DTypeOf<std::int32_t> {
  static constexpr DType value = DType::kInt32;
};
template <>
struct DTypeOf<std::uint8_t> {
  static constexpr DType value = DType::kUint8;
};
template <class T>
inline constexpr DType kDTypeOf = DTypeOf<T>::value;

/// The type in which values stored as S are computed.
template <class S>
using Compute = std::conditional_t<std::is_same_v<S, BFloat16>, float, S>;

inline DType compute_dtype(DType stored) {
  return stored == DType::kBFloat16 ? DType::kFloat32 : stored;
}

[[noreturn]] void throw_unsupported_dtype(const char* where, DType dtype, const char* expected);

/// Calls f(T{}) with T = float or double. `where` names the operation in the error.
template <class F>
decltype(auto) dispatch_float(const char* where, DType dtype, F&& f) {
  switch (dtype) {
    case DType::kFloat32:
      return f(float{});
    case DType::kFloat64:
      return f(double{});
    default:
      throw_unsupported_dtype(where, dtype, "float32 or float64");
  }
}

/// Calls f(S{}) with S = float, double or BFloat16, how the values are stored.
template <class F>
decltype(auto) dispatch_stored(const char* where, DType dtype, F&& f) {
  if (dtype == DType::kBFloat16) return f(BFloat16{});
  return dispatch_float(where, dtype, f);
}

/// Calls f(T{}) with T = the C++ type of any dtype.
template <class F>
decltype(auto) dispatch_any(const char* where, DType dtype, F&& f) {
  switch (dtype) {
    case DType::kFloat32:
      return f(float{});
    case DType::kFloat64:
      return f(double{});
    case DType::kBFloat16:
      return f(BFloat16{});
    case DType::kInt64:
      return f(std::int64_t{});
    case DType::kInt32:
      return f(std::int32_t{});
    case DType::kUint8:
      return f(std::uint8_t{});
  }
  throw_unsupported_dtype(where, dtype, "a known dtype");
}

}  // namespace fovea
