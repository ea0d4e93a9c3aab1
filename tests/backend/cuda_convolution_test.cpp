// What cuDNN refuses is left to our kernels, with a cuDNN that does nothing. (Where the backend is
// built; neither the library nor a card is needed.)
#if defined(FOVEA_WITH_CUDNN)

#include <cudnn.h>

#include <catch2/catch.hpp>

#include <string>

#include "backend/gpu/cuda/library.h"

namespace {

std::string refused;  // the function that says no
int set_up = 0;       // handles that were made and not given back

template <class Name, class Function>
struct FakeFunction;
template <class Name, class... Arguments>
struct FakeFunction<Name, cudnnStatus_t(Arguments...)> {
  static cudnnStatus_t call(Arguments... arguments) {
    const std::string name = Name::kText;
    if (name == refused) return CUDNN_STATUS_NOT_SUPPORTED;
    if (name.starts_with("cudnnDestroy")) --set_up;
    if (name.starts_with("cudnnCreate")) {
      ++set_up;
      (make(arguments), ...);
    }
    return CUDNN_STATUS_SUCCESS;
  }
  template <class Handle>
  static void make(Handle** made) {
    *made = reinterpret_cast<Handle*>(&set_up);
  }
  template <class Other>
  static void make(Other) {}
};
template <class Name, class... Arguments>
struct FakeFunction<Name, const char*(Arguments...)> {
  static const char* call(Arguments...) { return "refused"; }
};

}  // namespace

#define FAKE_NAME(name)                         \
  struct NameOf_##name {                        \
    static constexpr const char* kText = #name; \
  };
#define FAKE_MEMBER(name) \
  decltype(&::name) name = FakeFunction<NameOf_##name, decltype(::name)>::call;
#undef FOVEA_LIBRARY
#define FOVEA_LIBRARY(Type, file, FUNCTIONS) \
  FUNCTIONS(FAKE_NAME)                       \
  struct Type {                              \
    FUNCTIONS(FAKE_MEMBER)                   \
    bool there() const { return true; }      \
  }
#define CudaConvolution ConvolutionOfFakes
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wsubobject-linkage"  // included, it looks like a header
#include "backend/gpu/cuda/convolution.cpp"           // NOLINT
#pragma GCC diagnostic pop
#undef CudaConvolution

#include "backend/devices.h"

TEST_CASE("cuDNN: a convolution that it cannot describe falls back", "[backend][cuda]") {
  using namespace fovea;
  const Device host = make_cpu(1);
  const Tensor x = Tensor::empty({2, 4, 5, 6}, DType::kFloat32, host);
  const Tensor weight = Tensor::empty({8, 4, 3, 3}, DType::kFloat32, host);
  const Tensor y = Tensor::empty({2, 8, 5, 6}, DType::kFloat32, host);
  const ConvArgs args{.stride = {1, 1}, .padding = {1, 1}, .dilation = {1, 1}};
  for (const char* name :
       {"", "cudnnCreateTensorDescriptor", "cudnnSetTensorNdDescriptor",
        "cudnnSetFilterNdDescriptor", "cudnnCreateConvolutionDescriptor",
        "cudnnSetConvolutionNdDescriptor", "cudnnSetConvolutionGroupCount",
        "cudnnSetConvolutionMathType", "cudnnGetConvolutionForwardAlgorithm_v7"}) {
    INFO(name);
    {
      refused.clear();
      gpu::ConvolutionOfFakes convolution(false);
      REQUIRE(convolution.there());
      refused = name;
      // (The fake names no algorithm.)
      CHECK_FALSE(convolution.run(gpu::ConvResult::kOutput, args, x, weight, y, nullptr));
      CHECK_FALSE(convolution.run(gpu::ConvResult::kWeight, args, x, weight, y, nullptr));
    }
    CHECK(set_up == 0);  // what was made is given back
  }
}

#endif
