#include "backend/gpu/cuda/convolution.h"

#include <cudnn.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "backend/backend.h"
#include "backend/gpu/cuda/library.h"
#include "backend/gpu/cuda/pointer.h"
#include "base/error.h"
#include "base/recent_table.h"

namespace fovea::gpu {
namespace {

#define FOVEA_FUNCTIONS(X)                         \
  X(cudnnConvolutionBackwardData)                  \
  X(cudnnConvolutionBackwardFilter)                \
  X(cudnnConvolutionForward)                       \
  X(cudnnCreate)                                   \
  X(cudnnCreateConvolutionDescriptor)              \
  X(cudnnCreateFilterDescriptor)                   \
  X(cudnnCreateTensorDescriptor)                   \
  X(cudnnDestroy)                                  \
  X(cudnnDestroyConvolutionDescriptor)             \
  X(cudnnDestroyFilterDescriptor)                  \
  X(cudnnDestroyTensorDescriptor)                  \
  X(cudnnGetConvolutionBackwardDataAlgorithm_v7)   \
  X(cudnnGetConvolutionBackwardFilterAlgorithm_v7) \
  X(cudnnGetConvolutionForwardAlgorithm_v7)        \
  X(cudnnGetErrorString)                           \
  X(cudnnSetConvolutionGroupCount)                 \
  X(cudnnSetConvolutionMathType)                   \
  X(cudnnSetConvolutionNdDescriptor)               \
  X(cudnnSetFilterNdDescriptor)                    \
  X(cudnnSetStream)                                \
  X(cudnnSetTensorNdDescriptor)

std::string file_of_library() { return fmt::format("libcudnn.so.{}", CUDNN_MAJOR); }

FOVEA_LIBRARY(Cudnn, file_of_library(), FOVEA_FUNCTIONS);

const Cudnn& dnn() {
  static const Cudnn functions;
  return functions;
}

void check(const char* what, cudnnStatus_t status) {
  FOVEA_CHECK(status == CUDNN_STATUS_SUCCESS, BackendError,
              fmt::format("cuda: {}: {}", what, dnn().cudnnGetErrorString(status)));
}

bool succeeds(cudnnStatus_t status) { return status == CUDNN_STATUS_SUCCESS; }

struct Library : Owned<cudnnHandle_t> {
  Library() : Owned(dnn().cudnnDestroy) {}
};
struct Map : Owned<cudnnTensorDescriptor_t> {
  Map() : Owned(dnn().cudnnDestroyTensorDescriptor) {}
};
struct Filter : Owned<cudnnFilterDescriptor_t> {
  Filter() : Owned(dnn().cudnnDestroyFilterDescriptor) {}
};
struct Description : Owned<cudnnConvolutionDescriptor_t> {
  Description() : Owned(dnn().cudnnDestroyConvolutionDescriptor) {}
};

cudnnDataType_t type_of(DType dtype) {
  if (dtype == DType::kBFloat16) return CUDNN_DATA_BFLOAT16;
  return dtype == DType::kFloat64 ? CUDNN_DATA_DOUBLE : CUDNN_DATA_FLOAT;
}

std::vector<int> narrow(const std::vector<std::int64_t>& values) {
  return {values.begin(), values.end()};
}

// The library has two or three spatial axes: one alone gets a second of size 1 in front.
std::vector<int> sizes_of(const Shape& shape) {
  std::vector<int> sizes = narrow(shape.to_vector());
  if (sizes.size() == 3) sizes.insert(sizes.begin() + 2, 1);
  return sizes;
}
std::vector<int> axes_of(const std::vector<std::int64_t>& values, int missing) {
  std::vector<int> axes = narrow(values);
  if (axes.size() == 1) axes.insert(axes.begin(), missing);
  return axes;
}

// False where the library refuses; so do those below.
bool make(Map& map, const Tensor& x) {
  const std::vector<int> sizes = sizes_of(x.shape());
  std::vector<int> strides(sizes.size(), 1);
  for (std::size_t i = sizes.size() - 1; i-- > 0;) strides[i] = strides[i + 1] * sizes[i + 1];
  return succeeds(dnn().cudnnCreateTensorDescriptor(map.address())) &&
         succeeds(dnn().cudnnSetTensorNdDescriptor(map.get(), type_of(x.dtype()),
                                                   static_cast<int>(sizes.size()), sizes.data(),
                                                   strides.data()));
}

struct Algorithm {
  int number;
  cudnnMathType_t math;
  std::size_t workspace;
};

struct Plan {
  Plan(ConvResult result, const ConvArgs& args, const Tensor& x_map, const Tensor& weight_map,
       const Tensor& y_map, bool allow_tf32, cudnnHandle_t library);

