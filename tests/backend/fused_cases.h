// Calls of fused kernels on some inputs, the same for every backend.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "backend/backend.h"
#include "tests/support/tensors.h"

namespace fovea::test {

/// Makes the tensors of one call: the same ones whenever it begins anew.
class Operands {
 public:
  explicit Operands(DType stored) : stored_(stored) {}

  DType stored() const { return stored_; }
  DType computed() const { return compute_dtype(stored_); }
  /// Random values as activations are stored, or as parameters and statistics are.
  Tensor x(const Shape& shape) { return random(shape, stored_); }
  Tensor c(const Shape& shape) { return random(shape, computed()); }
  /// In [low, high).
  Tensor between(double low, double high, const Shape& shape) {
    return convert(uniform_tensor(shape, low, high, ++seed_), computed());
  }
  /// To be written.
  Tensor to_x(const Shape& shape) const { return Tensor::empty(shape, stored_, cpu()); }
  Tensor to_c(const Shape& shape) const { return Tensor::empty(shape, computed(), cpu()); }

 private:
  Tensor random(const Shape& shape, DType dtype) {
    return convert(random_tensor(shape, ++seed_), dtype);
  }
  static Tensor convert(const Tensor& wide, DType dtype) {
    const Tensor y = Tensor::empty(wide.shape(), dtype, cpu());
    backend(y).cast(wide, y);
    return y;
  }

  DType stored_;
  std::uint64_t seed_ = 0;
};

struct FusedCase {
  std::string kernel;
  std::string variant;
  bool bfloat16;  // accepts it
  /// Calls the kernel and returns all that it wrote.
  std::function<std::vector<Tensor>(const Backend&, Operands&)> run;
  bool large =
      false;  // for the processor's own cuts; others, some emulated, have sizes of their own
};

/// Of results by two backends, relative to the largest value.
inline double tolerance(DType stored) {
  if (stored == DType::kFloat64) return 1e-11;
  return stored == DType::kFloat32 ? 2e-5 : 0.02;
}

std::vector<FusedCase> cases_of_rows();
std::vector<FusedCase> cases_of_maps();
std::vector<FusedCase> cases_of_attention();
std::vector<FusedCase> cases_of_updates();

}  // namespace fovea::test
