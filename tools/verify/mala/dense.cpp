// Necks and heads of dense prediction, from the words of the mala paper's golden cases.

#include <fmt/format.h>

#include "models/heads/fpn.h"
#include "verify/module_case.h"
#include "verify/runners.h"

namespace fovea::verify {
namespace {

using models::ExtraConvs;
using Tensors = std::map<std::string, Tensor>;

// The maps c2, c3, ... of a backbone with so many levels.
std::vector<Tensor> levels_of(const Inputs& inputs, std::size_t count) {
  std::vector<Tensor> levels;
  for (std::size_t i = 0; i < count; ++i) levels.push_back(inputs.at(fmt::format("c{}", i + 2)));
  return levels;
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
        for (const Tensor& map : fpn(levels_of(inputs, options.in_channels.size())))
          outputs[fmt::format("p{}", outputs.size())] = map;
        return outputs;
      },
      check);
}

}  // namespace

Table mala_dense() {
  Table table;
  table.add("fpn") = run_fpn;
  return table;
}

}  // namespace fovea::verify
