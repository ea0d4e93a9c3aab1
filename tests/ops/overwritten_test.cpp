// Every operation against every value it is given or gives: overwritten between forward and
// backward, a value that backward needs is an error, and any other changes nothing.
#include <algorithm>
#include <iterator>

#include "autograd/graph.h"
#include "ops/activation.h"
#include "ops/attention/attention.h"
#include "ops/attention/linear_attention.h"
#include "ops/attention/magnitude_attention.h"
#include "ops/attention/unit_attention.h"
#include "ops/conv/convolution.h"
#include "ops/conv/patch_logits.h"
#include "ops/create.h"
#include "ops/detection/roi_align.h"
#include "ops/elementwise.h"
#include "ops/in_place.h"
#include "ops/indexing.h"
#include "ops/linear.h"
#include "ops/losses/ctc_loss.h"
#include "ops/losses/loss.h"
#include "ops/losses/region_loss.h"
#include "ops/norm.h"
#include "ops/reduce.h"
#include "ops/running_value.h"
#include "ops/scaled_sum.h"
#include "ops/shape.h"
#include "tests/ops/element_ops.h"
#include "tests/ops/empty_batch.h"

using namespace fovea;
using namespace fovea::test;

namespace {

constexpr int kResult = -1;

struct Overwritten {
  std::string name;              // of the operation, and where there are several what is special
  std::vector<Shape> trainable;  // operands, float64 in [0.5, 1.5)
  Function run;                  // the operands, then the constants
  std::vector<int> needed;       // by backward, by place; or kResult
  std::vector<Tensor> constants = {};
};

using Table = std::vector<Overwritten>;
const Shape kRows{2, 4};
const Shape kMap{2, 4, 5, 3};

Tensor constant(const Shape& shape) { return uniform_tensor(shape, 0.5, 1.5, 99); }
Tensor numbers(const Shape& shape) { return ops::ones(shape, DType::kInt64, cpu()); }

Table unary_table() {
  Table table{
      {"log_softmax", {kRows}, [](const auto& t) { return ops::log_softmax(t[0]); }, {kResult}}};
  for (const ElementOp& op : element_ops()) {
    if (op.keeps == Keeps::kNothing) continue;
    table.push_back({op.name,
                     {kRows},
                     [f = op.function](const auto& t) { return f(t[0]); },
                     {op.keeps == Keeps::kInput ? 0 : kResult}});
  }
  return table;
}

Table elementwise_table() {
  return {
      {"add", {kRows, {4}}, [](const auto& t) { return ops::add(t[0], t[1]); }, {}},
      {"sub", {kRows, {4}}, [](const auto& t) { return ops::sub(t[0], t[1]); }, {}},
      {"mul", {kRows, {4}}, [](const auto& t) { return ops::mul(t[0], t[1]); }, {0, 1}},
      {"mul by a constant",
       {kRows},
       [](const auto& t) { return ops::mul(t[0], t[1]); },
       {1},
       {constant({4})}},
      {"div", {kRows, {4}}, [](const auto& t) { return ops::div(t[0], t[1]); }, {1, kResult}},
      {"div by a constant",
       {kRows},
       [](const auto& t) { return ops::div(t[0], t[1]); },
       {1},
       {constant({4})}},
      {"add_product",
       {kRows, kRows, {4}},
       [](const auto& t) { return ops::add_product(t[0], t[1], t[2]); },
       {1, 2}},
      {"maximum", {kRows, {4}}, [](const auto& t) { return ops::maximum(t[0], t[1]); }, {0, 1}},
      {"minimum", {kRows, {4}}, [](const auto& t) { return ops::minimum(t[0], t[1]); }, {0, 1}},
      {"affine", {kRows}, [](const auto& t) { return ops::affine(t[0], 2, 1); }, {}},
      {"pow", {kRows}, [](const auto& t) { return ops::pow(t[0], 2.5); }, {0}},
      {"clamp", {kRows}, [](const auto& t) { return ops::clamp(t[0], 0.7, 1); }, {0}},
      {"leaky_relu", {kRows}, [](const auto& t) { return ops::leaky_relu(t[0]); }, {}},
      {"elu", {kRows}, [](const auto& t) { return ops::elu(t[0]); }, {0, kResult}},
      {"swiglu", {kRows}, [](const auto& t) { return ops::swiglu(t[0]); }, {0}},
      {"swiglu of two",
       {kRows, kRows},
       [](const auto& t) { return ops::swiglu(t[0], t[1]); },
       {0, 1}},
      {"activate", {kRows}, [](const auto& t) { return ops::activate({}, t[0]); }, {0}},
      {"where",
       {kRows, {4}},
       [](const auto& t) { return ops::where(t[2], t[0], t[1]); },
       {2},
       {ops::ones({2, 1}, DType::kUint8, cpu())}},
      {"dropout",
       {kRows},
       [](const auto& t) { return ops::dropout(t[0], 0.5, RandomStream(1)); },
       {}},
      {"drop_path",
       {kRows},
       [](const auto& t) { return ops::drop_path(t[0], 0.5, RandomStream(1)); },
       {}},
      {"cast", {kRows}, [](const auto& t) { return ops::cast(t[0], DType::kFloat32); }, {}},
      {"to", {kRows}, [](const auto& t) { return ops::to(t[0], make_cpu(1)); }, {}},
  };
}

Table shape_table() {
  return {
      {"reshape", {kRows}, [](const auto& t) { return ops::reshape(t[0], {8}); }, {}},
      {"permute",
       {kRows},
       [](const auto& t) {
         return ops::permute(t[0], {1, 0});
       },
       {}},
      {"expand",
       {{4}},
       [](const auto& t) {
         return ops::expand(t[0], {3, 4});
       },
       {}},
      {"concat",
       {kRows, {1, 4}},
       [](const auto& t) {
         return ops::concat({t[0], t[1]}, 0);
       },
       {}},
      {"slice", {kRows}, [](const auto& t) { return ops::slice(t[0], 1, 1, 2); }, {}},
      {"pad",
       {kRows},
       [](const auto& t) {
         return ops::pad(t[0], {{0, 0}, {1, 2}}, 0);
       },
       {}},
      {"roll", {kRows}, [](const auto& t) { return ops::roll(t[0], {1}, {1}); }, {}},
      {"flip", {kRows}, [](const auto& t) { return ops::flip(t[0], 0); }, {}},
      {"embedding",
       {{5, 3}},
       [](const auto& t) { return ops::embedding(t[0], t[1], 0); },
       {1},
       {numbers({2})}},
      {"gather",
       {kRows},
       [](const auto& t) { return ops::gather(t[0], 1, t[1]); },
       {1},
       {numbers({2, 2})}},
      {"scatter_add",
       {kRows, {2, 2}},
       [](const auto& t) { return ops::scatter_add(t[0], 1, t[2], t[1]); },
       {2},
       {numbers({2, 2})}},
      {"sum", {kRows}, [](const auto& t) { return ops::sum(t[0], {1}); }, {}},
      {"mean", {kRows}, [](const auto& t) { return ops::mean(t[0]); }, {}},
      {"max", {kRows}, [](const auto& t) { return ops::max(t[0], {1}); }, {0, kResult}},
      {"min", {kRows}, [](const auto& t) { return ops::min(t[0], {1}); }, {0, kResult}},
      {"softmax",
       {{2, 3, 4}},
       [](const auto& t) { return ops::softmax(t[0], {}, true); },
       {kResult}},
      {"cross_entropy",
       {kRows},
       [](const auto& t) { return ops::cross_entropy(t[0], t[1]); },
       {0, 1},
       {numbers({2})}},
      {"ctc_loss",
       {{2, 4, 3}},
       [](const auto& t) {
         return ops::ctc_loss(t[0], t[1], {4, 3}, {1, 1});
       },
       {},
       {numbers({2, 1})}},
      {"max_pool", {kMap}, [](const auto& t) { return ops::max_pool(t[0], {2}); }, {}},
      {"avg_pool", {kMap}, [](const auto& t) { return ops::avg_pool(t[0], {2}); }, {}},
      {"adaptive_avg_pool",
       {kMap},
       [](const auto& t) { return ops::adaptive_avg_pool(t[0], {1}); },
       {}},
      {"adaptive_max_pool",
       {kMap},
       [](const auto& t) { return ops::adaptive_max_pool(t[0], {2}); },
       {}},
      {"resize",
       {kMap},
       [](const auto& t) {
         return ops::resize(t[0], {7, 4}, ops::Interpolation::kLinear);
       },
       {}},
  };
}

// Weight and bias of a norm are needed to make its result again as well.
Table network_table() {
  const auto attend = [](const auto& t) {
    return ops::attention(view(t[0], 0), view(t[0], 4), view(t[0], 8), {.key_mask = t[1]});
  };
  const auto attend_twice = [](const auto& t) {
    return ops::two_map_attention(view(t[0], 0), view(t[0], 4), view(t[0], 2), view(t[0], 6),
                                  view(t[0], 8), t[1], t[2], {.key_mask = t[3]});
  };
  const auto running = [](const auto& t) {
    const ops::BatchNorm norm{t[5], t[6], {}, {}};
    return ops::running_value(norm, {.keep = t[7]}, t[0], t[1], t[2], t[3], t[4]).sum;
  };
  const Tensor mask = ops::ones({2, 3}, DType::kUint8, cpu());
  return {
      {"matmul",
       {{2, 3, 4}, {4, 5}},
       [](const auto& t) { return ops::matmul(t[0], t[1]); },
       {0, 1}},
      {"matmul by a constant",
       {{3, 4}},
       [](const auto& t) { return ops::matmul(t[0], t[1]); },
       {1},
       {constant({4, 5})}},
      {"linear",
       {kRows, {3, 4}, {3}},
       [](const auto& t) { return ops::linear(t[0], t[1], t[2]); },
       {0, 1}},
      {"linear with frozen weights",
       {kRows},
       [](const auto& t) { return ops::linear(t[0], t[1]); },
       {1},
       {constant({3, 4})}},
      {"linear of data",
       {{3, 4}},
       [](const auto& t) { return ops::linear(t[1], t[0]); },
       {1},
       {constant(kRows)}},
      {"layer_norm",
       {kRows, {4}, {4}},
       [](const auto& t) { return ops::layer_norm(t[0], t[1], t[2], 1e-5); },
       {0, 1, 2}},
      {"rms_norm",
       {kRows, {4}},
       [](const auto& t) { return ops::rms_norm(t[0], t[1], 1e-5); },
       {0, 1}},
      {"group_norm",
       {kMap, {4}, {4}},
       [](const auto& t) { return ops::group_norm(t[0], 2, t[1], t[2], 1e-5); },
       {0, 1, 2}},
      {"batch_norm",
       {kMap, {4}, {4}, kMap},
       [](const auto& t) {
         return ops::batch_norm({t[1], t[2], {}, {}}, t[0], t[3], true);
       },
       {0, 1, 2, 3}},
      {"shared_batch_norm",
       {kMap, {4}, {4}, kMap},
       [](const auto& t) {
         return ops::shared_batch_norm(whole_batch(), {t[1], t[2], {}, {}}, t[0], t[3], true);
       },
       {0, 1, 2, 3}},
      {"batch_norm in evaluation",
       {kMap, {4}, {4}},
       [](const auto& t) {
         return ops::batch_norm({t[1], t[2], t[3], t[4], false}, t[0]);
       },
       {0, 1, 2},
       {constant({4}), constant({4})}},
      {"conv",
       {kMap, {3, 4, 2, 2}, {3}},
       [](const auto& t) { return ops::conv(t[0], t[1], t[2], {}); },
       {0, 1}},
      {"conv behind a norm",
       {kMap, {3, 4, 2, 2}, {4}},
       [](const auto& t) {
         return ops::conv(ops::batch_norm({t[2], {}, {}, {}}, t[0]), t[1], {}, {});
       },
       {0, 1, 2}},
      {"conv_transpose",
       {kMap, {4, 3, 2, 2}, {3}},
       [](const auto& t) { return ops::conv_transpose(t[0], t[1], t[2], {}); },
       {0, 1}},
      {"token_conv",
       {{2, 6, 4}, {4, 1, 3, 3}, {4}},
       [](const auto& t) { return ops::token_conv(t[0], t[1], t[2], 2, 3); },
       {0, 1, 2}},
      {"scaled_sum",
       {kMap, {2, 4}, kMap},
       [](const auto& t) { return ops::scaled_sum(t[0], t[1], t[2]); },
       {1, 2}},
      {"running_value",
       {kMap, {2, 4}, kMap, {4, 1, 3, 3}, {2, 4}, {4}, {4}},
       running,
       {1, 2, 3, 4, 5, 6, 7, kResult},
       {constant({2, 4})}},
      {"linear_attention",
       {{2, 3, 12}},
       [](const auto& t) {
         return ops::linear_attention(view(t[0], 0), view(t[0], 4), view(t[0], 8), {});
       },
       {0}},
      {"two_map_linear_attention",
       {{2, 3, 20}, {2, 2}},
       [](const auto& t) {
         return ops::two_map_linear_attention(view(t[0], 0), view(t[0], 4), view(t[0], 8),
                                              view(t[0], 12), view(t[0], 16), t[1], {});
       },
       {0, 1}},
      {"linear_attention finished",
       {{2, 3, 16}, {2}},
       [](const auto& t) {
         return ops::linear_attention(view(t[0], 0), view(t[0], 4), view(t[0], 8), {},
                                      {.weight = t[1], .gate = view(t[0], 12)});
       },
       {0, 1}},
      {"magnitude_attention",
       {{2, 3, 16}, {2, 2}, {2, 2}},
       [](const auto& t) {
         const ops::MagnitudeOptions options{.beta = ops::Coefficient::kGiven,
                                             .gamma = ops::Coefficient::kGiven,
                                             .given_beta = t[1],
                                             .given_gamma = t[2],
                                             .rotary = {t[3], t[4]}};
         return ops::magnitude_attention(view(t[0], 0), view(t[0], 4), view(t[0], 8), options,
                                         {.weight = {}, .gate = {}, .residual = view(t[0], 12)});
       },
       {0, 1, 2, 3, 4},
       {constant({3, 1}), constant({3, 1})}},
      {"rotate",
       {{2, 3, 8}},
       [](const auto& t) {
         return ops::rotate(t[0], {t[1], t[2]});
       },
       {1, 2},
       {constant({3, 2}), constant({3, 2})}},
      {"unit_attention",
       {{2, 3, 12}, {2, 2, 2}, {12}},
       [](const auto& t) {
         const ops::Units units(3, 2, {0, 1, 2, -1}, {}, cpu());
         return ops::unit_attention(view(t[0], 0), view(t[0], 4), view(t[0], 8), units,
                                    {.bias = t[1], .padding_attends = true, .padding = t[2]});
       },
       {0, 1, 2}},
      {"boundary_dou",
       {{1, 3, 2, 2}},
       [](const auto& t) { return ops::boundary_dou(t[0], t[1]); },
       {0, 1},
       {Tensor::from<std::int64_t>({0, 1, 2, 2}, {1, 2, 2}, cpu())}},
      {"roi_align",
       {kMap},
       [](const auto& t) {
         return ops::roi_align(t[0], t[1], {.height = 2, .width = 2, .spatial_scale = 1});
       },
       {},
       {Tensor::from<float>({0, 0, 0, 3, 2, 1, 1, 1, 3, 4}, {2, 5}, cpu())}},
      {"extract_rois",
       {kMap, {2, 4, 2, 2}},
       [](const auto& t) {
         const Tensor rois =
             Tensor::from<float>({0, 0, 0, 3, 2, 1, 1, 1, 30, 40}, {2, 5}, make_cpu(1));
         return ops::extract_rois({t[0], t[1]}, {1, 2}, rois, 2, {.finest_scale = 4});
       },
       {}},
      {"patch_logits",
       {{1, 2, 2, 3}, {12, 3}, {3}, {3}, {2, 3}},
       [](const auto& t) {
         return ops::patch_logits(t[0], {t[1], t[2], t[3], t[4]}, {2, 2});
       },
       {0, 1, 2, 3, 4, kResult}},
      {"attention", {{2, 3, 12}}, attend, {0, 1, kResult}, {mask}},
      {"two_map_attention", {{2, 3, 12}, {2, 3, 2}, {2, 3, 2}}, attend_twice, {0, 1, 2, 3}, {mask}},
  };
}

Table all() {
  Table all;
  for (auto* part : {unary_table, elementwise_table, shape_table, network_table}) {
    for (Overwritten& one : part()) all.push_back(std::move(one));
  }
  return all;
}

// Gradients of the operands; `overwritten` is one of them, a constant or the result, or nothing.
constexpr int kNothing = -2;
std::vector<std::vector<double>> gradients(const Overwritten& one, int overwritten) {
  std::vector<Tensor> t;
  for (const Shape& shape : one.trainable) {
    t.push_back(trainable(uniform_tensor(shape, 0.5, 1.5, t.size() + 1)));
  }
  const std::size_t leaves = t.size();
  for (const Tensor& value : one.constants) t.push_back(ops::clone(value));
  const Tensor y = one.run(t);
  if (overwritten == kResult) ops::fill(y, 0);
  if (overwritten >= 0) ops::fill(t[static_cast<std::size_t>(overwritten)], 0);
  autograd::backward(y, ops::cast(random_tensor(y.shape(), 7), y.dtype()));
  std::vector<std::vector<double>> found;
  for (std::size_t i = 0; i < leaves; ++i) {
    found.push_back(t[i].grad().defined() ? to_doubles(t[i].grad()) : std::vector<double>{});
  }
  return found;
}

}  // namespace

