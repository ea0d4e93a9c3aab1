// The language model, from the words of the mala paper's golden cases.

#include "models/model.h"
#include "ops/losses/loss.h"
#include "ops/shape.h"
#include "verify/module_case.h"
#include "verify/options.h"
#include "verify/runners.h"

namespace fovea::verify {
namespace {

using schema::Value;
using Tensors = std::map<std::string, Tensor>;

Value attention_of(const Case& c) {
  Value attention = Value::object({{"type", c.text("attention")}});
  take(c, attention, {{"num_heads", "num_heads"}});
  const std::string type = c.text("attention");
  // Words of the linear forms stand in every case.
  if (type == "softmax") c.config().of_others({"kernel"});
  if (type != "mala") c.config().of_others({"scaling"});
  if (type != "softmax") take_given(c.config(), attention, {"kernel", "eps"});
  if (type == "mala") take_given(c.config(), attention, {"scaling", "beta", "gamma", "normaliser"});
  const bool rotates = c.config().choice<bool>(
      "rope", {{"none", false}, {type == "softmax" ? "before_scores" : "after_phi", true}}, false);
  const double base = c.number("rope_base", 10000);
  attention.set("rope_base", rotates ? Value(base) : Value());
  return attention;
}

void run_decoder(const Case& c, Checker& check) {
  Value options = Value::object({{"type", "language_model"}, {"attention", attention_of(c)}});
  take(c, options,
       {{"hidden_size", "embed_dim"},
        {"num_layers", "depth"},
        {"intermediate_size", "hidden_dim"},
        {"rms_eps", "norm_eps"},
        {"vocab_size", "vocab_size"},
        {"tie_word_embeddings", "tie_word_embeddings"}});
  const auto model =
      models::make_model(resolved(models::entries().choices(), options), build_for(c), {});
  run_module(
      c, *model,
      [&](const Inputs& inputs) -> Tensors {
        const Tensor& ids = inputs.at("ids");
        const Tensor logits = (*model)({.tokens = ids}).logits;
        // Each token but the first is predicted from those before it.
        const std::int64_t n = ids.size(1) - 1;
        return {
            {"logits", logits},
            {"loss", ops::cross_entropy(ops::slice(logits, 1, 0, n), ops::slice(ids, 1, 1, n))}};
      },
      check);
}

}  // namespace

Table mala_language() {
  Table table;
  table.add("causal_lm") = run_decoder;
  return table;
}

}  // namespace fovea::verify
