#include "tensor/shape.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/error.h"

namespace fovea {

Shape::Shape(std::initializer_list<std::int64_t> sizes)
    : Shape(std::span<const std::int64_t>(sizes.begin(), sizes.size())) {}

Shape::Shape(std::span<const std::int64_t> sizes) {
  for (const std::int64_t size : sizes) push_back(size);
}

void Shape::push_back(std::int64_t size) {
  FOVEA_CHECK(rank_ < kMaxRank, ShapeError, fmt::format("shape: more than {} axes", kMaxRank));
  FOVEA_CHECK(size >= 0, ShapeError, fmt::format("shape: size {} is negative", size));
  sizes_[static_cast<std::size_t>(rank_++)] = size;
}

std::int64_t Shape::numel() const {
  std::int64_t product = 1;
  bool none = false;
  // (With a 0 in front the others would go unnoticed here, and overflow in strides.)
  for (const std::int64_t size : *this) {
    none = none || size == 0;
    FOVEA_CHECK(!__builtin_mul_overflow(product, std::max<std::int64_t>(1, size), &product),
                ShapeError, fmt::format("shape: {} has too many elements", to_string(*this)));
  }
  return none ? 0 : product;
}

int Shape::normalise_axis(int axis) const {
  FOVEA_CHECK(axis >= -rank_ && axis < rank_, ShapeError,
              fmt::format("axis {} is out of range for shape {}", axis, to_string(*this)));
  return axis < 0 ? axis + rank_ : axis;
}

Shape Shape::part(int first, int last) const {
  Shape result;
  for (int axis = first; axis < last; ++axis) result.push_back((*this)[axis]);
  return result;
}

Shape Shape::strides() const {
  Shape result = *this;
  std::int64_t stride = 1;
  for (int axis = rank_ - 1; axis >= 0; --axis) {
    result[axis] = stride;
    stride *= (*this)[axis];
  }
  return result;
}

bool Shape::operator==(const Shape& other) const {
  return std::equal(begin(), end(), other.begin(), other.end());
}

std::string to_string(const Shape& shape) {
  return fmt::format("({})", fmt::join(shape.begin(), shape.end(), ", "));
}

Shape broadcast(const Shape& a, const Shape& b, const char* op) {
  const int rank = std::max(a.rank(), b.rank());
  Shape result;
  for (int axis = 0; axis < rank; ++axis) {
    const int in_a = axis - (rank - a.rank());
    const int in_b = axis - (rank - b.rank());
    const std::int64_t size_a = in_a < 0 ? 1 : a[in_a];
    const std::int64_t size_b = in_b < 0 ? 1 : b[in_b];
    FOVEA_CHECK(size_a == size_b || size_a == 1 || size_b == 1, ShapeError,
                fmt::format("{}: shapes do not broadcast: {} and {}; expected equal sizes or 1 on "
                            "every axis, counted from the back",
                            op, to_string(a), to_string(b)));
    result.push_back(size_a == 1 ? size_b : size_a);
  }
  return result;
}

}  // namespace fovea
