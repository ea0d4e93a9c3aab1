#include "training/inference/sampler.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "autograd/mode.h"
#include "backend/devices.h"
#include "base/error.h"
#include "ops/create.h"
#include "ops/elementwise.h"
#include "ops/shape.h"

namespace fovea::training {
namespace {

constexpr const char* kDdpm = "ddpm";
constexpr const char* kDdim = "ddim";

schema::Fields<SamplerOptions> sampler_fields(SamplerKind kind) {
  using O = SamplerOptions;
  O defaults;
  defaults.kind = kind;
  if (kind == SamplerKind::kDdim) defaults.steps = "50";
  schema::Fields<O> fields(defaults);
  fields
      .add("steps", &O::steps,
           "steps of the chain that are made: a number, spread evenly; numbers of equal parts of "
           "it, \"10,15,20\"; \"ddim50\", at one distance; \"\": all")
      .add("guidance", &O::guidance, schema::at_least(0),
           "how far the noise of an image with its class is led away from that without: 1 = not")
      .add("guide_all", &O::guide_all,
           "lead all channels of the noise, or the first three, as facebookresearch/DiT does")
      .add("clip_denoised", &O::clip_denoised,
           "cut what the network takes for the image to [-1, 1] in every step");
  if (kind == SamplerKind::kDdim)
    fields.add("eta", &O::eta, schema::at_least(0),
               "share of DDPM's noise that is drawn in a step; 0: the same noise at the start "
               "gives the same image");
  return fields;
}

// A number of the images' own: (n, c, h, w), of which each draws for itself.
Tensor noise_for(const std::vector<RandomStream>& streams, std::uint64_t step, const Shape& image,
                 const Device& device) {
  Shape shape{1};
  for (const std::int64_t axis : image) shape.push_back(axis);
  std::vector<Tensor> each;
  for (const RandomStream& stream : streams)
    each.push_back(ops::random_normal(shape, 0, 1, stream.fork(step), DType::kFloat32, device));
  return ops::concat(each, 0);
}

void check_request(const models::Denoiser& network, const ImageRequest& request) {
  const std::int64_t classes = network.num_classes();
  for (const std::int64_t label : request.labels) {
    FOVEA_CHECK(label >= -1 && label < classes, ConfigError,
                fmt::format("sampler: class {}; the network knows 0 to {}", label, classes - 1));
    FOVEA_CHECK(label >= 0 || network.has_null_class(), ConfigError,
                "sampler: an image of no class; the network was built without "
                "model.class_dropout_prob and knows none");
  }
  FOVEA_CHECK(request.sampler.guidance == 1 || network.has_null_class(), ConfigError,
              fmt::format("sampler: guidance {}; the network was built without "
                          "model.class_dropout_prob and knows no image without a class; expected 1",
                          request.sampler.guidance));
}

// Images [first, first + count) of a request.
class Batch {
 public:
  Batch(models::Denoiser& network, const ImageRequest& request, const Device& device,
        std::int64_t first, std::int64_t count)
      : network_(network), request_(request), device_(device), first_(first), count_(count) {
    const std::int64_t null_class = network.num_classes();
    std::vector<std::int64_t> labels, none(static_cast<std::size_t>(count), null_class);
    for (std::int64_t i = first; i < first + count; ++i) {
      const std::int64_t label = request.labels[static_cast<std::size_t>(i)];
      labels.push_back(label < 0 ? null_class : label);
      streams_.push_back(request.random.fork(static_cast<std::uint64_t>(i)));
    }
    labels_ = Tensor::from(labels, {count}, device);
    null_ = Tensor::from(none, {count}, device);
  }

