// Necks and heads of dense prediction, from the words of the mala paper's golden cases.

#include <fmt/format.h>

#include "autograd/graph.h"
#include "data/batch.h"
#include "models/heads/fpn.h"
#include "models/heads/scene_heads.h"
#include "ops/elementwise.h"
#include "ops/reduce.h"
#include "training/losses/loss.h"
#include "verify/module_case.h"
#include "verify/options.h"
#include "verify/runners.h"

namespace fovea::verify {
namespace {

using models::ExtraConvs;
using Tensors = std::map<std::string, Tensor>;

// The maps c2, c3, ... of a backbone, or p0, p1, ... of a neck.
std::vector<Tensor> maps_of(const Inputs& inputs, char letter, std::size_t count) {
  const std::size_t first = letter == 'c' ? 2 : 0;
  std::vector<Tensor> maps;
  for (std::size_t i = first; i < first + count; ++i)
    maps.push_back(inputs.at(fmt::format("{}{}", letter, i)));
  return maps;
}

// Words or `false`: mmdet has both.
ExtraConvs extra_convs_of(const Case& c) {
  if (!c.given("add_extra_convs")) return ExtraConvs::kNone;
  const schema::Value& word = c.value("add_extra_convs");
  if (word.is_bool()) return word.as_bool() ? ExtraConvs::kOnInput : ExtraConvs::kNone;
  return c.config().choice("add_extra_convs", {{"on_input", ExtraConvs::kOnInput}},
                           ExtraConvs::kNone);
}

void run_fpn(const Case& c, Checker& check) {
  c.config().only("relu_before_extra_convs", false);
  const models::FpnOptions options{.in_channels = c.config().integers("in_channels"),
                                   .out_channels = c.integer("out_channels"),
                                   .num_outs = c.integer("num_outs"),
                                   .start_level = c.integer("start_level", 0),
                                   .extra_convs = extra_convs_of(c)};
  models::Fpn fpn(build_for(c), options);
  run_module(
      c, fpn,
      [&](const Inputs& inputs) -> Tensors {
        Tensors outputs;
        for (const Tensor& map : fpn(maps_of(inputs, 'c', options.in_channels.size())))
          outputs[fmt::format("p{}", outputs.size())] = map;
        return outputs;
      },
      check);
}

// What all heads of mmseg know, and is fixed here.
void check_head(const Case& c) {
  c.config().only("align_corners", false);
  if (c.training()) {
    c.config().only("dropout_ratio", 0);
    // Without the word the head drops channels: the case could not be compared.
    if (!c.config().has("dropout_ratio")) throw NotImplemented("config: no dropout_ratio");
  } else if (c.given("dropout_ratio")) {
    c.number("dropout_ratio");
  }
}

void run_seg_fpn_head(const Case& c, Checker& check) {
  check_head(c);
  const auto strides = c.config().integers("feature_strides");
  const auto channels = c.config().integers("in_channels");
  if (strides.size() != channels.size()) c.config().refuse("in_channels");
  std::vector<models::PyramidLevel> levels;
  for (std::size_t i = 0; i < strides.size(); ++i) levels.push_back({channels[i], strides[i]});
  models::SegFpnHead head(build_for(c), levels, c.integer("channels"), c.integer("num_classes"));
  run_module(
      c, head,
      [&](const Inputs& inputs) -> Tensors {
        return {{"y", head(maps_of(inputs, 'p', levels.size()))}};
      },
      check);
}

void run_uper_head(const Case& c, Checker& check) {
  check_head(c);
  models::UperHeadOptions options{.in_channels = c.config().integers("in_channels"),
                                  .channels = c.integer("channels"),
                                  .num_classes = c.integer("num_classes")};
  if (c.given("pool_scales")) options.pool_scales = c.config().integers("pool_scales");
  models::UperHead head(build_for(c), options);
  run_module(
      c, head,
      [&](const Inputs& inputs) -> Tensors {
        return {{"y", head(maps_of(inputs, 'c', options.in_channels.size()))}};
      },
      check);
}

void run_fcn_head(const Case& c, Checker& check) {
  check_head(c);
  c.config().only("concat_input", false);
  c.config().only("kernel_size", 3);
  c.config().only("dilation", 1);
  models::FcnHead head(build_for(c), c.integer("in_channels"), c.integer("channels"),
                       c.integer("num_convs"), c.integer("num_classes"));
  run_module(
      c, head,
      [&](const Inputs& inputs) -> Tensors {
        return {{"y", head(inputs.at("x"))}};
      },
      check);
}

// Labels as the data sets give them: what files call `ignored` is kIgnoreLabel.
Tensor labels_of(const Tensor& given, std::int64_t ignored) {
  std::vector<std::int64_t> labels;
  for (const std::int64_t label : given.host_values<std::int64_t>())
    labels.push_back(label == ignored ? data::kIgnoreLabel : label);
  return Tensor::from(labels, given.shape(), given.device());
}

void run_cross_entropy(const Case& c, Checker& check) {
  c.config().only("align_corners", false);
  const bool all = c.config().choice(
      "reduction",
      {{"mean over all pixels incl. ignored", true}, {"mean over pixels that count", false}}, true);
  const std::int64_t ignored = c.integer("ignore_index");
  schema::Value options =
      schema::Value::object({{"type", "cross_entropy"}, {"count_ignored", all}});
  take_given(c.config(), options, {"class_weights"});
  const training::Loss loss = training::make_loss(resolved(training::loss_choices(), options),
                                                  training::Compares::kLabelMaps);
  c.check_all_read();
  const Inputs inputs(c);
  const Tensor value =
      loss({.maps = {inputs.at("logits")}}, labels_of(inputs.at("labels"), ignored));
  inputs.check_all_read();
  check.compare("output/loss", value);
  autograd::backward(ops::sum(ops::mul(value, c.at("upstream/loss"))));
  inputs.compare_gradients(check);
}

}  // namespace

Table mala_dense() {
  Table table;
  table.add("fpn") = run_fpn;
  table.add("seg_fpn_head") = run_seg_fpn_head;
  table.add("uper_head") = run_uper_head;
  table.add("fcn_head") = run_fcn_head;
  table.add("seg_cross_entropy") = run_cross_entropy;
  return table;
}

}  // namespace fovea::verify
