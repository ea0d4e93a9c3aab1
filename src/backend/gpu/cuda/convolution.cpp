#include "backend/gpu/cuda/convolution.h"

#include <cudnn.h>
#include <fmt/format.h>

#include <map>
#include <tuple>

#include "backend/backend.h"
#include "backend/gpu/cuda/library.h"
#include "backend/gpu/cuda/pointer.h"
#include "base/error.h"

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

FOVEA_LIBRARY(Cudnn, fmt::format("libcudnn.so.{}", CUDNN_MAJOR), FOVEA_FUNCTIONS);

const Cudnn& dnn() {
  static const Cudnn functions;
  return functions;
}

void check(const char* what, cudnnStatus_t status) {
  FOVEA_CHECK(status == CUDNN_STATUS_SUCCESS, BackendError,
              fmt::format("cuda: {}: {}", what, dnn().cudnnGetErrorString(status)));
}

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

void make(Map& map, const Tensor& x) {
  const std::vector<int> sizes = sizes_of(x.shape());
  std::vector<int> strides(sizes.size(), 1);
  for (std::size_t i = sizes.size() - 1; i-- > 0;) strides[i] = strides[i + 1] * sizes[i + 1];
  check("describing a map", dnn().cudnnCreateTensorDescriptor(map.address()));
  check("describing a map", dnn().cudnnSetTensorNdDescriptor(map.get(), type_of(x.dtype()),
                                                             static_cast<int>(sizes.size()),
                                                             sizes.data(), strides.data()));
}

struct Plan {
  Map x, y;
  Filter weight;
  Description convolution;
  bool found = false;
  int algorithm = 0;
  std::size_t workspace = 0;
};

cudnnMathType_t math_type(DType dtype, bool allow_tf32) {
  if (dtype == DType::kBFloat16) return CUDNN_TENSOR_OP_MATH;
  return dtype == DType::kFloat32 && allow_tf32 ? CUDNN_DEFAULT_MATH : CUDNN_FMA_MATH;
}

void describe(Plan& plan, const ConvArgs& args, const Tensor& x, const Tensor& weight,
              const Tensor& y, bool allow_tf32) {
  const char* const what = "describing a convolution";
  const DType dtype = x.dtype();
  make(plan.x, x);
  make(plan.y, y);
  const std::vector<int> sizes = sizes_of(weight.shape());
  check(what, dnn().cudnnCreateFilterDescriptor(plan.weight.address()));
  check(what, dnn().cudnnSetFilterNdDescriptor(plan.weight.get(), type_of(dtype), CUDNN_TENSOR_NCHW,
                                               static_cast<int>(sizes.size()), sizes.data()));
  const std::vector<int> padding = axes_of(args.padding, 0), stride = axes_of(args.stride, 1),
                         dilation = axes_of(args.dilation, 1);
  check(what, dnn().cudnnCreateConvolutionDescriptor(plan.convolution.address()));
  check(what,
        dnn().cudnnSetConvolutionNdDescriptor(
            plan.convolution.get(), static_cast<int>(padding.size()), padding.data(), stride.data(),
            dilation.data(), CUDNN_CROSS_CORRELATION, type_of(compute_dtype(dtype))));
  check(what,
        dnn().cudnnSetConvolutionGroupCount(plan.convolution.get(), static_cast<int>(args.groups)));
  // (The default of float32 is TF32.)
  check(what,
        dnn().cudnnSetConvolutionMathType(plan.convolution.get(), math_type(dtype, allow_tf32)));
}

// The best of what the heuristics name, of those that give the same bits every time.
template <class Candidate, class Ask>
void choose(Plan& plan, const Ask& ask) {
  constexpr int kMost = 8;
  Candidate candidates[kMost];
  int count = 0;
  if (ask(kMost, &count, candidates) != CUDNN_STATUS_SUCCESS) return;
  for (int i = 0; i < count && !plan.found; ++i) {
    if (candidates[i].status != CUDNN_STATUS_SUCCESS) continue;
    if (candidates[i].determinism != CUDNN_DETERMINISTIC) continue;
    plan.found = true;
    plan.algorithm = static_cast<int>(candidates[i].algo);
    plan.workspace = candidates[i].memory;
  }
}