  Map x, y;
  Filter weight;
  Description convolution;
  std::vector<Algorithm> algorithms;  // the best one first; none: the library refuses
};

cudnnMathType_t math_type(DType dtype, bool allow_tf32) {
  if (dtype == DType::kBFloat16) return CUDNN_TENSOR_OP_MATH;
  return dtype == DType::kFloat32 && allow_tf32 ? CUDNN_DEFAULT_MATH : CUDNN_FMA_MATH;
}

bool describe(Plan& plan, const ConvArgs& args, const Tensor& x, const Tensor& weight,
              const Tensor& y, bool allow_tf32) {
  const DType dtype = x.dtype();
  const std::vector<int> sizes = sizes_of(weight.shape());
  const std::vector<int> padding = axes_of(args.padding, 0), stride = axes_of(args.stride, 1),
                         dilation = axes_of(args.dilation, 1);
  return make(plan.x, x) && make(plan.y, y) &&
         succeeds(dnn().cudnnCreateFilterDescriptor(plan.weight.address())) &&
         succeeds(dnn().cudnnSetFilterNdDescriptor(plan.weight.get(), type_of(dtype),
                                                   CUDNN_TENSOR_NCHW,
                                                   static_cast<int>(sizes.size()), sizes.data())) &&
         succeeds(dnn().cudnnCreateConvolutionDescriptor(plan.convolution.address())) &&
         succeeds(dnn().cudnnSetConvolutionNdDescriptor(
             plan.convolution.get(), static_cast<int>(padding.size()), padding.data(),
             stride.data(), dilation.data(), CUDNN_CROSS_CORRELATION,
             type_of(compute_dtype(dtype)))) &&
         succeeds(dnn().cudnnSetConvolutionGroupCount(plan.convolution.get(),
                                                      static_cast<int>(args.groups))) &&
         // (The default of float32 is TF32.)
         succeeds(dnn().cudnnSetConvolutionMathType(plan.convolution.get(),
                                                    math_type(dtype, allow_tf32)));
}

constexpr std::size_t kMostWorkspace = std::size_t{512} << 20;

// What the heuristics name, of that what gives the same bits every time.
template <class Candidate, class Ask>
void choose(Plan& plan, bool fma_only, const Ask& ask) {
  constexpr int kMost = 8;
  Candidate candidates[kMost];
  int count = 0;
  if (!succeeds(ask(kMost, &count, candidates))) return;
  for (const Candidate& candidate : std::span(candidates, static_cast<std::size_t>(count))) {
    if (!succeeds(candidate.status)) continue;
    if (candidate.determinism != CUDNN_DETERMINISTIC) continue;
    if (candidate.memory > kMostWorkspace) continue;
    // (It would round float32 to half precision.)
    if (candidate.mathType == CUDNN_TENSOR_OP_MATH_ALLOW_CONVERSION) continue;
    plan.algorithms.push_back({.number = static_cast<int>(candidate.algo),
                               .math = fma_only ? CUDNN_FMA_MATH : candidate.mathType,
                               .workspace = candidate.memory});
  }
}

void choose(Plan& plan, ConvResult result, bool fma_only, cudnnHandle_t library) {
  const auto x = plan.x.get();
  const auto y = plan.y.get();
  const auto weight = plan.weight.get();
  const auto convolution = plan.convolution.get();
  switch (result) {
    case ConvResult::kOutput:
      return choose<cudnnConvolutionFwdAlgoPerf_t>(
          plan, fma_only, [&](int most, int* count, auto* found) {
            return dnn().cudnnGetConvolutionForwardAlgorithm_v7(library, x, weight, convolution, y,
                                                                most, count, found);
          });
    case ConvResult::kInput:
      return choose<cudnnConvolutionBwdDataAlgoPerf_t>(
          plan, fma_only, [&](int most, int* count, auto* found) {
            return dnn().cudnnGetConvolutionBackwardDataAlgorithm_v7(
                library, weight, y, convolution, x, most, count, found);
          });
    case ConvResult::kWeight:
      return choose<cudnnConvolutionBwdFilterAlgoPerf_t>(
          plan, fma_only, [&](int most, int* count, auto* found) {
            return dnn().cudnnGetConvolutionBackwardFilterAlgorithm_v7(library, x, y, convolution,
                                                                       weight, most, count, found);
          });
  }
}

cudnnStatus_t convolve(const Plan& plan, const Algorithm& algorithm, ConvResult result,
                       cudnnHandle_t library, void* x, void* weight, void* y, void* workspace,
                       const void* one, const void* zero) {
  switch (result) {
    case ConvResult::kOutput:
      return dnn().cudnnConvolutionForward(library, one, plan.x.get(), x, plan.weight.get(), weight,
                                           plan.convolution.get(),
                                           static_cast<cudnnConvolutionFwdAlgo_t>(algorithm.number),
                                           workspace, algorithm.workspace, zero, plan.y.get(), y);
    case ConvResult::kInput:
      return dnn().cudnnConvolutionBackwardData(
          library, one, plan.weight.get(), weight, plan.y.get(), y, plan.convolution.get(),
          static_cast<cudnnConvolutionBwdDataAlgo_t>(algorithm.number), workspace,
          algorithm.workspace, zero, plan.x.get(), x);
    default:
      return dnn().cudnnConvolutionBackwardFilter(
          library, one, plan.x.get(), x, plan.y.get(), y, plan.convolution.get(),
          static_cast<cudnnConvolutionBwdFilterAlgo_t>(algorithm.number), workspace,
          algorithm.workspace, zero, plan.weight.get(), weight);
  }
}

Plan::Plan(ConvResult result, const ConvArgs& args, const Tensor& x_map, const Tensor& weight_map,
           const Tensor& y_map, bool allow_tf32, cudnnHandle_t library) {
  if (describe(*this, args, x_map, weight_map, y_map, allow_tf32))
    choose(*this, result, math_type(x_map.dtype(), allow_tf32) == CUDNN_FMA_MATH, library);
}

// All that a plan depends on, lists behind their lengths.
std::vector<std::int64_t> key_of(ConvResult result, const ConvArgs& args, const Tensor& x,
                                 const Tensor& weight) {
  std::vector<std::int64_t> key = {static_cast<std::int64_t>(result),
                                   static_cast<std::int64_t>(x.dtype()), args.groups};
  for (const auto& part : {x.shape().to_vector(), weight.shape().to_vector(), args.stride,
                           args.padding, args.dilation}) {
    key.push_back(std::ssize(part));
    key.insert(key.end(), part.begin(), part.end());
  }
  return key;
}

}  // namespace

struct CudaConvolution::State {
  Library library;
  RecentTable<std::vector<std::int64_t>, Plan, HashOfNumbers> plans;
  bool allow_tf32 = false;
};

CudaConvolution::CudaConvolution(bool allow_tf32) {
  if (!dnn().there()) return;
  auto state = std::make_unique<State>();
  state->allow_tf32 = allow_tf32;
  // (An installation whose parts do not fit each other fails here.)
  if (succeeds(dnn().cudnnCreate(state->library.address()))) state_ = std::move(state);
}
CudaConvolution::~CudaConvolution() = default;

bool CudaConvolution::there() const { return state_ != nullptr; }

std::string CudaConvolution::missing() {
  return dnn().there() ? "" : "convolutions are slower: " + not_found(file_of_library());
}

bool CudaConvolution::run(ConvResult result, const ConvArgs& args, const Tensor& x,
                          const Tensor& weight, const Tensor& y, cudaStream_t stream) {
  if (!state_ || x.numel() == 0 || y.numel() == 0 || weight.numel() == 0) return false;
  // (The library counts in int.)
  constexpr std::int64_t kMost = std::numeric_limits<int>::max();
  if (std::max({x.numel(), y.numel(), weight.numel()}) > kMost) return false;
  const DType dtype = x.dtype();
  const cudnnHandle_t library = state_->library.get();
  check("choosing the stream", dnn().cudnnSetStream(library, stream));
  Plan& plan = state_->plans.get(key_of(result, args, x, weight), [&] {
    return Plan(result, args, x, weight, y, state_->allow_tf32, library);
  });
  if (plan.algorithms.empty()) return false;

  const Device& device = x.device();
  const bool rounds = weight.dtype() != dtype;
  const Tensor taps = rounds ? Tensor::empty(weight.shape(), dtype, device) : weight;
  if (rounds && result != ConvResult::kWeight) device.backend().cast(weight, taps);
  const double one = 1, zero = 0;
  const float narrow_one = 1, narrow_zero = 0;
  const bool wide = dtype == DType::kFloat64;
  // An algorithm that turns out not to run is forgotten, and the next one is taken.
  const auto runs = [&](const Algorithm& algorithm) {
    const Tensor workspace =
        Tensor::empty({static_cast<std::int64_t>(algorithm.workspace)}, DType::kUint8, device);
    check("choosing the precision",
          dnn().cudnnSetConvolutionMathType(plan.convolution.get(), algorithm.math));
    return succeeds(convolve(plan, algorithm, result, library, pointer(x), pointer(taps),
                             pointer(y), pointer(workspace),
                             wide ? static_cast<const void*>(&one) : &narrow_one,
                             wide ? static_cast<const void*>(&zero) : &narrow_zero));
  };
  while (!plan.algorithms.empty() && !runs(plan.algorithms.front()))
    plan.algorithms.erase(plan.algorithms.begin());
  if (plan.algorithms.empty()) return false;
  if (rounds && result == ConvResult::kWeight) device.backend().cast(taps, weight);
  return true;
}

}  // namespace fovea::gpu
