// Tensor: a handle on shared, contiguous, row-major storage.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "tensor/device.h"
#include "tensor/dtype.h"
#include "tensor/shape.h"

namespace fovea {

namespace autograd {
struct Node;  // autograd/graph.h
}

/// Copies of a Tensor share its storage, its gradient and its place in the graph. Operations live
/// in ops/; this class only holds and names memory.
class Tensor {
 public:
  /// An undefined tensor: "none".
  Tensor() = default;
  /// Uninitialised memory. Throws ShapeError where its bytes are more than an int64 counts, and
  /// BackendError when there is none left.
  static Tensor empty(const Shape& shape, DType dtype, const Device& device);
  /// Same shape, dtype and device as `other`; uninitialised, outside the graph.
  static Tensor empty_like(const Tensor& other);
  /// Copies host values; values.size() must be shape.numel(). Host devices only (elsewhere
  /// ops::to(device)); on the meta device the values are dropped.
  template <class T>
  static Tensor from(std::span<const T> values, const Shape& shape, const Device& device);
  template <class T>
  static Tensor from(const std::vector<T>& values, const Shape& shape, const Device& device) {
    return from(std::span<const T>(values), shape, device);
  }
  /// A scalar of shape ().
  template <class T>
  static Tensor scalar(T value, const Device& device) {
    return from(std::span<const T>(&value, 1), Shape{}, device);
  }

  bool defined() const { return impl_ != nullptr; }
  explicit operator bool() const { return defined(); }
  const Shape& shape() const;
  int rank() const { return shape().rank(); }
  /// Size of an axis; negative axes count from the back.
  std::int64_t size(int axis) const { return shape().at(axis); }
  std::int64_t numel() const;
  std::int64_t bytes() const { return numel() * size_of(dtype()); }
  DType dtype() const;
  const Device& device() const;

  /// Pointer to the first element. Throws ShapeError if T is not the dtype, BackendError if the
  /// memory is not the host's.
  template <class T>
  T* data() const;
  template <class T>
  std::span<T> values() const {
    return {data<T>(), static_cast<std::size_t>(numel())};
  }
  /// The only element. Throws ShapeError if there is not exactly one.
  template <class T>
  T item() const;
  /// Device memory, for kernels.
  void* raw() const;

  /// The same memory under another shape of equal numel, outside the graph (ops::reshape is the
  /// differentiable one). Throws ShapeError.
  Tensor alias(const Shape& shape) const;
  /// Rows [begin, end) of the first axis; shares memory, outside the graph.
  Tensor rows(std::int64_t begin, std::int64_t end) const;
  /// The same memory outside the graph.
  Tensor detach() const;
  /// The same shape, dtype, device and place in the graph without the values: what a later gradient
  /// needs to find its way.
  Tensor without_values() const;
  /// True if nobody else holds this storage, so that it may be written in place.
  bool unique_storage() const;
  bool same_storage(const Tensor& other) const;
  /// Stable identity of the handle, for sets and maps of tensors.
  const void* id() const { return impl_.get(); }

  // Differentiation. A leaf is a tensor that was not made by a recorded operation.
  bool requires_grad() const;
  void set_requires_grad(bool on) const;
  /// Accumulated gradient of a leaf; undefined before backward().
  Tensor grad() const;
  void set_grad(const Tensor& grad) const;
  const std::shared_ptr<autograd::Node>& node() const;
  void set_node(std::shared_ptr<autograd::Node> node) const;

 private:
  struct Storage;
  struct Impl;
  explicit Tensor(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}
  Impl& impl() const;
  std::shared_ptr<Impl> impl_;
};

}  // namespace fovea
