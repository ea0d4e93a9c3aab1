// The dgsa paper's procedures: optimiser, schedules, image and text noise, rollout and heat maps,
// and whole training sequences.

#include <fmt/format.h>

#include "autograd/graph.h"
#include "autograd/mode.h"
#include "base/error.h"
#include "data/corruptions.h"
#include "data/text_noise.h"
#include "ops/create.h"
#include "ops/loss.h"
#include "optim/registry.h"
#include "verify/dgsa.h"
#include "verify/module_case.h"
#include "verify/runners.h"
#include "visualise/heatmap.h"
#include "visualise/rollout.h"

namespace fovea::verify {
namespace {

using schema::Value;

schema::Component component(const char* type,
                            std::initializer_list<std::pair<std::string, Value>> options) {
  Value value = Value::object({{"type", type}});
  for (const auto& [key, option] : options) value.set(key, option);
  return {type, value};
}

schema::Component adamw_of(const Case& c) {
  return component("adamw", {{"weight_decay", c.number("weight_decay", 0.01)},
                             {"betas", c.config().at("betas")},
                             {"eps", c.number("eps", 1e-8)}});
}

std::vector<optim::Parameter> leaves_of(const std::map<std::string, Tensor>& values) {
  std::vector<optim::Parameter> parameters;
  for (const auto& [name, value] : values) {
    const Tensor leaf = ops::clone(value);
    leaf.set_requires_grad(true);
    parameters.push_back({name, leaf});
  }
  return parameters;
}

std::vector<std::string> no_decay_of(const Case& c) {
  std::vector<std::string> names;
  if (c.given("no_decay")) {
    for (const Value& name : c.config().at("no_decay").items()) names.push_back(name.as_string());
  }
  return names;
}

// The case lists names, the toolkit decides by role (optim::decays): two optimisers side by side
// cover any list.
class SplitAdamW {
 public:
  SplitAdamW(const Case& c, const std::vector<optim::Parameter>& parameters) {
    const auto exempt = no_decay_of(c);
    std::vector<optim::Parameter> decaying, others;
    for (const optim::Parameter& p : parameters) {
      const bool free = std::find(exempt.begin(), exempt.end(), p.name) != exempt.end();
      (free ? others : decaying).push_back(p);
    }
    schema::Component options = adamw_of(c);
    if (!decaying.empty()) parts_.push_back(optim::make_optimiser(options, decaying));
    options.options.set("weight_decay", 0.0);
    if (!others.empty()) parts_.push_back(optim::make_optimiser(options, others));
  }
  void step(double lr) {
    for (const auto& part : parts_) part->step(lr);
  }
  void zero_grad() {
    for (const auto& part : parts_) part->zero_grad();
  }
  std::map<std::string, Tensor> state() const {
    std::map<std::string, Tensor> all;
    for (const auto& part : parts_) all.merge(part->state());
    return all;
  }

