// How values become the arguments of a kernel.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "backend/gpu/gpu_backend.h"

namespace fovea::gpu {

/// Arguments of one launch of values of these types; their bytes are kept here. Numbers of a
/// kernel's own type (Index, Int32, a struct) are taken as they are.
template <class... Values>
class Arguments {
 public:
  explicit Arguments(bool has_float64) : has_float64_(has_float64) {}

  template <class T>
  void add(const T& value) {
    static_assert(std::is_trivially_copyable_v<T>);
    keep(&value, sizeof(T));
  }
  void add(const Real& value) {
    switch (value.dtype) {
      case DType::kFloat32:
      case DType::kBFloat16:
        return add(static_cast<float>(value.value));
      case DType::kFloat64:
        return add(value.value);
      case DType::kInt64:
        return add(static_cast<std::int64_t>(value.value));
      case DType::kInt32:
        return add(static_cast<std::int32_t>(value.value));
      case DType::kUint8:
        return add(static_cast<std::uint8_t>(value.value));
    }
  }
  void add(const Wide& value) {
    if (has_float64_) return add(value.value);
    add(static_cast<float>(value.value));
  }
  void add(const Tensor& tensor) {
    if (!tensor.defined()) {
      add(MemoryHandle{0});
      return add(Index{0});
    }
    const Buffer at = tensor.buffer();
    add(at.memory);
    add(static_cast<Index>(at.offset / size_of(tensor.dtype())));
  }

  std::span<const Argument> span() const { return {arguments_.data(), count_}; }

 private:
  void keep(const void* bytes, std::size_t size) {
    std::byte* to = bytes_.data() + used_;
    std::memcpy(to, bytes, size);
    arguments_[count_++] = {to, size};
    used_ += aligned(size);
  }
  static constexpr std::size_t aligned(std::size_t size) { return (size + 7) / 8 * 8; }

  // A tensor is two arguments of 8 bytes, any other value one that is not larger than itself.
  static constexpr std::size_t kBytes =
      (0 + ... + aligned(std::max(sizeof(Values), 2 * sizeof(Index))));
  bool has_float64_;
  std::size_t count_ = 0, used_ = 0;
  std::array<Argument, 2 * sizeof...(Values)> arguments_;
  alignas(8) std::array<std::byte, kBytes> bytes_;
};

/// Squares of PRODUCT_TILE that cover a matrix: a group makes one.
inline std::int64_t product_tiles(std::int64_t rows, std::int64_t columns) {
  const auto along = [](std::int64_t n) { return (n + PRODUCT_TILE - 1) / PRODUCT_TILE; };
  return along(rows) * along(columns);
}

template <class... Values>
void GpuBackend::launch(Kernel kernel, DType dtype, std::int64_t groups,
                        const Values&... values) const {
  if (groups == 0) return;
  FOVEA_CHECK(dtype != DType::kFloat64 || runtime_->has_float64(), BackendError,
              fmt::format("{}: {} in float64, which {} does not have; run with device=cpu", name_,
                          name_of(kernel), runtime_->description()));
  Arguments<Values...> arguments(runtime_->has_float64());
  (arguments.add(values), ...);
  runtime_->launch(kernel, dtype, groups, arguments.span());
}

}  // namespace fovea::gpu
