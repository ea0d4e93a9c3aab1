// The host backend. Kernels are grouped by family, one source file each; inner loops that want
// vector instructions live in simd/ and are compiled once per instruction set.
#pragma once

#include <memory>

#include "backend/backend.h"
#include "backend/cpu/pieces.h"
#include "backend/cpu/thread_pool.h"

namespace fovea::cpu {

template <class T>
T* optional(const Tensor& tensor) {
  return tensor.defined() ? tensor.data<T>() : nullptr;
}

class CpuBackend final : public Backend {
 public:
  CpuBackend(int threads, bool batch_invariant);
  bool keeps_map_results(const AttentionArgs& args) const override;
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
  /// Calls body(begin, end) over [0, count) in pieces of `grain` elements; the pieces do not depend
  /// on the number of threads.
  void parallel(std::int64_t count, std::int64_t grain,
                const std::function<void(std::int64_t begin, std::int64_t end)>& body) const;

  Bits bits() const { return batch_invariant_ ? Bits::kOfElement : Bits::kOfSizes; }

  mutable ThreadPool pool_;
  bool batch_invariant_;
};

}  // namespace fovea::cpu
