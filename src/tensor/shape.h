// Sizes of a tensor: a small value type that never allocates.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <vector>

namespace fovea {

/// Up to eight sizes, outermost first. All sizes are >= 0.
class Shape {
 public:
  static constexpr int kMaxRank = 8;

  Shape() = default;
  Shape(std::initializer_list<std::int64_t> sizes);
  explicit Shape(std::span<const std::int64_t> sizes);

  int rank() const { return rank_; }
  bool empty() const { return rank_ == 0; }
  /// Product of all sizes; 1 for a scalar. Throws ShapeError on overflow, also that of the sizes
  /// beside a 0.
  std::int64_t numel() const;
  std::int64_t operator[](int axis) const { return sizes_[static_cast<std::size_t>(axis)]; }
  std::int64_t& operator[](int axis) { return sizes_[static_cast<std::size_t>(axis)]; }
  /// Size of an axis, negative axes count from the back. Throws ShapeError out of range.
  std::int64_t at(int axis) const { return (*this)[normalise_axis(axis)]; }
  std::int64_t back() const { return (*this)[rank_ - 1]; }
  /// Axis in [0, rank) for an axis in [-rank, rank). Throws ShapeError out of range.
  int normalise_axis(int axis) const;
  void push_back(std::int64_t size);

  const std::int64_t* begin() const { return sizes_.data(); }
  const std::int64_t* end() const { return sizes_.data() + rank_; }
  std::vector<std::int64_t> to_vector() const { return {begin(), end()}; }
  /// Sizes [first, last) as a shape of their own.
  Shape part(int first, int last) const;
  /// Row-major strides in elements.
  Shape strides() const;
  bool operator==(const Shape& other) const;

 private:
  std::array<std::int64_t, kMaxRank> sizes_{};
  int rank_ = 0;
};

/// "(2, 3, 4)"; "()" for a scalar.
std::string to_string(const Shape& shape);

/// Shape of an elementwise operation on a and b (NumPy rules: right-aligned, 1 stretches).
/// Throws ShapeError naming `op` and both shapes.
Shape broadcast(const Shape& a, const Shape& b, const char* op);

}  // namespace fovea