TEST_CASE("overwritten values: an error where backward needs them, else nothing", "[ops]") {
  for (const Overwritten& one : all()) {
    const auto expected = gradients(one, kNothing);
    const int count = static_cast<int>(one.trainable.size() + one.constants.size());
    for (int at = kResult; at < count; ++at) {
      CAPTURE(one.name, at);
      if (std::find(one.needed.begin(), one.needed.end(), at) == one.needed.end()) {
        CHECK(gradients(one, at) == expected);
      } else {
        CHECK_THROWS_WITH(gradients(one, at),
                          Catch::Contains("as it was; it was changed since by fill"));
      }
    }
  }
}

TEST_CASE("batch_norm: its running statistics count as written", "[ops]") {
  const Tensor mean = ops::zeros({3}, DType::kFloat64, cpu());
  const Tensor var = ops::ones({3}, DType::kFloat64, cpu());
  const Tensor y = ops::mul(trainable(random_tensor({3}, 1)), mean);
  ops::batch_norm({{}, {}, mean, var}, random_tensor({2, 3, 2, 2}, 2));
  CHECK(var.writer() == std::string("batch_norm"));
  CHECK_THROWS_WITH(autograd::backward(ops::sum(y)),
                    Catch::Contains("changed since by batch_norm"));
}

