// The mala paper's operator: from the words of its golden cases to the library's calls.

#include <fmt/format.h>

#include <cmath>

#include "attention/mala.h"
#include "attention/rotary.h"
#include "ops/attention/recurrent_attention.h"
#include "ops/elementwise.h"
#include "ops/reduce.h"
#include "ops/shape.h"
#include "verify/mala/mala.h"
#include "verify/module_case.h"
#include "verify/options.h"
#include "verify/runners.h"

namespace fovea::verify {
namespace {

using attention::Mala;
using attention::MalaOptions;
using schema::Value;
using Tensors = std::map<std::string, Tensor>;

MalaOptions options_of(const Case& c) {
  Value options = Value::object();
  take_given(
      c.config(), options,
      {"kernel", "exp_max", "scaling", "eps", "beta", "gamma", "learnable_shape", "normaliser"});
  return attention::mala_fields().parse(options, "mala");
}

// (b, heads, n, dim) as heads side by side, and back.
ops::HeadView view_of(const Tensor& x) {
  return ops::heads(ops::merge_heads(x), x.size(1), x.size(3), 0, x.size(3));
}
Tensor heads_first(const Tensor& y, std::int64_t num_heads) {
  const std::int64_t dim = y.size(2) / num_heads;
  return ops::take_heads(ops::heads(y, num_heads, dim, 0, dim));
}

void run_core(const Case& c, Checker& check) {
  const Tensor& q = c.at("input/q");
  Mala mala(build_for(c), options_of(c), q.size(1), q.size(3));
  attention::Context context;
  context.causal = c.op() == "mala_causal";
  c.config().only("heads", q.size(1));
  c.config().only("key_mask", c.has("input/mask"));
  ops::RotaryTables rotary;
  const double base = c.number("rope_base", 10000);
  if (c.flag("rope1d"))
    rotary = attention::sequence_rotary(q.size(2), q.size(3), base, q.dtype(), q.device());
  run_module(
      c, mala,
      [&](const Inputs& inputs) -> Tensors {
        context.key_mask = inputs.find("mask");
        const Mala::Heads heads{view_of(inputs.at("q")), view_of(inputs.at("k")),
                                view_of(inputs.at("v"))};
        const ops::MagnitudeMap map =
            ops::magnitude_map(heads.q, heads.k, mala.options(context, rotary));
        Tensors outputs{{"y", heads_first(mala(heads, context, rotary), q.size(1))}};
        if (c.has("output/attn")) outputs["attn"] = map.scores;
        if (c.has("output/beta")) outputs["beta"] = map.beta;
        if (c.has("output/gamma")) outputs["gamma"] = map.gamma;
        if (c.has("output/row_sum")) outputs["row_sum"] = ops::sum(map.scores, {-1});
        return outputs;
      },
      check);
  if (c.has("output/state_M")) compare_state(c, mala.options(context, rotary), rotary, check);
}

void run_rope(const Case& c, Checker& check) {
  const Tensor& x = c.at("input/x");
  const std::int64_t dim = c.integer("head_dim");
  c.config().only("pairing", "interleaved");
  const ops::RotaryTables tables =
      c.op() == "rope2d"
          ? attention::grid_rotary(attention::grid_rates("rope2d", dim), 0, c.integer("h"),
                                   c.integer("w"), x.dtype(), x.device())
          : attention::sequence_rotary(c.integer("n"), dim, c.number("base"), x.dtype(),
                                       x.device());
  run_operation(
      c,
      [&](const Inputs& inputs) -> Tensors {
        const Tensor& heads = inputs.at("x");
        const Tensor turned = ops::rotate(ops::merge_heads(heads), tables);
        return {{"y", heads_first(turned, heads.size(1))},
                {"cos", twice(tables.cos)},
                {"sin", twice(tables.sin)}};
      },
      check);
}

}  // namespace

Tensor twice(const Tensor& x) {
  const Tensor pairs =
      ops::expand(ops::reshape(x, {x.size(0), x.size(1), 1}), {x.size(0), x.size(1), 2});
  return ops::reshape(pairs, {x.size(0), 2 * x.size(1)});
}

// The recurrent form: outputs and the state after the last token.
void compare_state(const Case& c, const ops::MagnitudeOptions& options,
                   const ops::RotaryTables& rotary, Checker& check) {
  const Tensor& q = c.at("input/q");
  ops::RecurrentState state;
  std::vector<Tensor> rows;
  for (std::int64_t i = 0; i < q.size(2); ++i) {
    const auto token = [&](const char* name) { return view_of(ops::slice(c.at(name), 2, i, 1)); };
    ops::MagnitudeOptions here = options;
    if (rotary.cos.defined()) here.rotary = {rotary.cos.rows(i, i + 1), rotary.sin.rows(i, i + 1)};
    const Tensor row = ops::recurrent_magnitude_attention(token("input/q"), token("input/k"),
                                                          token("input/v"), here, state);
    rows.push_back(heads_first(row, q.size(1)));
  }
  check.compare("output/y", ops::concat(rows, 2));
  check.compare("output/state_M", state.sums.products);
  check.compare("output/state_S", state.sums.keys);
  check.compare("output/state_U", state.sums.values);
}

Table mala_operators() {
  Table table;
  table.add("mala_core") = run_core;
  table.add("mala_causal") = run_core;
  table.add("rope1d") = run_rope;
  table.add("rope2d") = run_rope;
  return table;
}

}  // namespace fovea::verify
