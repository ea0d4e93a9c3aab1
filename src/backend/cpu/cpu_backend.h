// The host backend. Kernels are grouped by family, one source file each; inner loops that want
// vector instructions live in simd/ and are compiled once per instruction set.
#pragma once

#include <memory>

#include "backend/backend.h"
#include "backend/cpu/thread_pool.h"

namespace fovea::cpu {

template <class T>
T* optional(const Tensor& tensor) {
  return tensor.defined() ? tensor.data<T>() : nullptr;
}

class CpuBackend final : public Backend {
 public:
  explicit CpuBackend(int threads);
  std::string name() const override { return "cpu"; }
  std::string description() const override;
  int threads() const { return pool_.threads(); }
  /// in_parallel() of this device.
  void run(std::int64_t pieces, const std::function<void(std::int64_t)>& piece) const {
    pool_.run(pieces, piece);
  }

#define FOVEA_KERNEL(kernel, parameters, arguments) void kernel parameters const override;
#include "backend/kernels.def"

 private:
  /// a and b are bfloat16, c is that or float32, bias is float32.
  void gemm_bfloat16(const GemmArgs&, const Tensor& a, const Tensor& b, const Tensor& bias,
                     const Tensor& c) const;
  /// Calls body(begin, end) over [0, count) in pieces of `grain` elements; the pieces do not depend
  /// on the number of threads.
  void parallel(std::int64_t count, std::int64_t grain,
                const std::function<void(std::int64_t begin, std::int64_t end)>& body) const;

  mutable ThreadPool pool_;
};

}  // namespace fovea::cpu
