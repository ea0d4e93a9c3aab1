#include "bench/work.h"

#include <fmt/format.h>

#include <cmath>

#include "attention/attention.h"
#include "autograd/graph.h"
#include "autograd/mode.h"
#include "backend/devices.h"
#include "base/error.h"
#include "experiment/costs/training_step.h"
#include "nn/ffn.h"
#include "ops/create.h"
#include "ops/elementwise.h"
#include "ops/reduce.h"
#include "training/store/weights.h"

namespace fovea::bench {
namespace {

constexpr std::int64_t kDefaultTokens = 1024;

struct Inputs {
  Tensor x;         // (b, ...sample)
  Tensor y;         // targets, or undefined
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
  nn::load_weights(module, read_tensors(settings.init, device), settings.init);
}

// The tensors of a file; nothing without one.
Inputs read_inputs(const Device& device, const Settings& settings) {
  if (settings.inputs.empty()) return {};
  std::map<std::string, Tensor> tensors = read_tensors(settings.inputs, device);
  FOVEA_CHECK(tensors["x"].defined(), FileError, fmt::format("{}: x is missing", settings.inputs));
  return {tensors["x"], tensors["y"], tensors["upstream"]};
}

// `given` must be of the kind of `standard`, but for the size of the batch.
void check_inputs(const Settings& settings, const Tensor& given, const Tensor& standard) {
  Shape shape = standard.shape();
  if (given.rank() > 0) shape[0] = given.size(0);
  FOVEA_CHECK(given.shape() == shape && given.dtype() == standard.dtype(), FileError,
              fmt::format("{}: x is {} {}; expected {} {} with any first size", settings.inputs,
                          name_of(given.dtype()), to_string(given.shape()),
                          name_of(standard.dtype()), to_string(shape)));
}

// Forward, and unless only inferring, the loss, backward and the optimiser's update.
Work model_work(const experiment::Experiment& e, const Device& device, const Settings& settings) {
  const Inputs in = read_inputs(device, settings);
  const bool given = in.x.defined() && in.x.rank() > 0;
  const auto step = std::make_shared<experiment::TrainingStep>(
      e, device, experiment::data_shape(e),
      experiment::StepSettings{.batch_size = given ? in.x.size(0) : settings.batch_size,
                               .update = true});
  load(step->model(), device, settings);
  data::Batch batch = step->batch();
  const std::string input = models::info_of(step->model().interface()).reads.front().name;
  for (const auto& [name, tensor] : step->batch()) {
    const Tensor& own = name == input ? in.x : in.y;
    if (name == input && own.defined()) check_inputs(settings, own, tensor);
    if (own.defined()) batch.set(name, own);
  }
  step->set_batch(batch);
  const std::int64_t samples = batch.at(input).size(0);
  if (settings.infer) {
    const auto last = std::make_shared<models::Outputs>();
    const auto infer = [=] {
      *last = step->infer();
      return last->tensors().front();
    };
    return {infer, [=](const Tensor&) { return step->loss_of(*last); }, samples};
  }
  return {[step] { return (*step)(); }, [](const Tensor& loss) { return loss; }, samples};
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
      attention::make_attention(component, {build, dim, 1, 1});
  return {module, [module](const Tensor& x) {
            const nn::Grid grid = grid_of(x.size(1));
            attention::Context context;
            context.grid_h = grid.h;
            context.grid_w = grid.w;
            return (*module)(x, context);
          }};
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
  Inputs in = read_inputs(device, settings);
  const Tensor standard = ops::random_normal({batch, tokens, options.at("embed_dim").as_int()}, 0,
                                             1, RandomStream(1), DType::kFloat32, device);
  if (in.x.defined()) {
    check_inputs(settings, in.x, standard);
  } else {
    in.x = standard;
  }
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
