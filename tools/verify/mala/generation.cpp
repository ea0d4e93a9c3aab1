// Diffusion transformers, diffusion, and the scores of generated images, from the words of the mala
// paper's golden cases. mala 4.7, 8.

#include <cmath>

#include "metrics/generation.h"
#include "models/diffusion/denoiser.h"
#include "models/diffusion/dit_block.h"
#include "models/diffusion/embeddings.h"
#include "ops/diffusion/diffusion.h"
#include "ops/shape.h"
#include "verify/module_case.h"
#include "verify/options.h"
#include "verify/runners.h"

namespace fovea::verify {
namespace {

using ops::StepVariance;
using schema::Value;
using Tensors = std::map<std::string, Tensor>;

// Tables 1, 8 and 9 name an attention as the library does.
Value dit_attention(const Case& c) {
  Value options = Value::object({{"type", c.text("attention")}});
  take(c, options, {{"num_heads", "num_heads"}});
  take_given(c.config(), options, {"qkv_bias", "kernel", "scaling"});
  return options;
}

void run_dit_block(const Case& c, Checker& check) {
  const Tensor& x = c.at("input/x");
  const std::int64_t dim = c.integer("hidden_size");
  const auto grid = static_cast<std::int64_t>(std::llround(std::sqrt(x.size(1))));
  const attention::Layout layout =
      grid * grid == x.size(1) ? attention::Layout{0, grid, grid} : attention::Layout{};
  models::DiTBlock block(
      build_for(c),
      {dim, resolved(attention::variants().choices(), dit_attention(c)), c.number("mlp_ratio", 4)},
      1, 1, layout);
  attention::Context context;
  static_cast<attention::Layout&>(context) = layout;
  run_module(
      c, block,
      [&](const Inputs& in) -> Tensors {
        return {{"y", block(in.at("x"), in.at("c"), context)}};
      },
      check);
}

void run_dit(const Case& c, Checker& check) {
  const std::int64_t size = c.integer("input_size");
  Value options = Value::object({{"type", "dit_s"}, {"attention", dit_attention(c)}});
  options.set("img_size", Value::array(std::vector<std::int64_t>{size, size}));
  take(c, options,
       {{"patch_size", "patch_size"},
        {"in_channels", "in_chans"},
        {"hidden_size", "embed_dim"},
        {"depth", "depth"},
        {"mlp_ratio", "mlp_ratio"},
        {"num_classes", "num_classes"},
        {"class_dropout_prob", "class_dropout_prob"},
        {"learn_sigma", "learn_sigma"}});
  // A case in training would need its draws of the labels.
  if (c.training()) c.config().nothing_dropped({"class_dropout_prob"}, true);
  const auto model =
      models::make_model(resolved(models::entries().choices(), options), build_for(c), {});
  const std::int64_t side = size / c.integer("patch_size");
  run_module(
      c, *model,
      [&](const Inputs& in) -> Tensors {
        const Tensor& t = in.at("t");
        return {
            {"y", (*model)({.image = in.at("x"), .timestep = t, .label = in.at("y")}).maps.front()},
            {"pos_embed", models::sincos_positions(c.integer("hidden_size"), side, side,
                                                   DType::kFloat32, c.device())},
            {"t_embed", models::timestep_table(t, 256, DType::kFloat32)}};
      },
      check);
}

ops::DiffusionChain chain_of(const Case& c) {
  ops::BetaOptions options{
      .schedule = c.config().choice("schedule",
                                    {{"linear", ops::BetaSchedule::kLinear},
                                     {"squaredcos_cap_v2", ops::BetaSchedule::kSquaredCosine},
                                     {"cosine", ops::BetaSchedule::kSquaredCosine}},
                                    ops::BetaSchedule::kLinear),
      .steps = c.integer("steps", 1000)};
  if (c.given("beta_start")) options.beta_start = c.number("beta_start");
  if (c.given("beta_end")) options.beta_end = c.number("beta_end");
  return ops::diffusion_chain(ops::noise_betas(options));
}

std::string spacing_of(const Case& c) {
  if (!c.given("respacing")) return "";
  const Value& spacing = c.value("respacing");
  return spacing.is_string() ? spacing.as_string() : std::to_string(c.integer("respacing"));
}

ops::DiffusionChain respaced_chain(const Case& c, const ops::DiffusionChain& chain) {
  return ops::respaced(chain, ops::respaced_steps(chain.steps(), spacing_of(c)));
}

void run_chain(const Case& c, Checker& check) {
  const ops::DiffusionChain chain = chain_of(c);
  const ops::DiffusionChain fewer = respaced_chain(c, chain);
  c.check_all_read();
  check.compare("output/betas", chain.betas);
  check.compare("output/alphas_cumprod", chain.alphas_cumprod);
  check.compare("output/posterior_variance", chain.posterior_variance);
  check.compare("output/posterior_log_variance_clipped", chain.posterior_log_variance_clipped);
  check.compare("output/posterior_mean_coef1", chain.posterior_mean_coef1);
  check.compare("output/posterior_mean_coef2", chain.posterior_mean_coef2);
  if (!c.has("output/respaced_betas")) return;
  check.compare("output/respaced_betas", fewer.betas);
  check.compare("output/respaced_timesteps",
                std::vector<double>(fewer.timesteps.begin(), fewer.timesteps.end()));
}

StepVariance variance_of(const Case& c) {
  return c.config().choice("variance",
                           {{"learned_range", StepVariance::kLearnedRange},
                            {"fixed_large", StepVariance::kFixedLarge},
                            {"fixed_small", StepVariance::kFixedSmall}},
                           StepVariance::kLearnedRange);
}

void run_diffusion_loss(const Case& c, Checker& check) {
  const ops::DiffusionChain chain = chain_of(c);
  const StepVariance variance = variance_of(c);
  c.config().only("mean", "epsilon");
  c.config().only("loss",
                  variance == StepVariance::kLearnedRange ? Value("mse + vb") : Value("mse"));
  run_operation(
      c,
      [&](const Inputs& in) -> Tensors {
        const Tensor &start = in.at("x_start"), &noise = in.at("noise");
        const Tensor& t = in.at("t");
        const Tensor x_t = ops::noised(chain, start, t, noise);
        const ops::DiffusionLoss loss =
            ops::diffusion_loss(chain, variance, in.at("model_output"), start, x_t, t, noise);
        Tensors outputs{{"loss", loss.loss}, {"mse", loss.mse}, {"x_t", x_t}};
        if (loss.vb.defined()) outputs["vb"] = loss.vb;
        return outputs;
      },
      check);
}

void run_sample(const Case& c, Checker& check) {
  const ops::DiffusionChain chain = respaced_chain(c, chain_of(c));
  const ops::StepBackOptions options{variance_of(c), c.flag("clip_denoised")};
  const double eta = c.number("ddim_eta", 0);
  run_operation(
      c,
      [&](const Inputs& in) -> Tensors {
        const Tensor &x_t = in.at("x_t"), &noise = in.at("noise");
        const Tensor& t = in.at("t");
        const ops::StepBack back = ops::step_back(chain, options, in.at("model_output"), x_t, t);
        return {{"mean", back.mean},
                {"log_variance", ops::expand(back.log_variance, x_t.shape())},
                {"pred_xstart", back.x_start},
                {"sample", ops::ddpm_sample(back, t, noise)},
                {"ddim_sample", ops::ddim_sample(chain, back, x_t, t, eta, noise)}};
      },
      check);
}

void run_scores(const Case& c, Checker& check) {
  c.config().only("cov", "unbiased (n-1)");
  const std::int64_t splits = c.integer("is_splits");
  c.check_all_read();
  const double distance =
      metrics::frechet_distance(metrics::feature_statistics(c.on_host("input/feat_a")),
                                metrics::feature_statistics(c.on_host("input/feat_b")));
  const metrics::InceptionScore score = metrics::inception_score(c.on_host("input/logits"), splits);
  check.compare("output/fid", std::vector<double>{distance});
  check.compare("output/is_mean", std::vector<double>{score.mean});
  check.compare("output/is_std", std::vector<double>{score.std});
}

}  // namespace

Table mala_generation() {
  Table table;
  table.add("dit_block") = run_dit_block;
  table.add("dit") = run_dit;
  table.add("diffusion_schedule") = run_chain;
  table.add("diffusion_loss") = run_diffusion_loss;
  table.add("diffusion_sample") = run_sample;
  table.add("fid_is") = run_scores;
  return table;
}

}  // namespace fovea::verify
