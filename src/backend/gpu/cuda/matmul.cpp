#include "backend/gpu/cuda/matmul.h"

#include <cublasLt.h>
#include <fmt/format.h>

#include <limits>
#include <vector>

#include "backend/backend.h"
#include "backend/gpu/cuda/check.h"
#include "backend/gpu/cuda/library.h"
#include "backend/gpu/cuda/pointer.h"
#include "base/recent_table.h"

namespace fovea::gpu {
namespace {

#define FOVEA_FUNCTIONS(X)                \
  X(cublasLtCreate)                       \
  X(cublasLtDestroy)                      \
  X(cublasLtMatrixLayoutDestroy)          \
  X(cublasLtMatmulPreferenceDestroy)      \
  X(cublasLtMatmulDescDestroy)            \
  X(cublasLtGetStatusString)              \
  X(cublasLtMatmul)                       \
  X(cublasLtMatmulAlgoGetHeuristic)       \
  X(cublasLtMatmulDescCreate)             \
  X(cublasLtMatmulDescSetAttribute)       \
  X(cublasLtMatmulPreferenceCreate)       \
  X(cublasLtMatmulPreferenceSetAttribute) \
  X(cublasLtMatrixLayoutCreate)           \
  X(cublasLtMatrixLayoutSetAttribute)

std::string file_of_library() { return fmt::format("libcublasLt.so.{}", CUBLAS_VER_MAJOR); }

FOVEA_LIBRARY(CublasLt, file_of_library(), FOVEA_FUNCTIONS);

const CublasLt& lt() {
  static const CublasLt functions;
  return functions;
}

void check(const char* what, cublasStatus_t status) {
  FOVEA_CHECK(status == CUBLAS_STATUS_SUCCESS, BackendError,
              fmt::format("cuda: {}: {}", what, lt().cublasLtGetStatusString(status)));
}

struct Handle : Owned<cublasLtHandle_t> {
  Handle() : Owned(lt().cublasLtDestroy) {}
};
struct Layout : Owned<cublasLtMatrixLayout_t> {
  Layout() : Owned(lt().cublasLtMatrixLayoutDestroy) {}
};
struct Preference : Owned<cublasLtMatmulPreference_t> {
  Preference() : Owned(lt().cublasLtMatmulPreferenceDestroy) {}
};
struct Description : Owned<cublasLtMatmulDesc_t> {
  Description() : Owned(lt().cublasLtMatmulDescDestroy) {}
};

cudaDataType type_of(DType dtype) {
  if (dtype == DType::kBFloat16) return CUDA_R_16BF;
  return dtype == DType::kFloat64 ? CUDA_R_64F : CUDA_R_32F;
}

template <class T>
void set(const Description& of, cublasLtMatmulDescAttributes_t attribute, const T& value) {
  check("describing a product",
        lt().cublasLtMatmulDescSetAttribute(of.get(), attribute, &value, sizeof(T)));
}

// A column-major matrix for every item of a batch.
void make(Layout& layout, DType dtype, std::int64_t rows, std::int64_t columns, std::int64_t ld,
          std::int64_t batch, std::int64_t stride) {
  const char* const what = "describing a matrix";
  check(what, lt().cublasLtMatrixLayoutCreate(layout.address(), type_of(dtype),
                                              static_cast<std::uint64_t>(rows),
                                              static_cast<std::uint64_t>(columns), ld));
  const auto count = static_cast<std::int32_t>(batch);
  check(what, lt().cublasLtMatrixLayoutSetAttribute(
                  layout.get(), CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &count, sizeof(count)));
  check(what,
        lt().cublasLtMatrixLayoutSetAttribute(
            layout.get(), CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &stride, sizeof(stride)));
}

// One shape of products. The library's matrices are column-major: it is asked for the transposed
// product, c^T = op(b)^T op(a)^T, whose operands lie in memory as ours do; a bias that is added to
// the rows of c is then one that is added to its columns.
struct Plan {
  Plan(const GemmArgs& s, DType in, DType out, bool bias, std::uint32_t alignment, bool allow_tf32,
       cublasLtHandle_t library);

