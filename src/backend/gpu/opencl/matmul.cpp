#include "backend/gpu/opencl/matmul.h"

#define CL_TARGET_OPENCL_VERSION 120
#include <clblast.h>
#include <fmt/format.h>

#include "backend/backend.h"
#include "base/error.h"

namespace fovea::gpu {
namespace {

// Its kernels are compiled for each routine and read operands into temporary buffers, which smaller
// products do not pay for.
constexpr std::int64_t kLeastWork = std::int64_t{1} << 24;

std::size_t unsigned_of(std::int64_t n) { return static_cast<std::size_t>(n); }

cl_mem memory_of(const Tensor& tensor) { return reinterpret_cast<cl_mem>(tensor.buffer().memory); }

std::size_t first_of(const Tensor& tensor) {
  return unsigned_of(tensor.buffer().offset / size_of(tensor.dtype()));
}

clblast::Transpose transpose(bool on) {
  return on ? clblast::Transpose::kYes : clblast::Transpose::kNo;
}

// c = bias in every row.
void spread(const GemmArgs& s, const Tensor& bias, const Tensor& c) {
  CopyArgs copy;
  copy.shape = {s.batch, s.m, s.n};
  copy.src_strides = {0, 0, 1};
  copy.dst_strides = {s.stride_c, s.ldc, 1};
  backend(c).copy(copy, bias, c);
}

}  // namespace

bool opencl_matmul(const GemmArgs& s, const Tensor& a, const Tensor& b, const Tensor& bias,
                   const Tensor& c, cl_command_queue queue) {
  if (a.dtype() == DType::kBFloat16 || s.batch * s.m * s.n * s.k < kLeastWork) return false;
  if (bias.defined()) spread(s, bias, c);
  const auto multiply = [&]<class T>(T one) {
    return clblast::GemmStridedBatched<T>(
        clblast::Layout::kRowMajor, transpose(s.trans_a), transpose(s.trans_b), unsigned_of(s.m),
        unsigned_of(s.n), unsigned_of(s.k), one, memory_of(a), first_of(a), unsigned_of(s.lda),
        unsigned_of(s.stride_a), memory_of(b), first_of(b), unsigned_of(s.ldb),
        unsigned_of(s.stride_b), bias.defined() ? one : T{0}, memory_of(c), first_of(c),
        unsigned_of(s.ldc), unsigned_of(s.batch > 1 ? s.stride_c : s.m * s.ldc),
        unsigned_of(s.batch), &queue);
  };
  const clblast::StatusCode status = a.dtype() == DType::kFloat64 ? multiply(1.0) : multiply(1.0F);
  FOVEA_CHECK(status == clblast::StatusCode::kSuccess, BackendError,
              fmt::format("opencl: product of {} x {} and {} x {}: CLBlast failed ({})", s.m, s.k,
                          s.k, s.n, static_cast<int>(status)));
  return true;
}

}  // namespace fovea::gpu
