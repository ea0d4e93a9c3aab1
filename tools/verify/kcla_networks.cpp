// The kcla paper's operators and networks: from the words of its golden cases to registry names and
// options.

#include "base/error.h"
#include "layer_attention/layer_attention.h"
#include "models/model.h"
#include "nn/convolution.h"
#include "nn/init.h"
#include "nn/norm.h"
#include "ops/elementwise.h"
#include "ops/reduce.h"
#include "ops/shape.h"
#include "verify/module_case.h"
#include "verify/options.h"
#include "verify/runners.h"

namespace fovea::verify {
namespace {

using schema::Value;
using Tensors = std::map<std::string, Tensor>;

void run_batch_norm(const Case& c, Checker& check) {
  nn::BatchNorm2d bn(build_for(c), c.integer("channels"),
                     {.eps = c.number("eps"), .momentum = c.number("momentum")});
  const auto forward = [&](const Tensors& inputs) -> Tensors {
    return {{"y", bn(inputs.at("x"))}};
  };
  run_module(c, bn, forward, check);
}

// The parts that layer attention is made of, side by side on one input. kcla 2.0, 2.9.
class Primitives final : public nn::Module {
 public:
  explicit Primitives(const Case& c)
      : heads_(c.integer("heads")),
        k_size_(c.integer("k_conv1d")),
        dw_(child<nn::Conv2d>(
            "dw", build_for(c), c.integer("channels"), c.integer("channels"), ops::Sizes{3},
            ops::ConvOptions{.padding = {1}, .groups = c.integer("channels")}, false)),
        k_(parameter("k.weight", nn::init_conv_weight(build_for(c), {1, 1, k_size_}))),
        adj_(child<nn::Conv2d>("adj", build_for(c), c.integer("channels"),
                               2 * c.integer("channels"), ops::Sizes{1},
                               ops::ConvOptions{.stride = {2}, .groups = heads_}, false)) {}
  std::string type() const override { return "Primitives"; }

  Tensors operator()(const Tensor& x) {
    const std::int64_t b = x.size(0);
    const std::int64_t channels = x.size(1);
    const Tensor gap = ops::reshape(ops::adaptive_avg_pool(x, {1}), {b, 1, channels});
    const Tensor keys = ops::conv(gap, k_, {}, {.padding = {k_size_ / 2}});
    // The golden head_norm is of the first pixel.
    const Tensor pixel = ops::slice(ops::slice(x, 2, 0, 1), 3, 0, 1);
    const Tensor heads = ops::reshape(pixel, {b, heads_, channels / heads_});
    return {{"gap", ops::reshape(gap, {b, channels})},
            {"conv1d_after_gap", ops::reshape(keys, {b, channels})},
            {"dwconv3x3", dw_(x)},
            {"grouped_1x1_stride2", adj_(x)},
            {"maxpool3s2p1", ops::max_pool(x, {3}, {2}, {1})},
            {"maxpool2", ops::max_pool(x, {2})},
            {"avgpool2", ops::avg_pool(x, {2})},
            {"upsample2_align",
             ops::resize(x, {2 * x.size(2), 2 * x.size(3)}, ops::Interpolation::kLinear, true)},
            {"head_norm", ops::sqrt(ops::sum(ops::square(heads), {-1}))}};
  }

