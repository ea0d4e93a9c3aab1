#include "tensor/tensor.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/error.h"

namespace fovea {

struct Tensor::Storage {
  Storage(Device where, std::int64_t size)
      : device(std::move(where)),
        bytes(size),
        block(device.allocator().allocate(size)),
        host(device.is_host() ? reinterpret_cast<std::byte*>(block.at.memory) + block.at.offset
                              : nullptr) {}
  explicit Storage(Device where) : device(std::move(where)), bytes(0) {}
  ~Storage() {
    if (block.size != 0) device.allocator().release(block);
  }
  Storage(const Storage&) = delete;
  Storage& operator=(const Storage&) = delete;

  Device device;
  std::int64_t bytes;
  Block block;
  std::byte* host = nullptr;  // the memory, where the host can read it at any time
  std::uint64_t version = 0;
  const char* writer = "";
};

struct Tensor::Impl {
  std::shared_ptr<Storage> storage;
  std::int64_t offset = 0;  // in bytes
  Shape shape;
  std::int64_t numel = 0;
  DType dtype = DType::kFloat32;
  bool requires_grad = false;
  Tensor grad;
  std::shared_ptr<autograd::Node> node;
  int result_number = 0;
};

Tensor::Impl& Tensor::impl() const {
  FOVEA_CHECK(impl_ != nullptr, ShapeError, "tensor: used before it was given a value");
  return *impl_;
}

Tensor Tensor::empty(const Shape& shape, DType dtype, const Device& device) {
  FOVEA_CHECK(device.defined(), BackendError, "tensor: no device was given");
  auto impl = std::make_shared<Impl>();
  impl->shape = shape;
  impl->numel = shape.numel();
  impl->dtype = dtype;
  std::int64_t bytes = 0;
  FOVEA_CHECK(!__builtin_mul_overflow(impl->numel, size_of(dtype), &bytes), ShapeError,
              fmt::format("tensor: {} {} has too many bytes", name_of(dtype), to_string(shape)));
  impl->storage = std::make_shared<Storage>(device, bytes);
  return Tensor(std::move(impl));
}

Tensor Tensor::empty_like(const Tensor& other) {
  return empty(other.shape(), other.dtype(), other.device());
}

Tensor Tensor::without_values() const {
  auto impl = std::make_shared<Impl>(this->impl());
  impl->storage = std::make_shared<Storage>(device());
  return Tensor(std::move(impl));
}

template <class T>
Tensor Tensor::from(std::span<const T> values, const Shape& shape, const Device& device) {
  FOVEA_CHECK(static_cast<std::int64_t>(values.size()) == shape.numel(), ShapeError,
              fmt::format("tensor: {} values given for shape {}, expected {}", values.size(),
                          to_string(shape), shape.numel()));
  const Tensor result = empty(shape, kDTypeOf<T>, device);
  result.upload(values.data());
  return result;
}

const Shape& Tensor::shape() const { return impl().shape; }
std::int64_t Tensor::numel() const { return impl().numel; }
DType Tensor::dtype() const { return impl().dtype; }
const Device& Tensor::device() const { return impl().storage->device; }

Buffer Tensor::buffer() const {
  const Buffer& block = impl().storage->block.at;
  return {block.memory, block.offset + impl().offset};
}

void Tensor::upload(const void* from) const {
  if (bytes() > 0) device().memory().upload(from, buffer(), bytes());
}

void Tensor::download(void* to) const {
  if (bytes() > 0) device().memory().download(buffer(), to, bytes());
}

std::function<void(void* to)> Tensor::read_later() const {
  const auto& later = device().memory().read_later;
  if (later && bytes() > 0) return later(buffer(), bytes());
  auto values = std::make_shared<std::vector<std::byte>>(static_cast<std::size_t>(bytes()));
  download(values->data());
  return [values](void* to) { std::memcpy(to, values->data(), values->size()); };
}

Tensor Tensor::copy_on(const Device& to) const {
  const Tensor copy = empty(shape(), dtype(), to);
  if (device().is_host()) {
    copy.upload(host_memory());
  } else if (to.is_host()) {
    download(copy.host_memory());
  } else {
    std::vector<std::byte> values(static_cast<std::size_t>(bytes()));
    download(values.data());
    copy.upload(values.data());
  }
  return copy;
}

std::byte* Tensor::host_memory() const {
  const Storage& storage = *impl().storage;
  if (storage.host != nullptr) return storage.host + impl().offset;
  const Buffer at = buffer();
  if (device().is_host()) return reinterpret_cast<std::byte*>(at.memory) + at.offset;
  const auto& address = device().memory().address;
  FOVEA_CHECK(address, BackendError,
              fmt::format("tensor: memory of device {} cannot be read by the host; copy it to the "
                          "cpu first",
                          device().name()));
  return address(at.memory) + at.offset;
}

template <class T>
void Tensor::check_dtype() const {
  FOVEA_CHECK(
      dtype() == kDTypeOf<T>, ShapeError,
      fmt::format("tensor: dtype is {}, read as {}", name_of(dtype()), name_of(kDTypeOf<T>)));
}

template <class T>
T* Tensor::data() const {
  // Kernels ask for every row.
  if (impl_ != nullptr && impl_->dtype == kDTypeOf<T> && impl_->storage->host != nullptr)
    return reinterpret_cast<T*>(impl_->storage->host + impl_->offset);
  check_dtype<T>();
  return reinterpret_cast<T*>(host_memory());
}

template <class T>
HostValues<T> Tensor::host_values() const {
  check_dtype<T>();
  HostValues<T> values;
  if (device().is_host()) {
    values.tensor_ = *this;
    values.view_ = this->values<T>();
  } else {
    values.copy_.resize(static_cast<std::size_t>(numel()));
    download(values.copy_.data());
    values.view_ = values.copy_;
  }
  return values;
}

template <class T>
T Tensor::item() const {
  FOVEA_CHECK(numel() == 1, ShapeError,
              fmt::format("tensor: shape is {}, expected exactly one element", to_string(shape())));
  check_dtype<T>();
  T value;
  download(&value);
  return value;
}

Tensor Tensor::alias(const Shape& shape) const {
  FOVEA_CHECK(shape.numel() == numel(), ShapeError,
              fmt::format("reshape: {} has {} elements, {} has {}", to_string(this->shape()),
                          numel(), to_string(shape), shape.numel()));
  auto copy = std::make_shared<Impl>();
  copy->storage = impl().storage;
  copy->offset = impl().offset;
  copy->shape = shape;
  copy->numel = numel();
  copy->dtype = dtype();
  return Tensor(std::move(copy));
}

Tensor Tensor::detach() const { return alias(shape()); }

Tensor Tensor::rows(std::int64_t begin, std::int64_t end) const {
  FOVEA_CHECK(rank() >= 1 && begin >= 0 && begin <= end && end <= shape()[0], ShapeError,
              fmt::format("rows: [{}, {}) of shape {}", begin, end, to_string(shape())));
  Shape part = shape();
  part[0] = end - begin;
  const std::int64_t row = shape()[0] == 0 ? 0 : numel() / shape()[0];
  Tensor result = detach();
  result.impl_->offset += begin * row * size_of(dtype());
  result.impl_->shape = part;
  result.impl_->numel = part.numel();
  return result;
}

bool Tensor::unique_storage() const {
  return impl_.use_count() == 1 && impl().storage.use_count() == 1;
}

bool Tensor::same_storage(const Tensor& other) const {
  return impl().storage == other.impl().storage;
}

bool Tensor::requires_grad() const {
  return impl_ != nullptr && (impl_->requires_grad || impl_->node);
}

void Tensor::set_requires_grad(bool on) const {
  FOVEA_CHECK(!on || is_floating(dtype()), ShapeError,
              fmt::format("tensor: dtype {} cannot have a gradient", name_of(dtype())));
  impl().requires_grad = on;
}

Tensor Tensor::grad() const { return impl().grad; }
void Tensor::set_grad(const Tensor& grad) const { impl().grad = grad; }
const std::shared_ptr<autograd::Node>& Tensor::node() const { return impl().node; }
int Tensor::result_number() const { return impl().result_number; }
void Tensor::set_node(std::shared_ptr<autograd::Node> node, int result_number) const {
  impl().node = std::move(node);
  impl().result_number = result_number;
}

void Tensor::written(const char* by) const {
  ++impl().storage->version;
  impl().storage->writer = by;
}
std::uint64_t Tensor::version() const { return impl().storage->version; }
const char* Tensor::writer() const { return impl().storage->writer; }

#define FOVEA_INSTANTIATE(T)                                                        \
  template Tensor Tensor::from<T>(std::span<const T>, const Shape&, const Device&); \
  template T* Tensor::data<T>() const;                                              \
  template HostValues<T> Tensor::host_values<T>() const;                            \
  template T Tensor::item<T>() const;
FOVEA_INSTANTIATE(float)
FOVEA_INSTANTIATE(double)
FOVEA_INSTANTIATE(BFloat16)
FOVEA_INSTANTIATE(std::int64_t)
FOVEA_INSTANTIATE(std::int32_t)
FOVEA_INSTANTIATE(std::uint8_t)
#undef FOVEA_INSTANTIATE

}  // namespace fovea