void choose(Plan& plan, ConvResult result, cudnnHandle_t library) {
  const auto x = plan.x.get();
  const auto y = plan.y.get();
  const auto weight = plan.weight.get();
  const auto convolution = plan.convolution.get();
  switch (result) {
    case ConvResult::kOutput:
      return choose<cudnnConvolutionFwdAlgoPerf_t>(plan, [&](int most, int* count, auto* found) {
        return dnn().cudnnGetConvolutionForwardAlgorithm_v7(library, x, weight, convolution, y,
                                                            most, count, found);
      });
    case ConvResult::kInput:
      return choose<cudnnConvolutionBwdDataAlgoPerf_t>(
          plan, [&](int most, int* count, auto* found) {
            return dnn().cudnnGetConvolutionBackwardDataAlgorithm_v7(
                library, weight, y, convolution, x, most, count, found);
          });
    case ConvResult::kWeight:
      return choose<cudnnConvolutionBwdFilterAlgoPerf_t>(
          plan, [&](int most, int* count, auto* found) {
            return dnn().cudnnGetConvolutionBackwardFilterAlgorithm_v7(library, x, y, convolution,
                                                                       weight, most, count, found);
          });
  }
}

cudnnStatus_t convolve(const Plan& plan, ConvResult result, cudnnHandle_t library, void* x,
                       void* weight, void* y, void* workspace, const void* one, const void* zero) {
  switch (result) {
    case ConvResult::kOutput:
      return dnn().cudnnConvolutionForward(library, one, plan.x.get(), x, plan.weight.get(), weight,
                                           plan.convolution.get(),
                                           static_cast<cudnnConvolutionFwdAlgo_t>(plan.algorithm),
                                           workspace, plan.workspace, zero, plan.y.get(), y);
    case ConvResult::kInput:
      return dnn().cudnnConvolutionBackwardData(
          library, one, plan.weight.get(), weight, plan.y.get(), y, plan.convolution.get(),
          static_cast<cudnnConvolutionBwdDataAlgo_t>(plan.algorithm), workspace, plan.workspace,
          zero, plan.x.get(), x);
    default:
      return dnn().cudnnConvolutionBackwardFilter(
          library, one, plan.x.get(), x, plan.y.get(), y, plan.convolution.get(),
          static_cast<cudnnConvolutionBwdFilterAlgo_t>(plan.algorithm), workspace, plan.workspace,
          zero, plan.weight.get(), weight);
  }
}

using Key = std::tuple<ConvResult, DType, std::vector<std::int64_t>, std::vector<std::int64_t>,
                       std::vector<std::int64_t>, std::vector<std::int64_t>,
                       std::vector<std::int64_t>, std::int64_t>;

}  // namespace

struct CudaConvolution::State {
  Library library;
  std::map<Key, Plan> plans;
  bool allow_tf32 = false;
};

CudaConvolution::CudaConvolution(bool allow_tf32) {
  if (!dnn().there()) return;
  state_ = std::make_unique<State>();
  state_->allow_tf32 = allow_tf32;
  check("opening cuDNN", dnn().cudnnCreate(state_->library.address()));
}
CudaConvolution::~CudaConvolution() = default;

bool CudaConvolution::there() const { return state_ != nullptr; }

bool CudaConvolution::run(ConvResult result, const ConvArgs& args, const Tensor& x,
                          const Tensor& weight, const Tensor& y, cudaStream_t stream) {
  if (!state_ || x.numel() == 0 || y.numel() == 0 || weight.numel() == 0) return false;
  const DType dtype = x.dtype();
  const cudnnHandle_t library = state_->library.get();
  check("choosing the stream", dnn().cudnnSetStream(library, stream));
  Plan& plan = state_->plans[Key{result, dtype, x.shape().to_vector(), weight.shape().to_vector(),
                                 args.stride, args.padding, args.dilation, args.groups}];
  if (!plan.convolution.get()) {
    describe(plan, args, x, weight, y, state_->allow_tf32);
    choose(plan, result, library);
  }
  if (!plan.found) return false;

  const Device& device = x.device();
  const bool rounds = weight.dtype() != dtype;
  const Tensor taps = rounds ? Tensor::empty(weight.shape(), dtype, device) : weight;
  if (rounds && result != ConvResult::kWeight) device.backend().cast(weight, taps);
  const Tensor workspace =
      Tensor::empty({static_cast<std::int64_t>(plan.workspace)}, DType::kUint8, device);
  const double one = 1, zero = 0;
  const float narrow_one = 1, narrow_zero = 0;
  const bool wide = dtype == DType::kFloat64;
  check("convolving",
        convolve(plan, result, library, pointer(x), pointer(taps), pointer(y), pointer(workspace),
                 wide ? static_cast<const void*>(&one) : &narrow_one,
                 wide ? static_cast<const void*>(&zero) : &narrow_zero));
  if (rounds && result == ConvResult::kWeight) device.backend().cast(taps, weight);
  return true;
}

}  // namespace fovea::gpu