 private:
  std::vector<std::unique_ptr<optim::Optimiser>> parts_;
};

void run_adamw(const Case& c, Checker& check) {
  const auto parameters = leaves_of(c.below("param/"));
  SplitAdamW optimiser(c, parameters);
  const auto& rates = c.config().at("lrs").items();
  for (std::size_t i = 0; i < rates.size(); ++i) {
    const std::string step = fmt::format("step{}", i + 1);
    for (const optim::Parameter& p : parameters) {
      p.tensor.set_grad(ops::clone(c.at("input/grad/" + step + "/" + p.name)));
    }
    if (c.given("clip_max_norm")) {
      const double norm = optim::clip_grad_norm(parameters, c.number("clip_max_norm"));
      check.compare("output/" + step + "/total_norm", std::vector<double>{norm});
      for (const optim::Parameter& p : parameters) {
        check.compare("output/" + step + "/clipped_grad/" + p.name, p.tensor.grad());
      }
    }
    optimiser.step(rates[i].as_double());
    const auto state = optimiser.state();
    for (const optim::Parameter& p : parameters) {
      check.compare("output/" + step + "/param/" + p.name, p.tensor);
      check.compare("output/" + step + "/m/" + p.name, state.at(p.name + ".exp_avg"));
      check.compare("output/" + step + "/v/" + p.name, state.at(p.name + ".exp_avg_sq"));
    }
  }
}

optim::Schedule cosine_of(const Case& c) {
  return optim::make_schedule(component("cosine", {{"unit", "epoch"},
                                                   {"min_lr", c.number("eta_min")},
                                                   {"period_epochs", c.number("T_max")}}),
                              {c.number("lr"), c.integer("T_max"), 1});
}

optim::Schedule warmup_linear_of(const Case& c) {
  return optim::make_schedule(
      component("linear", {{"unit", "step"}, {"warmup_steps", c.integer("warmup_steps")}}),
      {c.number("lr"), c.integer("total_steps"), 1});
}

Runner schedule_runner(optim::Schedule (*make)(const Case&), const char* output) {
  return [make, output](const Case& c, Checker& check) {
    const optim::Schedule schedule = make(c);
    std::vector<double> rates;
    for (std::int64_t k = 0; k < c.at(output).numel(); ++k) rates.push_back(schedule(k));
    check.compare(output, rates);
  };
}

void run_image_noise(const Case& c, Checker& check) {
  using data::Corruption;
  const Tensor& x = c.at("input/x");
  const auto field = [&](const char* name) {
    return c.at(std::string("input/") + name).values<float>();
  };
  const auto scalars = to_doubles(c.at("input/u_scalar"));
  for (const Value& level : c.config().at("levels").items()) {
    const double s = level.as_double();
    for (const Corruption type : data::all_corruptions()) {
      const Tensor image = ops::clone(x);
      const data::Planes planes{x.size(0), x.size(1), x.size(2), image.data<float>()};
      switch (type) {
        case Corruption::kGaussian:
          data::gaussian(planes, s, field("z"));
          break;
        case Corruption::kSpeckle:
          data::speckle(planes, s, field("z"));
          break;
        case Corruption::kShot:
          data::shot(planes, s, field("u"));
          break;
        case Corruption::kSaltPepper:
          data::salt_pepper(planes, s, field("u_pixel"));
          break;
        case Corruption::kImpulse:
          data::impulse(planes, s, field("u"));
          break;
        case Corruption::kGaussianBlur:
          data::gaussian_blur(planes, s);
          break;
        case Corruption::kMotionBlur:
          data::motion_blur(planes, s, scalars[0]);
          break;
        case Corruption::kOcclusion:
          data::occlusion(planes, s, scalars[1], scalars[2], c.number("fill"));
          break;
        case Corruption::kContrast:
          data::contrast(planes, s);
          break;
        case Corruption::kBrightness:
          data::brightness(planes, s);
          break;
      }
      const std::string key = fmt::format("output/{}/{}", s, data::name_of(type));
      if (c.has(key)) check.compare(key, image);
    }
  }
}

void run_text_noise(const Case& c, Checker& check) {
  const auto ids = c.at("input/tokens").values<std::int64_t>();
  const auto u = c.at("input/u").values<float>();
  const auto w = c.at("input/w").values<float>();
  for (const Value& level : c.config().at("levels").items()) {
    for (const data::TextCorruption type : data::all_text_corruptions()) {
      const double s = level.as_double();
      const data::Ids changed = data::corrupt(data::Ids(ids.begin(), ids.end()), {type, s}, u, w,
                                              c.integer("vocab_size"));
      check.compare(fmt::format("output/{}/{}", s, data::name_of(type)),
                    std::vector<double>(changed.begin(), changed.end()));
    }
  }
}

visualise::RolloutOptions rollout_options(const Value& given) {
  visualise::RolloutOptions o;
  const auto text = [&](const char* key) {
    return given.find(key) ? given.at(key).as_string() : std::string();
  };
  if (given.find("fusion")) o.fusion = visualise::fusion_from_name(text("fusion"));
  if (given.find("sign")) o.sign = visualise::sign_from_name(text("sign"));
  if (given.find("normalise")) o.normalise = visualise::normalise_from_name(text("normalise"));
  if (given.find("alpha")) o.alpha = given.at("alpha").as_double();
  if (given.find("discard")) o.discard = given.at("discard").as_double();
  if (given.find("start_layer")) o.start_layer = given.at("start_layer").as_int();
  return o;
}

// Sample `item` of a batch of maps (b, heads, n, n), or of one map without the batch axis.
visualise::AttentionMap map_of(const Tensor& maps, std::int64_t item) {
  const std::int64_t n = maps.size(-1);
  const std::int64_t heads = maps.size(-3);
  const auto values = to_doubles(maps);
  const auto first = values.begin() + item * heads * n * n;
  return {heads, n, std::vector<double>(first, first + heads * n * n)};
}

std::vector<visualise::AttentionMap> input_maps(const Case& c) {
  std::vector<visualise::AttentionMap> layers;
  while (c.has(fmt::format("input/attn/{}", layers.size()))) {
    layers.push_back(map_of(c.at(fmt::format("input/attn/{}", layers.size())), 0));
  }
  return layers;
}

std::vector<double> heat_of(const visualise::Matrix& rollout, std::int64_t grid_h,
                            std::int64_t grid_w, std::int64_t height, std::int64_t width) {
  const visualise::Matrix grid{grid_h, grid_w, visualise::class_row(rollout)};
  return visualise::scale_minmax(visualise::upsample_bilinear(grid, height, width)).values;
}

void run_rollout(const Case& c, Checker& check) {
  const auto layers = input_maps(c);
  const Value& grid = c.config().at("grid");
  const Value& image = c.config().at("image");
  for (const auto& [name, options, origin] : c.config().at("variants").members()) {
    const visualise::Matrix rollout =
        visualise::attention_rollout(layers, rollout_options(options));
    check.compare("output/" + name + "/rollout", rollout.values);
    check.compare("output/" + name + "/heat",
                  heat_of(rollout, grid.at(0).as_int(), grid.at(1).as_int(), image.at(0).as_int(),
                          image.at(1).as_int()));
  }
}

void run_text_rollout(const Case& c, Checker& check) {
  auto layers = input_maps(c);
  const auto mask = c.at("input/key_mask").values<std::uint8_t>();
  for (auto& layer : layers) layer = visualise::crop(layer, mask);
  const visualise::Matrix rollout =
      visualise::attention_rollout(layers, rollout_options(c.config()));
  const std::vector<double> mean = visualise::mean_row(rollout);
  check.compare("output/rollout_valid", rollout.values);
  check.compare("output/row_mean", mean);
  check.compare("output/row_cls", visualise::class_row(rollout));
  const visualise::Matrix bar{1, static_cast<std::int64_t>(mean.size()), mean};
  check.compare("output/bar_mean_minmax", visualise::scale_minmax(bar).values);
  check.compare("output/bar_mean_symmetric", visualise::scale_symmetric(bar).values);
}

std::vector<double> colours(const std::vector<double>& values, visualise::ColourMap map) {
  std::vector<double> bytes;
  for (const double value : values) {
    const visualise::Colour rgb = visualise::colour_of(map, value);
    bytes.insert(bytes.end(), {double(rgb.r), double(rgb.g), double(rgb.b)});
  }
  return bytes;
}

void run_heatmap(const Case& c, Checker& check) {
  const Tensor& grid = c.at("input/grid");
  const Value& image = c.config().at("image");
  const visualise::Matrix small{grid.size(0), grid.size(1), to_doubles(grid)};
  const visualise::Matrix up =
      visualise::upsample_bilinear(small, image.at(0).as_int(), image.at(1).as_int());
  const visualise::Matrix scaled = visualise::scale_minmax(up);
  check.compare("output/up", up.values);
  check.compare("output/minmax", scaled.values);
  check.compare("output/symmetric", visualise::scale_symmetric(up).values);
  for (const char* name : {"plasma", "viridis", "cividis"}) {
    const visualise::ColourMap map = visualise::colour_map_from_name(name);
    check.compare_within(fmt::format("output/rgb_minmax/{}", name), colours(scaled.values, map), 1);
    check.compare_within(fmt::format("output/rgb_ramp/{}", name),
                         colours(to_doubles(c.at("input/ramp")), map), 1);
  }
}

void run_network_rollout(const Case& c, Checker& check) {
  const auto model = make_network(c);
  load_parameters(c, *model, check);
  if (!check.passed()) return;
  const autograd::NoGrad no_grad;
  attention::Probe probe;
  const Tensor& x = c.at("input/x");
  check.compare("output/logits", (*model)(x, &probe));
  const attention::Context geometry = model->geometry();
  for (const auto& [name, options, origin] : c.config().at("variants").members()) {
    std::vector<double> rollouts, heats;
    for (std::int64_t item = 0; item < x.size(0); ++item) {
      std::vector<visualise::AttentionMap> layers;
      for (const Tensor& map : probe.all("attn")) layers.push_back(map_of(map, item));
      const visualise::Matrix rollout =
          visualise::attention_rollout(layers, rollout_options(options));
      const auto heat = heat_of(rollout, geometry.grid_h, geometry.grid_w, x.size(2), x.size(3));
      rollouts.insert(rollouts.end(), rollout.values.begin(), rollout.values.end());
      heats.insert(heats.end(), heat.begin(), heat.end());
    }
    check.compare("output/" + name + "/rollout", rollouts);
    check.compare("output/" + name + "/heat", heats);
  }
}

// A short complete training run: forward, cross-entropy, backward, clip, AdamW, schedule.
void run_training(const Case& c, Checker& check) {
  const auto model = make_network(c);
  load_parameters(c, *model, check);
  if (!check.passed()) return;
  std::vector<optim::Parameter> parameters;
  for (const nn::NamedTensor& named : model->parameters())
    parameters.push_back({named.name, named.tensor});
  SplitAdamW optimiser(c, parameters);
  const bool by_epoch = c.given("epochs");
  const optim::Schedule schedule = by_epoch ? cosine_of(c) : warmup_linear_of(c);
  const std::int64_t per_epoch = c.integer("steps_per_epoch", 1);
  const char* input = c.has("param/embed.weight") ? "/ids" : "/x";
  for (std::int64_t k = 0; c.has(fmt::format("input/step{}/labels", k + 1)); ++k) {
    const std::string step = fmt::format("step{}", k + 1);
    optimiser.zero_grad();
    const Tensor logits = (*model)(c.at("input/" + step + input));
    const Tensor loss = ops::cross_entropy(logits, c.at("input/" + step + "/labels"));
    check.compare("output/" + step + "/loss", loss);
    autograd::backward(loss);
    if (c.given("clip_max_norm")) {
      const double norm = optim::clip_grad_norm(parameters, c.number("clip_max_norm"));
      if (c.has("output/" + step + "/grad_norm"))
        check.compare("output/" + step + "/grad_norm", std::vector<double>{norm});
    }
    const double lr = schedule(by_epoch ? k / per_epoch : k);
    check.compare("output/" + step + "/lr", std::vector<double>{lr});
    optimiser.step(lr);
  }
  for (const optim::Parameter& p : parameters)
    check.compare("output/final_param/" + p.name, p.tensor);
}

}  // namespace

Table dgsa_procedures() {
  Table table;
  table["AdamW"] = run_adamw;
  table["CosineAnnealingLR"] = schedule_runner(cosine_of, "output/lr_per_epoch");
  table["linear_warmup_linear_decay"] = schedule_runner(warmup_linear_of, "output/lr_per_step");
  table["image_noise"] = run_image_noise;
  table["text_noise"] = run_text_noise;
  table["attention_rollout"] = run_rollout;
  table["attention_rollout_text"] = run_text_rollout;
  table["heatmap_upsample_colormap"] = run_heatmap;
  for (const char* network : {"DGViT", "ViT", "DIFF-ViT"}) {
    table[std::string(network) + "+attention_rollout"] = run_network_rollout;
  }
  table["train_step_sequence"] = run_training;
  return table;
}

}  // namespace fovea::verify
