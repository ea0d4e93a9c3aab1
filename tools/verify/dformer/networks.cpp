// The dformer paper's networks, from the words of its golden cases.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "models/model.h"
#include "nn/weights.h"
#include "ops/elementwise.h"
#include "training/losses/loss.h"
#include "verify/module_case.h"
#include "verify/options.h"
#include "verify/runners.h"

namespace fovea::verify {
namespace {

using schema::Value;
using Tensors = std::map<std::string, Tensor>;

training::Loss loss_at(const Case& c) {
  const Value words = c.metadata("loss");
  const std::string kind = words.at("kind").as_string();
  FOVEA_CHECK(kind == "eq8" || kind == "nnunet", NotImplemented, fmt::format("loss {}", kind));
  return training::make_loss(
      resolved(training::loss_choices(),
               Value::object({{"type", kind == "eq8" ? "paper_eq8" : "nnunet"},
                              {"map_weights", words.at("ds_weights")}})),
      training::Compares::kLabelMaps);
}

// The norms of all gradients, also of those that the file does not hold, and that parameters which
// take no part have none.
void compare_norms(const Case& c, const nn::Module& network, Checker& check) {
  const auto own = nn::named_tensors(network);
  const double slack = c.tolerance_of("grad_param/").rtol;
  const Value norms = c.metadata("grad_param_l2");
  const Value without = c.metadata("no_gradient");
  for (const auto& norm : norms.members()) {
    const Tensor gradient = own.at(network.own_name(norm.key)).grad();
    double squares = 0;
    if (gradient.defined()) {
      for (const double value : to_doubles(gradient)) squares += value * value;
    }
    const double expected = norm.value.as_double();
    if (std::abs(std::sqrt(squares) - expected) > slack * expected)
      check.fail(fmt::format("gradient of {}: its norm is {:.6g}, expected {:.6g}", norm.key,
                             std::sqrt(squares), expected));
  }
  for (const Value& name : without.items()) {
    if (own.at(network.own_name(name.as_string())).grad().defined())
      check.fail(fmt::format("{}: has a gradient; expected none", name.as_string()));
  }
}

void run_network(const Case& c, const Value& options, Checker& check) {
  const auto network =
      models::make_model(resolved(models::entries().choices(), options), build_for(c), {});
  if (network->parameter_count() != c.metadata("num_params").as_int())
    check.fail(fmt::format("{} parameters, expected {}", network->parameter_count(),
                           c.metadata("num_params").as_int()));
  const training::Loss loss = loss_at(c);
  run_module(
      c, *network,
      [&](const Inputs& inputs) {
        const models::Outputs out = (*network)({.image = inputs.at("x")});
        Tensors outputs{{"loss", loss(out, ops::cast(inputs.at("target"), DType::kInt64))}};
        for (std::size_t i = 0; i < out.maps.size(); ++i)
          outputs[fmt::format("logits{}", i)] = out.maps[i];
        return outputs;
      },
      check);
  if (check.passed()) compare_norms(c, *network, check);
}

void run_dformer(const Case& c, Checker& check) {
  Value options = Value::object({{"type", "dformer"}});
  take(c, options, {{"input_size", "img_size"}});
  for (const char* key : {"in_chans",     "num_classes",  "embed_dim",          "depths",
                          "num_heads",    "patch_size",   "group_size",         "interval_list",
                          "mlp_ratio",    "qkv_bias",     "patch_norm",         "attn",
                          "pos_encoding", "dpe_position", "dpe_kernel",         "gs_partition",
                          "padding_mask", "skip_source",  "decoder_bottleneck", "deep_supervision"})
    take(c, options, {{key, key}});
  run_network(c, options, check);
}

void run_unet3d(const Case& c, Checker& check) {
  Value options = Value::object({{"type", "unet3d"}});
  take(c, options,
       {{"in_channels", "in_chans"},
        {"num_classes", "num_classes"},
        {"f_maps", "f_maps"},
        {"num_groups", "num_groups"}});
  c.config().only("layer_order", "gcr");
  run_network(c, options, check);
}

void run_unetr(const Case& c, Checker& check) {
  Value options = Value::object({{"type", "unetr"}});
  take(c, options,
       {{"in_channels", "in_chans"},
        {"num_classes", "num_classes"},
        {"img_size", "img_size"},
        {"feature_size", "feature_size"},
        {"hidden_size", "hidden_size"},
        {"mlp_dim", "mlp_dim"},
        {"num_heads", "num_heads"},
        {"conv_block", "conv_block"},
        {"res_block", "res_block"},
        {"proj_type", "proj_type"},
        {"qkv_bias", "qkv_bias"}});
  c.config().only("norm", "instance (no affine, eps 1e-5)");
  c.config().nothing_dropped({"dropout_rate"}, c.training());
  run_network(c, options, check);
}

}  // namespace

Table dformer_networks() {
  Table table;
  table.add("dformer") = run_dformer;
  table.add("unet3d") = run_unet3d;
  table.add("unetr") = run_unetr;
  return table;
}

}  // namespace fovea::verify
