// A variant that can be copied where memory is short.
#pragma once

#include <variant>

namespace fovea {

/// std::variant of types that move without fail, as strings and vectors do. Where copying one of
/// these runs out of memory, libstdc++'s copy constructor destroys what is not there yet; its
/// assignment makes the copy first. So a copy is assigned to what holds the first type's default.
template <class... Types>
class Variant : public std::variant<Types...> {
 public:
  using std::variant<Types...>::variant;
  using std::variant<Types...>::operator=;

  Variant() = default;
  Variant(const Variant& other) : std::variant<Types...>() { *this = other; }
  Variant(Variant&&) noexcept = default;
  Variant& operator=(const Variant&) = default;
  Variant& operator=(Variant&&) noexcept = default;
  ~Variant() = default;
};

}  // namespace fovea
