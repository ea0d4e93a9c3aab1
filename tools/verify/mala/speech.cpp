// Speech: from the words of the mala paper's golden cases to log-mel features, CTC and Conformers.

#include <fmt/format.h>

#include "data/audio/log_mel.h"
#include "models/model.h"
#include "models/sequences/conformer_block.h"
#include "ops/losses/ctc_loss.h"
#include "ops/reduce.h"
#include "ops/shape.h"
#include "tensor/host.h"
#include "verify/module_case.h"
#include "verify/options.h"
#include "verify/runners.h"

namespace fovea::verify {
namespace {

using schema::Value;
using Tensors = std::map<std::string, Tensor>;

std::vector<std::int64_t> lengths_in(const Tensor& x) {
  const auto values = x.host_values<std::int64_t>();
  return {values.begin(), values.end()};
}

void run_log_mel(const Case& c, Checker& check) {
  const Config& config = c.config();
  config.only("center", false);
  config.only("window", "periodic hann");
  config.only("mel", "htk, no area normalisation");
  data::LogMelPlan plan;
  plan.sample_rate = c.integer("sample_rate");
  plan.win_length = c.integer("win_length");
  plan.hop_length = c.integer("hop_length");
  plan.n_fft = c.integer("n_fft");
  plan.num_mels = c.integer("num_mels");
  plan.f_min = c.number("f_min", plan.f_min);
  plan.f_max = c.number("f_max", static_cast<double>(plan.sample_rate) / 2);
  plan.floor = c.number("floor", plan.floor);
  const data::LogMel features(plan);
  c.check_all_read();
  const auto samples = c.at("input/wav").host_values<float>();
  const std::vector<float> y = features(samples);
  check.compare("output/power", features.power(samples));
  check.compare("output/filterbank", features.filterbank());
  check.compare("output/y", std::vector<double>(y.begin(), y.end()));
}

// Logits of the case come with time first.
void run_ctc(const Case& c, Checker& check) {
  const ops::CtcOptions options{.blank = c.integer("blank", 0),
                                .zero_infinity = c.flag("zero_infinity")};
  run_operation(
      c,
      [&](const Inputs& inputs) -> Tensors {
        return {{"loss", ops::ctc_loss(ops::transpose(inputs.at("logits"), 0, 1),
                                       inputs.at("targets"), lengths_in(inputs.at("input_lengths")),
                                       lengths_in(inputs.at("target_lengths")), options)}};
      },
      check);
}

Value conformer_attention_of(const Case& c) {
  Value attention = Value::object();
  take(c, attention, {{"attention", "type"}, {"heads", "num_heads"}});
  take_given(
      c.config(), attention,
      {"kernel", "exp_max", "scaling", "eps", "beta", "gamma", "learnable_shape", "normaliser"});
  return attention;
}

void run_conformer_block(const Case& c, Checker& check) {
  models::ConformerBlockOptions options{.dim = c.integer("dim"),
                                        .hidden = c.integer("ffn_dim"),
                                        .kernel_size = c.integer("kernel_size")};
  options.attention =
      models::conformer_attention_fields().parse(conformer_attention_of(c), "attention");
  c.config().only("ln_eps", models::ConformerBlock::kNormEps);
  if (c.given("rel_pos")) {
    c.config().only("attention", "softmax");
    c.config().only("rel_pos", "transformer-xl");
  } else if (options.attention.type == models::ConformerMechanism::kSoftmax &&
             c.config().has("rel_pos")) {
    c.config().refuse("rel_pos");
  }
  c.config().nothing_dropped({"dropout"}, c.training());
  models::ConformerBlock block(build_for(c), options);
  run_module(
      c, block,
      [&](const Inputs& inputs) -> Tensors {
        attention::Context context;
        context.key_mask = inputs.find("mask");
        return {{"y", block(inputs.at("x"), context)}};
      },
      check);
}

// The loss of all utterances over their number.
Tensor ctc_batch_loss(const Tensor& logits, const Inputs& inputs) {
  const Tensor& x = inputs.at("x");
  const std::vector<std::int64_t> lengths(static_cast<std::size_t>(x.size(0)), logits.size(1));
  const Tensor losses = ops::ctc_loss(logits, inputs.at("targets"), lengths,
                                      lengths_in(inputs.at("target_lengths")), {});
  return ops::mean(losses);
}

void run_conformer(const Case& c, Checker& check) {
  Value options = Value::object({{"type", "conformer_s"}});
  take(c, options,
       {{"dim", "embed_dim"},
        {"num_layers", "depth"},
        {"kernel_size", "kernel_size"},
        {"input_dim", "num_mels"},
        {"vocab_size", "num_classes"}});
  options.set("mlp_ratio", c.number("ffn_dim") / c.number("dim"));
  options.set("attention", conformer_attention_of(c));
  c.config().only("blank", 0);
  c.config().only("loss", "sum over utterances / batch");
  c.config().nothing_dropped({"dropout"}, c.training());
  if (!c.training()) options.set("drop_rate", 0.0);
  const auto model =
      models::make_model(resolved(models::entries().choices(), options), build_for(c), {});
  run_module(
      c, *model,
      [&](const Inputs& inputs) -> Tensors {
        const Tensor& x = inputs.at("x");
        const std::vector<std::int64_t> frames(static_cast<std::size_t>(x.size(0)), x.size(1));
        const Tensor logits =
            (*model)({.features = x, .num_frames = Tensor::from(frames, {x.size(0)}, x.device())})
                .logits;
        return {{"logits", logits}, {"loss", ctc_batch_loss(logits, inputs)}};
      },
      check);
}

}  // namespace

Table mala_speech() {
  Table table;
  table.add("log_mel") = run_log_mel;
  table.add("ctc_loss") = run_ctc;
  table.add("conformer_block") = run_conformer_block;
  table.add("conformer_ctc") = run_conformer;
  return table;
}

}  // namespace fovea::verify
