// Tensor: a handle on shared, contiguous, row-major storage.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
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

template <class T>
class HostValues;

/// Copies of a Tensor share its storage, its gradient and its place in the graph. Operations live
/// in ops/; this class only manages memory.
class Tensor {
 public:
  /// An undefined tensor: "none".
  Tensor() = default;
  /// Uninitialised memory. Throws ShapeError where the number of bytes overflows an int64,
  /// BackendError when there is no memory left.
  static Tensor empty(const Shape& shape, DType dtype, const Device& device);
  /// Same shape, dtype and device as `other`; uninitialised, outside the graph.
  static Tensor empty_like(const Tensor& other);
  /// Copies host values to any device; values.size() must be shape.numel(). On the meta device they
  /// are dropped.
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

  /// The elements for reading on the host: in place on a host device, else a copy. Throws
  /// ShapeError if T is not the dtype, BackendError on the meta device.
  template <class T>
  HostValues<T> host_values() const;
  /// The only element, from any device. Throws ShapeError if there is not exactly one.
  template <class T>
  T item() const;
  /// Copies bytes() bytes from or to the host.
  void upload(const void* from) const;
  void download(void* to) const;
  /// Starts a copy of the bytes as they are now. The returned function waits for that copy, not for
  /// work queued since, and writes the bytes.
  std::function<void(void* to)> read_later() const;
  /// The same values on another device, outside the graph (ops::to is the differentiable one).
  Tensor copy_on(const Device& device) const;

  // For host tensors only: host data, and kernels of the host.
  /// Pointer to the first element. Throws ShapeError if T is not the dtype, BackendError if the
  /// memory is not the host's.
  template <class T>
  T* data() const;
  template <class T>
  std::span<T> values() const {
    return {data<T>(), static_cast<std::size_t>(numel())};
  }
  /// The same without the type.
  std::byte* host_memory() const;
  /// Where the tensor begins, for kernels of other devices.
  Buffer buffer() const;

  /// The same memory under another shape of equal numel, outside the graph (ops::reshape is the
  /// differentiable one). Throws ShapeError.
  Tensor alias(const Shape& shape) const;
  /// Rows [begin, end) of the first axis; shares memory, outside the graph.
  Tensor rows(std::int64_t begin, std::int64_t end) const;
  /// The same memory outside the graph.
  Tensor detach() const;
  /// The same shape, dtype, device and place in the graph, without the values: enough to pass a
  /// gradient on.
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
  /// Which of the node's results this is, from 0.
  int result_number() const;
  void set_node(std::shared_ptr<autograd::Node> node, int result_number = 0) const;

  // Changes in place. Code that overwrites values that others may have read (an optimiser, a fill)
  // marks the change, so that backward notices when a value it needs is gone. Writes through data()
  // go unnoticed.
  /// `by` names the operation and must outlive the storage: a literal.
  void written(const char* by) const;
  /// How often the storage was overwritten; counted for all tensors that share it.
  std::uint64_t version() const;
  /// The operation that wrote last; "" if none did.
  const char* writer() const;

 private:
  struct Storage;
  struct Impl;
  explicit Tensor(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}
  Impl& impl() const;
  template <class T>
  void check_dtype() const;
  std::shared_ptr<Impl> impl_;
};

/// The result of Tensor::host_values(): elements that can be read while this object lives, whatever
/// happens to the tensor's handle. A std::span<const T> can be made of them.
template <class T>
class HostValues {
 public:
  HostValues(HostValues&&) = default;
  HostValues& operator=(HostValues&&) = default;

  const T* data() const { return view_.data(); }
  const T* begin() const { return view_.data(); }
  const T* end() const { return view_.data() + view_.size(); }
  std::size_t size() const { return view_.size(); }
  const T& operator[](std::size_t i) const { return view_[i]; }

 private:
  friend class Tensor;
  HostValues() = default;
  Tensor tensor_;        // keeps the memory of the host
  std::vector<T> copy_;  // that of another device
  std::span<const T> view_;
};

}  // namespace fovea
