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
#include "verify/kcla/kcla.h"
#include "verify/module_case.h"
#include "verify/options.h"
#include "verify/runners.h"

namespace fovea::verify {
namespace {

using schema::Value;
using Tensors = std::map<std::string, Tensor>;

void run_batch_norm(const Case& c, Checker& check) {
  nn::BatchNorm2d bn(build_for(c), c.integer("channels"),
                     {.eps = c.number("eps", 1e-5), .momentum = c.number("momentum", 0.1)});
  const auto forward = [&](const Inputs& inputs) -> Tensors { return {{"y", bn(inputs.at("x"))}}; };
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
  c.config().describes({"layers"});  // of the stacks in which the parts stand
  c.config().only("head_dim", c.integer("channels") / c.integer("heads"));
  run_module(
      c, primitives, [&](const Inputs& inputs) { return primitives(inputs.at("x")); }, check);
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
  // Cases of networks have these words whatever their attention is.
  c.config().of_others({"head_dim", "reduction", "dsu_reduction", "dsu_state", "eca_kernels",
                        "se_skip_last_stage", "reinit_index"});
  c.config().nothing_dropped({"drop_path"}, c.training());
  const std::string word = c.text("attention", "plain");
  if (word == "plain" || word == "none") return Value();
  const std::string type = registered(word);
  const layer_attention::Variant& variant = layer_attention::variants().find(type);
  Value options = Value::object({{"type", type}});
  const auto take_known = [&](const char* from, const char* to) {
    if (c.given(from) && variant.fields->find(to) != nullptr) take(c, options, {{from, to}});
  };
  for (const schema::Field& field : variant.fields->fields())
    take_known(field.key.c_str(), field.key.c_str());
  if (type != "se" && type != "cbam") take_known("dsu_reduction", "reduction");
  take_known("eca_kernels", "kernel_size");
  take_known("se_skip_last_stage", "skip_last_stage");
  take_known("mrla_l_previous", "previous");
  // All cases are without stochastic depth.
  if (variant.fields->find("drop_path") != nullptr) options.set("drop_path", 0.0);
  return options;
}

std::unique_ptr<models::Model> model_of(const Case& c, Value options) {
  take(c, options, {{"planes", "planes"}, {"num_classes", "num_classes"}});
  const std::vector<std::int64_t> input = c.config().integers("input");
  const Shape& x = c.at("input/x").shape();
  const bool of_input = input.size() == 4 && x.rank() == 4 && input[1] == x[1] &&
                        input[2] == x[2] && input[3] == x[3];
  if (!of_input) c.config().refuse("input");
  c.config().only("network", c.op());
  options.set("in_chans", input.at(1));
  options.set("img_size", Value::array({input.at(2), input.at(3)}));
  return models::make_model(resolved(models::entries().choices(), options), build_for(c), {});
}

void run_model(const Case& c, models::Model& model, Checker& check) {
  c.config().only("input", Value::array(c.at("input/x").shape().to_vector()));
  run_module(
      c, model,
      [&](const Inputs& inputs) -> Tensors {
        return {{"logits", model({.image = inputs.at("x")}).logits}};
      },
      check);
}

void run_imagenet_resnet(const Case& c, Checker& check) {
  Value options = Value::object({{"type", "resnet50"}, {"layer_attention", layer_attention_of(c)}});
  take(c, options, {{"layers", "depths"}, {"stem", "stem_width"}});
  if (c.given("deep_stem")) {
    options.set("stem", "deep_pool");
    take(c, options, {{"deep_stem", "deep_stem_width"}});
  }
  run_model(c, *model_of(c, options), check);
}

void run_rla_resnet(const Case& c, Checker& check) {
  Value options = Value::object({{"type", "rla_resnet50"}});
  take(c, options, {{"layers", "depths"}, {"stem", "stem_width"}, {"rla_channel", "rla_channels"}});
  run_model(c, *model_of(c, options), check);
}

}  // namespace

std::unique_ptr<models::Model> cifar_resnet(const Case& c) {
  const std::size_t stages = c.config().integers("planes").size();
  const std::int64_t blocks = c.integer("blocks_per_stage");
  Value options =
      Value::object({{"type", "resnet20"},
                     {"depths", Value::array(std::vector<std::int64_t>(stages, blocks))},
                     {"layer_attention", layer_attention_of(c)}});
  take(c, options, {{"block", "block"}});
  const std::int64_t convolutions = c.text("block", "bottleneck") == "basic" ? 2 : 3;
  c.config().only("depth", static_cast<std::int64_t>(stages) * blocks * convolutions + 2);
  return model_of(c, options);
}

Table kcla_networks() {
  Table table;
  table.add("BatchNorm2d") = run_batch_norm;
  table.add("primitives") = run_primitives;
  table.add("cifar_resnet") = [](const Case& c, Checker& check) {
    run_model(c, *cifar_resnet(c), check);
  };
  table.add("imagenet_resnet") = run_imagenet_resnet;
  table.add("rla_resnet") = run_rla_resnet;
  return table;
}

}  // namespace fovea::verify