 private:
  std::int64_t heads_;
  std::int64_t k_size_;
  nn::Conv2d& dw_;
  Tensor k_;
  nn::Conv2d& adj_;
};

void run_primitives(const Case& c, Checker& check) {
  Primitives primitives(c);
  run_module(
      c, primitives, [&](const Tensors& inputs) { return primitives(inputs.at("x")); }, check);
}

// The registry's name for a case's word for attention.
std::string registered(const std::string& word) {
  static const std::map<std::string, std::string> others = {
      {"layer", "standard"},    {"la", "standard"},    {"gla", "gated_linear"},
      {"vq", "transformer_vq"}, {"hydra_la", "hydra"}, {"linear_la", "linear"},
      {"focused_la", "focused"}};
  const auto found = others.find(word);
  return found == others.end() ? word : found->second;
}

// The network's attention, with the options that the case names; null for a plain one.
Value layer_attention_of(const Case& c) {
  const std::string word = c.text("attention", "plain");
  if (word == "plain" || word == "none") return Value();
  const std::string type = registered(word);
  const layer_attention::Variant& variant = layer_attention::variants().find(type);
  Value options = Value::object({{"type", type}});
  const auto take_known = [&](const char* from, const char* to) {
    if (c.given(from) && variant.fields->find(to) != nullptr) take(c, options, {{from, to}});
  };
  for (const char* key : {"head_dim",
                          "reduction",
                          "dsu_state",
                          "cross_stage",
                          "reinit_index",
                          "reset_inside_stage",
                          "p",
                          "clamp",
                          "z_eps",
                          "temperature_order",
                          "sqrt_head_dim",
                          "same_temperature",
                          "use_exp",
                          "head_attention",
                          "phi",
                          "relu_after_bn",
                          "value_cache",
                          "form",
                          "features",
                          "rank",
                          "threshold",
                          "tau",
                          "codes",
                          "buckets"}) {
    take_known(key, key);
  }
  if (type != "se" && type != "cbam") take_known("dsu_reduction", "reduction");
  take_known("eca_kernels", "kernel_size");
  take_known("se_skip_last_stage", "skip_last_stage");
  take_known("mrla_l_previous", "previous");
  // All cases are without stochastic depth.
  if (variant.fields->find("drop_path") != nullptr) options.set("drop_path", 0.0);
  return options;
}

void run_model(const Case& c, Value options, Checker& check) {
  take(c, options, {{"planes", "planes"}, {"num_classes", "num_classes"}});
  options.set("in_chans", c.config().at("input").at(1));
  Value size = Value::array();
  for (const std::size_t axis : {std::size_t{2}, std::size_t{3}})
    size.push_back(c.config().at("input").at(axis));
  options.set("img_size", size);
  const auto model = models::make(resolved(models::entries().choices(), options), build_for(c), {});
  run_module(
      c, *model,
      [&](const Tensors& inputs) -> Tensors {
        return {{"logits", (*model)({.image = inputs.at("x")}).logits}};
      },
      check);
}

void run_cifar_resnet(const Case& c, Checker& check) {
  Value depths = Value::array();
  for (std::size_t s = 0; s < c.config().at("planes").items().size(); ++s) {
    depths.push_back(c.integer("blocks_per_stage"));
  }
  Value options = Value::object(
      {{"type", "resnet20"}, {"depths", depths}, {"layer_attention", layer_attention_of(c)}});
  take(c, options, {{"block", "block"}});
  run_model(c, options, check);
}

void run_imagenet_resnet(const Case& c, Checker& check) {
  Value options = Value::object({{"type", "resnet50"}, {"layer_attention", layer_attention_of(c)}});
  take(c, options, {{"layers", "depths"}, {"stem", "stem_width"}});
  if (c.given("deep_stem")) {
    options.set("stem", "deep_pool");
    take(c, options, {{"deep_stem", "deep_stem_width"}});
  }
  run_model(c, options, check);
}

void run_rla_resnet(const Case& c, Checker& check) {
  Value options = Value::object({{"type", "rla_resnet50"}});
  take(c, options, {{"layers", "depths"}, {"stem", "stem_width"}, {"rla_channel", "rla_channels"}});
  run_model(c, options, check);
}

}  // namespace

Table kcla_networks() {
  Table table;
  table.add("BatchNorm2d") = run_batch_norm;
  table.add("primitives") = run_primitives;
  table.add("cifar_resnet") = run_cifar_resnet;
  table.add("imagenet_resnet") = run_imagenet_resnet;
  table.add("rla_resnet") = run_rla_resnet;
  return table;
}

}  // namespace fovea::verify