  Tensor run(const ops::DiffusionChain& chain) {
    const SamplerOptions& o = request_.sampler;
    const ops::StepBackOptions options{network_.variance(), o.clip_denoised};
    const bool draws = o.kind == SamplerKind::kDdpm || o.eta > 0;
    const std::int64_t steps = chain.steps();
    Tensor x = noise_for(streams_, 0, network_.image(), device_);
    for (std::int64_t step = steps - 1; step >= 0; --step) {
      if (request_.stop && request_.stop())
        throw Interrupted("stopped before all images were made; nothing is saved");
      const Tensor t = all(step);
      const ops::StepBack back = ops::step_back(
          chain, options, output(x, chain.timesteps[static_cast<std::size_t>(step)]), x, t);
      Tensor noise;
      if (draws)
        noise =
            noise_for(streams_, static_cast<std::uint64_t>(step + 1), network_.image(), device_);
      x = o.kind == SamplerKind::kDdpm ? ops::ddpm_sample(back, t, noise)
                                       : ops::ddim_sample(chain, back, x, t, o.eta, noise);
      if (request_.watch) request_.watch({steps - step, steps, first_, x, back.x_start});
    }
    return x;
  }

 private:
  Tensor all(std::int64_t value) const {
    return Tensor::from(std::vector<std::int64_t>(static_cast<std::size_t>(count_), value),
                        {count_}, device_);
  }

  Tensor output(const Tensor& x, std::int64_t timestep) {
    const Tensor t = all(timestep);
    const Tensor with = network_({.image = x, .timestep = t, .label = labels_}).maps.front();
    const SamplerOptions& o = request_.sampler;
    if (o.guidance == 1) return with;
    const Tensor without = network_({.image = x, .timestep = t, .label = null_}).maps.front();
    const std::int64_t channels = x.size(1);
    return ops::guided(with, without, o.guidance,
                       o.guide_all ? channels : std::min<std::int64_t>(3, channels));
  }

  models::Denoiser& network_;
  const ImageRequest& request_;
  Device device_;
  std::int64_t first_, count_;
  std::vector<RandomStream> streams_;
  Tensor labels_, null_;
};

}  // namespace

schema::Choices sampler_choices() {
  return {"sampler", [] {
            const auto fields = [](SamplerKind kind) {
              return std::make_shared<const schema::Fields<SamplerOptions>>(sampler_fields(kind));
            };
            return std::vector<schema::Choice>{
                {kDdpm, "noise is drawn in every step, as in training's chain (mala 4.7)",
                 fields(SamplerKind::kDdpm)},
                {kDdim, "steps without noise of their own, of which fewer will do (Song et al.)",
                 fields(SamplerKind::kDdim)}};
          }};
}

SamplerOptions sampler_options(const schema::Component& component) {
  const std::string type =
      schema::find_choice(sampler_choices(), component.type, "eval.sampler.type").name;
  schema::Component complete = component;
  if (complete.options.is_null()) complete.options.set("type", component.type);
  return sampler_fields(type == kDdim ? SamplerKind::kDdim : SamplerKind::kDdpm)
      .parse(complete, "eval.sampler");
}

Tensor sample_images(models::Denoiser& network, const ImageRequest& request, const Device& device) {
  check_request(network, request);
  const autograd::NoGrad no_grad;
  const ops::DiffusionChain whole = network.chain();
  const ops::DiffusionChain chain =
      ops::respaced(whole, ops::respaced_steps(whole.steps(), request.sampler.steps));
  const std::int64_t count = std::ssize(request.labels);
  Shape shape{0};
  for (const std::int64_t axis : network.image()) shape.push_back(axis);
  std::vector<Tensor> parts;
  for (std::int64_t first = 0; first < count; first += request.batch_size)
    parts.push_back(
        Batch(network, request, device, first, std::min(request.batch_size, count - first))
            .run(chain));
  if (parts.empty()) return ops::zeros(shape, DType::kFloat32, device);
  return parts.size() == 1 ? parts.front() : ops::concat(parts, 0);
}

Tensor shown_images(const Tensor& images) {
  return ops::to(ops::clamp(ops::affine(images.detach(), 0.5, 0.5), 0, 1), make_cpu(1));
}

}  // namespace fovea::training
