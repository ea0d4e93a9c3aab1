// The dgsa paper's procedures: optimiser, schedules, image and text noise.

#include <fmt/format.h>

#include "data/augment/corruptions.h"
#include "data/texts/text_noise.h"
#include "ops/create.h"
#include "ops/elementwise.h"
#include "ops/shape.h"
#include "optim/registry.h"
#include "verify/recipe.h"
#include "verify/runners.h"

namespace fovea::verify {
namespace {

std::vector<optim::Parameter> leaves_of(const std::map<std::string, Tensor>& values) {
  std::vector<optim::Parameter> parameters;
  for (const auto& [name, value] : values) {
    const Tensor leaf = ops::clone(value);
    leaf.set_requires_grad(true);
    parameters.push_back({name, leaf});
  }
  return parameters;
}

void run_adamw(const Case& c, Checker& check) {
  const auto parameters = leaves_of(c.below("param/"));
  const auto optimiser = optim::make_optimiser(adamw_of(c), parameters);
  const std::vector<double> rates = c.config().numbers("lrs");
  const double clip = c.number("clip_max_norm", 0);
  c.check_all_read();
  for (std::size_t i = 0; i < rates.size(); ++i) {
    const std::string step = fmt::format("step{}", i + 1);
    for (const optim::Parameter& p : parameters) {
      p.tensor.set_grad(ops::clone(c.at("input/grad/" + step + "/" + p.name)));
    }
    Tensor scale;
    if (clip > 0) {
      const Tensor square = ops::reshape(optim::grad_square_sum(parameters), {1});
      scale = optim::step_scale(square, clip);
      check.compare("output/" + step + "/total_norm", ops::sqrt(square));
      for (const optim::Parameter& p : parameters) {
        const Tensor clipped = ops::mul(p.tensor.grad(), ops::cast(scale, p.tensor.dtype()));
        check.compare("output/" + step + "/clipped_grad/" + p.name, clipped);
      }
    }
    optimiser->step(rates[i], scale);
    const auto state = optimiser->state();
    for (const optim::Parameter& p : parameters) {
      check.compare("output/" + step + "/param/" + p.name, p.tensor);
      check.compare("output/" + step + "/m/" + p.name, state.at(p.name + ".exp_avg"));
      check.compare("output/" + step + "/v/" + p.name, state.at(p.name + ".exp_avg_sq"));
    }
  }
}

Runner schedule_runner(schema::Component (*options)(const Case&), const char* length,
                       const char* output) {
  return [=](const Case& c, Checker& check) {
    const optim::Schedule schedule =
        optim::make_schedule(options(c), {c.number("lr"), c.integer(length), 1});
    c.check_all_read();
    std::vector<double> rates;
    for (std::int64_t k = 0; k < c.at(output).numel(); ++k) rates.push_back(schedule(k));
    check.compare(output, rates);
  };
}

// Which random field a corruption draws from, in the words of the cases.
void check_fields(const Case& c) {
  if (!c.given("uses")) return;
  const Config uses = c.config().at("uses");
  for (const auto& [corruption, field] : {std::pair{"gaussian", "z"},
                                          {"speckle", "z"},
                                          {"shot", "u"},
                                          {"salt_pepper", "u_pixel"},
                                          {"impulse", "u"},
                                          {"motion_blur", "u_scalar[0]"},
                                          {"occlusion", "u_scalar[1],u_scalar[2]"}})
    uses.only(corruption, field);
}

void run_image_noise(const Case& c, Checker& check) {
  using data::Corruption;
  check_fields(c);
  const double fill = c.number("fill", 0);
  const std::vector<double> levels = c.config().numbers("levels");
  c.check_all_read();
  const Tensor x = c.on_host("input/x");
  const auto field = [&](const char* name) {
    return c.at(std::string("input/") + name).host_values<float>();
  };
  const auto scalars = to_doubles(c.at("input/u_scalar"));
  for (const double s : levels) {
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
          data::occlusion(planes, s, scalars[1], scalars[2], fill);
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
  // Ids 0 and 1 are padding and unknown words.
  c.config().only("num_special", 2);
  c.config().only("unk_id", 1);
  const std::vector<double> levels = c.config().numbers("levels");
  const std::int64_t vocab_size = c.integer("vocab_size");
  c.check_all_read();
  const auto ids = c.at("input/tokens").host_values<std::int64_t>();
  const auto u = c.at("input/u").host_values<float>();
  const auto w = c.at("input/w").host_values<float>();
  for (const double s : levels) {
    for (const data::TextCorruption type : data::all_text_corruptions()) {
      const data::Ids changed =
          data::corrupt(data::Ids(ids.begin(), ids.end()), {type, s}, u, w, vocab_size);
      check.compare(fmt::format("output/{}/{}", s, data::name_of(type)),
                    std::vector<double>(changed.begin(), changed.end()));
    }
  }
}

}  // namespace

Table dgsa_procedures() {
  Table table;
  table.add("AdamW") = run_adamw;
  table.add("CosineAnnealingLR") = schedule_runner(cosine_of, "T_max", "output/lr_per_epoch");
  table.add("linear_warmup_linear_decay") =
      schedule_runner(warmup_linear_of, "total_steps", "output/lr_per_step");
  table.add("image_noise") = run_image_noise;
  table.add("text_noise") = run_text_noise;
  return table;
}

}  // namespace fovea::verify