TEST_CASE("overwritten values: the table leaves no operation out", "[ops]") {
  // Results without a gradient, and those that are made of operations in the table.
  std::set<std::string> walked = {"equal",
                                  "not_equal",
                                  "less",
                                  "less_equal",
                                  "greater",
                                  "greater_equal",
                                  "is_finite",
                                  "argmax",
                                  "argmin",
                                  "full",
                                  "zeros",
                                  "ones",
                                  "zeros_like",
                                  "ones_like",
                                  "clone",
                                  "random_uniform",
                                  "random_normal",
                                  "truncated_normal",
                                  "reduce_to",
                                  "as_activation",
                                  "neg",
                                  "transpose",
                                  "split",
                                  "bce_with_logits",
                                  "box_iou",
                                  "box_iof",
                                  "box_areas",
                                  "clip_boxes",
                                  "encode_boxes",
                                  "decode_boxes",
                                  "grid_anchors",
                                  "mask_targets",
                                  "paste_masks",
                                  "reduced",
                                  "sigmoid_focal_loss",
                                  "focal_loss",
                                  "soft_focal_loss",
                                  "pixel_focal_loss",
                                  "binary_focal_loss",
                                  "classes_last",
                                  "smooth_l1",
                                  "giou_loss",
                                  "mask_bce",
                                  "mse",
                                  "bce",
                                  "dice_loss",
                                  "bce_dice",
                                  "label_dice",
                                  "nnunet_loss",
                                  "region_masks",
                                  "mask_dice",
                                  "mask_cross_entropy",
                                  "nnunet_mask_loss",
                                  "paper_eq8",
                                  "nearest_labels",
                                  "pixel_cross_entropy",
                                  "smoothed_target",
                                  "soft_cross_entropy",
                                  "over_maps",
                                  "noised",
                                  "ddpm_sample",
                                  "ddim_sample",
                                  "guided",
                                  "take_heads",
                                  "merge_heads",
                                  "attention_map",
                                  "linear_attention_map",
                                  "recurrent_linear_attention",
                                  "recurrent_magnitude_attention",
                                  "unit_attention_map",
                                  "attend_units",
                                  "elu_plus_one",
                                  "by_ratio",
                                  "through_norm",
                                  "coefficient",
                                  "finished",
                                  "features"};
  for (const Overwritten& one : all()) walked.insert(one.name.substr(0, one.name.find(' ')));
  const std::set<std::string> names = declared_operations();
  std::vector<std::string> missing;
  std::set_difference(names.begin(), names.end(), walked.begin(), walked.end(),
                      std::back_inserter(missing));
  CHECK(missing == std::vector<std::string>{});
}
