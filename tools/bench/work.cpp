#include "bench/work.h"

#include <fmt/format.h>

#include <cmath>

#include "attention/attention.h"
#include "autograd/graph.h"
#include "autograd/mode.h"
#include "backend/devices.h"
#include "base/error.h"
#include "nn/ffn.h"
#include "ops/create.h"
#include "ops/elementwise.h"
#include "ops/loss.h"
#include "ops/reduce.h"
#include "optim/registry.h"
#include "training/weights.h"

namespace fovea::bench {
namespace {

constexpr std::int64_t kDefaultTokens = 1024;

struct Inputs {
  Tensor x;         // (b, ...sample)
  Tensor y;         // (b) int64, or undefined
  Tensor upstream;  // gradient of the output, or undefined
};

Device host_of(const Device& device) { return device.is_host() ? device : make_cpu(); }

std::map<std::string, Tensor> read_tensors(const std::string& file, const Device& device) {
  std::map<std::string, Tensor> tensors = read_safetensors(file, host_of(device)).tensors;
  for (auto& [name, tensor] : tensors) tensor = ops::to(tensor, device);
  return tensors;
}

void load(const nn::Module& module, const Device& device, const Settings& settings) {
  if (settings.init.empty()) return;
  training::load_weights(module, read_tensors(settings.init, device), settings.init);
}

// `standard`, or the tensors of a file, of the same kind but for the size of the batch.
Inputs make_inputs(const Device& device, const Settings& settings, const Tensor& standard) {
  if (settings.inputs.empty()) return {standard, {}, {}};
  Shape shape = standard.shape();
  std::map<std::string, Tensor> tensors = read_tensors(settings.inputs, device);
  const Tensor x = tensors["x"];
  FOVEA_CHECK(x.defined(), FileError, fmt::format("{}: x is missing", settings.inputs));
  if (x.rank() > 0) shape[0] = x.size(0);
  FOVEA_CHECK(x.shape() == shape && x.dtype() == standard.dtype(), FileError,
              fmt::format("{}: x is {} {}; expected {} {} with any first size", settings.inputs,
                          name_of(x.dtype()), to_string(x.shape()), name_of(standard.dtype()),
                          to_string(shape)));
  return {x, tensors["y"], tensors["upstream"]};
}

Tensor labels_for(const Tensor& logits) {
  std::vector<std::int64_t> labels;
  for (std::int64_t i = 0; i < logits.size(0); ++i) labels.push_back(i % logits.size(-1));
  const Device& device = logits.device();
  return ops::to(Tensor::from(labels, {logits.size(0)}, host_of(device)), device);
}

std::vector<optim::Parameter> parameters_of(const nn::Module& module) {
  std::vector<optim::Parameter> parameters;
  for (const nn::NamedTensor& named : module.parameters())
    parameters.push_back({named.name, named.tensor});
  return parameters;
}

// Forward, and unless only inferring, the loss, backward and the optimiser's update.
Work model_work(const experiment::Experiment& e, const Device& device, const Settings& settings) {
  const models::DataShape shape = experiment::data_shape(e);
  const std::shared_ptr<models::Model> model = experiment::make_model(e, device, shape);
  load(*model, device, settings);
  const std::int64_t batch = settings.batch_size > 0 ? settings.batch_size : e.train.batch_size;
  const Inputs in =
      make_inputs(device, settings, experiment::random_batch(e, shape, batch, device));
  const auto targets = std::make_shared<Tensor>(in.y);
  const bool masks = e.task == "segmentation";
  const auto loss_of = [targets, masks](const Tensor& output) {
    if (!targets->defined()) *targets = masks ? ops::zeros_like(output) : labels_for(output);
    return masks ? ops::bce_dice(output, *targets) : ops::cross_entropy(output, *targets);
  };
  const auto infer = [=] {
    const autograd::NoGrad no_grad;
    return (*model)(in.x);
  };
  if (settings.infer) return {infer, loss_of, in.x.size(0)};

  model->train(true);
  const std::shared_ptr<optim::Optimiser> optimiser =
      optim::make_optimiser(e.optimizer, parameters_of(*model));
  const auto train = [=, step = std::uint64_t{0}]() mutable {
    model->set_random(RandomStream(1).fork(step++));
    optimiser->zero_grad();
    const Tensor loss = loss_of((*model)(in.x));
    autograd::backward(loss);
    optimiser->step(optimiser->base_lr());
    return loss.detach();
  };
  return {train, [](const Tensor& loss) { return loss; }, in.x.size(0)};
}

using Forward = std::function<Tensor(const Tensor&)>;

// A square grid where that many tokens make one, else one row.
nn::Grid grid_of(std::int64_t tokens) {
  const auto side = static_cast<std::int64_t>(std::lround(std::sqrt(tokens)));
  return side * side == tokens ? nn::Grid{side, side} : nn::Grid{1, tokens};
}

// The attention or feed-forward network that every block of the model has, without dropout.
std::pair<std::shared_ptr<nn::Module>, Forward> make_part(Part part, const schema::Value& options,
                                                          const nn::Build& build) {
  const std::int64_t dim = options.at("embed_dim").as_int();
  const schema::Value& value = options.at(part == Part::kFfn ? "ffn" : "attention");
  const schema::Component component{value.at("type").as_string(), value};
  if (part == Part::kFfn) {
    const std::shared_ptr<nn::FeedForward> ffn = nn::make_ffn(component, build, dim, 0);
    return {ffn, [ffn](const Tensor& x) { return (*ffn)(x, grid_of(x.size(1))); }};
  }
  const std::shared_ptr<attention::Attention> module =
      attention::make(component, {build, dim, 1, 1});
  return {module, [module](const Tensor& x) { return (*module)(x, {}); }};
}

// A part of the model alone on tokens (b, n, dim): forward, and unless only inferring, backward.
Work part_work(const experiment::Experiment& e, const Device& device, const Settings& settings) {
  const schema::Value& options = e.model.options;
  const nn::Build build{.device = device,
                        .random = RandomStream(1),
                        .activations = dtype_from_name(e.train.precision)};
  const auto [module, forward] = make_part(settings.part, options, build);
  load(*module, device, settings);
  const std::int64_t tokens = settings.tokens > 0 ? settings.tokens : kDefaultTokens;
  const std::int64_t batch = settings.batch_size > 0 ? settings.batch_size : 1;
  const Inputs in =
      make_inputs(device, settings,
                  ops::random_normal({batch, tokens, options.at("embed_dim").as_int()}, 0, 1,
                                     RandomStream(1), DType::kFloat32, device));
  const DType dtype = build.activation_dtype();
  const Tensor upstream = in.upstream.defined() ? in.upstream : ops::ones_like(in.x);
  const Tensor gradient = ops::cast(upstream, dtype);
  if (!settings.infer) in.x.set_requires_grad(true);
  const auto step = [=, module = module, forward = forward, x = in.x, infer = settings.infer] {
    if (infer) {
      const autograd::NoGrad no_grad;
      return forward(ops::cast(x, dtype));
    }
    x.set_grad({});
    for (const nn::NamedTensor& named : module->parameters()) named.tensor.set_grad({});
    const Tensor output = forward(ops::cast(x, dtype));
    autograd::backward(output, gradient);
    return output.detach();
  };
  const auto loss = [upstream](const Tensor& output) {
    return ops::mean(ops::mul(ops::cast(output, upstream.dtype()), upstream));
  };
  return {step, loss, in.x.size(0)};
}

}  // namespace

Work make_work(const experiment::Experiment& e, const Device& device, const Settings& settings) {
  return settings.part == Part::kModel ? model_work(e, device, settings)
                                       : part_work(e, device, settings);
}

}  // namespace fovea::bench
