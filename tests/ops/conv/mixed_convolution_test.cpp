// Convolutions, pooling and batch norms of bfloat16 activations with float32 parameters.
#include "ops/conv/convolution.h"
#include "ops/norm.h"
#include "tests/support/mixed_precision.h"
#include "tests/support/ramp.h"

using namespace fovea;
using namespace fovea::test;
using ops::ConvOptions;

namespace {

Tensor half(const Tensor& x) { return ops::cast(x, DType::kBFloat16); }
Tensor full(const Tensor& x) { return ops::cast(x, DType::kFloat32); }

ops::BatchNorm norm(const Tensor& weight, const Tensor& bias) {
  return {weight, bias, {}, {}, true, 0.1, 1e-5};
}

}  // namespace

TEST_CASE("mixed precision: convolutions", "[ops]") {
  struct ConvCase {
    const char* name;
    Shape x, w;
    std::int64_t stride, padding, groups;
  };
  const auto sizes =
      GENERATE(values<ConvCase>({{"pixel", {35, 24, 9, 11}, {10, 24, 1, 1}, 1, 0, 1},
                                 {"pixel, few channels", {3, 16, 8, 8}, {64, 16, 1, 1}, 1, 0, 1},
                                 {"pixel, many pixels", {1, 40, 70, 61}, {8, 40, 1, 1}, 1, 0, 1},
                                 {"pixel, many items", {110, 64, 8, 8}, {64, 64, 1, 1}, 1, 0, 1},
                                 {"pixel, groups", {3, 12, 8, 8}, {12, 6, 1, 1}, 1, 0, 2},
                                 {"3 x 3", {37, 16, 10, 12}, {16, 16, 3, 3}, 1, 1, 1},
                                 {"3 x 3, stride", {3, 32, 9, 11}, {48, 32, 3, 3}, 2, 1, 1},
                                 {"3 x 3, groups", {3, 32, 8, 8}, {32, 16, 3, 3}, 1, 1, 2},
                                 {"3 x 3, images", {9, 3, 12, 12}, {16, 3, 3, 3}, 1, 1, 1},
                                 {"pixel, stride", {3, 64, 8, 8}, {32, 64, 1, 1}, 2, 0, 1},
                                 {"few of all", {2, 5, 7, 3}, {4, 5, 3, 1}, 3, 2, 1},
                                 {"depthwise", {2, 6, 9, 7}, {6, 1, 3, 3}, 1, 1, 6},
                                 {"depthwise, stride", {2, 3, 9, 7}, {6, 1, 3, 3}, 2, 1, 3},
                                 {"one axis", {3, 16, 40}, {32, 16, 3}, 1, 1, 1},
                                 {"three axes", {2, 16, 5, 6, 7}, {16, 16, 3, 3, 3}, 1, 1, 1}}));
  const ConvOptions options{{sizes.stride}, {sizes.padding}, {1}, sizes.groups};
  check_mixed_precision({sizes.name, {sizes.x}, {sizes.w, {sizes.w[0]}}, [=](const auto& t) {
                           return ops::conv(t[0], t[1], t[2], options);
                         }});
}

TEST_CASE("mixed precision: transposed convolutions", "[ops]") {
  for (const std::int64_t stride : {1, 2}) {
    check_mixed_precision(
        {"conv_transpose", {{3, 32, 6, 5}}, {{32, 16, 3, 3}, {16}}, [=](const auto& t) {
           return ops::conv_transpose(t[0], t[1], t[2], {{stride}, {1}});
         }});
  }
}

TEST_CASE("mixed precision: depthwise convolutions of tokens", "[ops]") {
  for (const std::int64_t channels : {3, 16, 37}) {
    check_mixed_precision(
        {"token_conv", {{2, 35, channels}}, {{channels, 1, 3, 3}, {channels}}, [](const auto& t) {
           return ops::token_conv(t[0], t[1], t[2], 5, 7);
         }});
  }
}

TEST_CASE("mixed precision: batch norm with what follows it", "[ops]") {
  const Shape shape{6, 5, 7, 3};
  check_mixed_precision({"batch_norm", {shape}, {{5}, {5}}, [](const auto& t) {
                           return ops::batch_norm(norm(t[1], t[2]), t[0]);
                         }});
  check_mixed_precision(
      {"batch_norm, residual, ReLU", {shape, shape}, {{5}, {5}}, [](const auto& t) {
         return ops::batch_norm(norm(t[2], t[3]), t[0], t[1], true);
       }});
  check_mixed_precision({"group_norm", {{4, 6, 5, 3}}, {{6}, {6}}, [](const auto& t) {
                           return ops::group_norm(t[0], 2, t[1], t[2], 1e-5);
                         }});
}

TEST_CASE("mixed precision: pooling", "[ops]") {
  const std::vector<Shape> shape{{3, 4, 9, 7}};
  const auto check = [&](const char* name, const Function& function) {
    check_mixed_precision({name, shape, {}, function});
  };
  check("max_pool", [](const auto& t) { return ops::max_pool(t[0], {3}, {2}, {1}); });
  check("avg_pool", [](const auto& t) { return ops::avg_pool(t[0], {3}, {1}, {1}); });
  check("avg_pool, padding counts not",
        [](const auto& t) { return ops::avg_pool(t[0], {3}, {2}, {1}, false); });
  check("adaptive_avg_pool", [](const auto& t) { return ops::adaptive_avg_pool(t[0], {1}); });
  check("adaptive_max_pool", [](const auto& t) { return ops::adaptive_max_pool(t[0], {4, 2}); });
}

TEST_CASE("mixed precision: resizing", "[ops]") {
  const auto mode = GENERATE(ops::Interpolation::kLinear, ops::Interpolation::kNearest);
  const bool align = GENERATE(false, true);
  const auto check = [&](const char* name, const Shape& x, const ops::Sizes& output) {
    check_mixed_precision(
        {name, {x}, {}, [=](const auto& t) { return ops::resize(t[0], output, mode, align); }});
  };
  check("up", {3, 4, 9, 7}, {18, 14});
  check("down", {2, 3, 23, 40}, {5, 7});
  check("one axis", {2, 3, 5}, {41});
  check("three axes", {1, 2, 3, 4, 5}, {5, 3, 9});
}

TEST_CASE("mixed precision: the gradient of resizing is rounded once", "[ops]") {
  // 4096 outputs of gradient 2^-10 read one input: a sum kept in bfloat16 would stop at 2^-2.
  const Tensor x = trainable(Tensor::from(std::vector<float>{1}, {1, 1, 1}, cpu()));
  const auto mode = GENERATE(ops::Interpolation::kLinear, ops::Interpolation::kNearest);
  const Tensor y = ops::resize(half(x), {4096}, mode);
  autograd::backward(ops::mul(ops::sum(full(y)), 0x1p-10));
  check_values(x.grad(), {4.0});
}

TEST_CASE("mixed precision: convolutions have the same bits for any number of threads",
          "[ops][host]") {
  check_threads(
      [](const auto& t) {
        const Tensor y = ops::batch_norm(norm(t[1], {}), half(t[0]), half(t[2]), true);
        const Tensor z = ops::conv(ops::conv(y, t[3], {}, {}), t[4], {}, {{1}, {1}});
        return full(ops::avg_pool(ops::conv(z, t[5], {}, {{2}, {1}, {1}, 16}), {2}, {1}));
      },
      {{19, 8, 9, 11}, {8}, {19, 8, 9, 11}, {16, 8, 1, 1}, {16, 16, 3, 3}, {16, 1, 3, 3}});
}