  Description product;
  Layout a, b, c;
  cublasLtMatmulAlgo_t algorithm{};
  bool found = false;
};

constexpr std::size_t kWorkspace = 32 << 20;

cublasComputeType_t compute_type(DType in, bool allow_tf32) {
  if (in == DType::kFloat64) return CUBLAS_COMPUTE_64F;
  return in == DType::kFloat32 && allow_tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F;
}

Plan::Plan(const GemmArgs& s, DType in, DType out, bool bias, std::uint32_t alignment,
           bool allow_tf32, cublasLtHandle_t library) {
  const bool wide = in == DType::kFloat64;
  check("describing a product",
        lt().cublasLtMatmulDescCreate(product.address(), compute_type(in, allow_tf32),
                                      wide ? CUDA_R_64F : CUDA_R_32F));
  const auto operation = [](bool transposed) { return transposed ? CUBLAS_OP_T : CUBLAS_OP_N; };
  set(product, CUBLASLT_MATMUL_DESC_TRANSA, operation(s.trans_b));
  set(product, CUBLASLT_MATMUL_DESC_TRANSB, operation(s.trans_a));
  // (Its header does not say which GELU its epilogue has. Networks need the exact one: a kernel of
  // ours. Nor does it say for which types it sums the gradient of a bias beside a weight's; that
  // sum is needed where no plan is found and where weights are frozen as well: a reduction of
  // ours.)
  if (bias) set(product, CUBLASLT_MATMUL_DESC_EPILOGUE, CUBLASLT_EPILOGUE_BIAS);
  const auto operand = [&](Layout& layout, bool transposed, std::int64_t rows, std::int64_t columns,
                           std::int64_t ld, std::int64_t stride) {
    make(layout, in, transposed ? columns : rows, transposed ? rows : columns, ld, s.batch, stride);
  };
  operand(b, s.trans_b, s.n, s.k, s.ldb, s.stride_b);
  operand(a, s.trans_a, s.k, s.m, s.lda, s.stride_a);
  make(c, out, s.n, s.m, s.ldc, s.batch, s.stride_c);

  Preference preference;
  check("choosing a kernel", lt().cublasLtMatmulPreferenceCreate(preference.address()));
  const auto prefer = [&](cublasLtMatmulPreferenceAttributes_t attribute, const auto& value) {
    check("choosing a kernel", lt().cublasLtMatmulPreferenceSetAttribute(
                                   preference.get(), attribute, &value, sizeof(value)));
  };
  prefer(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, kWorkspace);
  // Partial sums of a product that is split along k are not rounded to bfloat16.
  prefer(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK,
         static_cast<std::uint32_t>(CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE));
  for (const auto operand_alignment :
       {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
        CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES})
    prefer(operand_alignment, alignment);
  cublasLtMatmulHeuristicResult_t best{};
  int results = 0;
  const cublasStatus_t status =
      lt().cublasLtMatmulAlgoGetHeuristic(library, product.get(), b.get(), a.get(), c.get(),
                                          c.get(), preference.get(), 1, &best, &results);
  found = status == CUBLAS_STATUS_SUCCESS && results == 1;
  algorithm = best.algo;
}

// Bytes that divide where all operands begin, as far as kernels care.
std::uint32_t alignment_of(std::initializer_list<std::uintptr_t> addresses) {
  std::uintptr_t bits = 16;
  for (const std::uintptr_t at : addresses) bits |= at;
  return static_cast<std::uint32_t>(bits & -bits);
}

}  // namespace

struct CudaMatmul::State {
  Handle library;
  void* workspace = nullptr;
  RecentTable<std::vector<std::int64_t>, Plan, HashOfNumbers> plans;
  bool allow_tf32;

  explicit State(bool allows_tf32) : allow_tf32(allows_tf32) {
    check("opening cuBLASLt", lt().cublasLtCreate(library.address()));
    check("memory of cuBLASLt", cudaMalloc(&workspace, kWorkspace));
  }
  ~State() { cudaFree(workspace); }
  State(const State&) = delete;
  State& operator=(const State&) = delete;
};

CudaMatmul::CudaMatmul(bool allow_tf32)
    : state_(lt().there() ? std::make_unique<State>(allow_tf32) : nullptr) {}
CudaMatmul::~CudaMatmul() = default;

bool CudaMatmul::there() const { return state_ != nullptr; }

std::string CudaMatmul::missing() {
  return lt().there() ? "" : "products of matrices are slower: " + not_found(file_of_library());
}

bool CudaMatmul::run(const GemmArgs& s, const Tensor& a, const Tensor& b, const Tensor& bias,
                     const Tensor& c, cudaStream_t stream) {
  if (!state_ || s.m == 0 || s.n == 0 || s.k == 0 || s.batch == 0) return false;
  if (s.batch > std::numeric_limits<std::int32_t>::max()) return false;  // (it counts them in int)
  const DType in = a.dtype(), out = c.dtype();
  Tensor added = bias;
  if (bias.defined() && bias.dtype() != out) {
    added = Tensor::empty(bias.shape(), out, bias.device());
    backend(bias).cast(bias, added);
  }
  const std::uint32_t alignment =
      alignment_of({address(a), address(b), address(c), added.defined() ? address(added) : 0});
  const std::int64_t flags = (s.trans_a ? 1 : 0) + (s.trans_b ? 2 : 0) + (bias.defined() ? 4 : 0);
  Plan& plan = state_->plans.get(
      {flags, static_cast<std::int64_t>(in), static_cast<std::int64_t>(out), alignment, s.m, s.n,
       s.k, s.lda, s.ldb, s.ldc, s.batch, s.stride_a, s.stride_b, s.stride_c},
      [&] {
        return Plan(s, in, out, bias.defined(), alignment, state_->allow_tf32,
                    state_->library.get());
      });
  if (!plan.found) return false;

  if (added.defined()) set(plan.product, CUBLASLT_MATMUL_DESC_BIAS_POINTER, pointer(added));
  const double one = 1, zero = 0;
  const float narrow_one = 1, narrow_zero = 0;
  const bool wide = in == DType::kFloat64;
  check("multiplying matrices",
        lt().cublasLtMatmul(state_->library.get(), plan.product.get(),
                            wide ? static_cast<const void*>(&one) : &narrow_one, pointer(b),
                            plan.b.get(), pointer(a), plan.a.get(),
                            wide ? static_cast<const void*>(&zero) : &narrow_zero, pointer(c),
                            plan.c.get(), pointer(c), plan.c.get(), &plan.algorithm,
                            state_->workspace, kWorkspace, stream));
  return true;
}

}  // namespace fovea::gpu
