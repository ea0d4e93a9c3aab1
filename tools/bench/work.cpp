#include "bench/work.h"

#include <fmt/format.h>

#include <cmath>

#include "attention/attention.h"
#include "attention/rotary.h"
#include "autograd/graph.h"
#include "autograd/mode.h"
#include "backend/devices.h"
#include "base/error.h"
#include "experiment/costs/training_step.h"
#include "models/sequences/causal_attention.h"
#include "nn/ffn.h"
#include "ops/create.h"
#include "ops/elementwise.h"
#include "ops/reduce.h"
#include "training/store/weights.h"

namespace fovea::bench {
namespace {

constexpr std::int64_t kDefaultTokens = 1024;

using Tensors = std::map<std::string, Tensor>;

struct Inputs {
  Tensor x;         // (b, ...sample)
  Tensor upstream;  // gradient of the output, or undefined
};

Device host_of(const Device& device) { return device.is_host() ? device : make_cpu(); }

Tensors read_tensors(const std::string& file, const Device& device) {
  Tensors tensors = read_safetensors(file, host_of(device)).tensors;
  for (auto& [name, tensor] : tensors) tensor = ops::to(tensor, device);
  return tensors;
}

void load(const nn::Module& module, const Device& device, const Settings& settings) {
  if (settings.init.empty()) return;
  nn::load_weights(module, read_tensors(settings.init, device), settings.init);
}

// The tensors of a file, of which the network's input may have its own name; nothing without one.
Tensors read_inputs(const Device& device, const Settings& settings, const std::string& input) {
  if (settings.inputs.empty()) return {};
  Tensors tensors = read_tensors(settings.inputs, device);
  FOVEA_CHECK(tensors.contains("x") || tensors.contains(input), FileError,
              fmt::format("{}: x is missing", settings.inputs));
  return tensors;
}

Tensor at(const Tensors& tensors, const std::string& name) {
  const auto found = tensors.find(name);
  return found == tensors.end() ? Tensor() : found->second;
}

// `given` must be of the kind of `standard`, but for the size of the batch, and for features of
// recordings the number of frames.
void check_inputs(const Settings& settings, const Tensor& given, const Tensor& standard,
                  bool any_length = false) {
  Shape shape = standard.shape();
  if (given.rank() > 0) shape[0] = given.size(0);
  if (any_length && given.rank() == shape.rank()) shape[1] = given.size(1);
  FOVEA_CHECK(given.shape() == shape && given.dtype() == standard.dtype(), FileError,
              fmt::format("{}: x is {} {}; expected {} {} with any first size", settings.inputs,
                          name_of(given.dtype()), to_string(given.shape()),
                          name_of(standard.dtype()), to_string(shape)));
}

// Forward, and unless only inferring, the loss, backward and the optimiser's update. A field of the
// batch is the file's tensor of that name; else the input is x and the other fields are y.
Work model_work(const experiment::Experiment& e, const Device& device, const Settings& settings) {
  const std::string input =
      models::info_of(models::entries().find(e.model.type).interface).reads.front().name;
  const Tensors all = read_inputs(device, settings, input);
  const auto own_of = [&](const std::string& name) {
    const Tensor named = at(all, name);
    return named.defined() ? named : at(all, name == input ? "x" : "y");
  };
  const Tensor x = own_of(input);
  const bool given = x.defined() && x.rank() > 0;
  const auto step = std::make_shared<experiment::TrainingStep>(
      e, device, experiment::data_shape(e),
      experiment::StepSettings{.batch_size = given ? x.size(0) : settings.batch_size,
                               .update = true});
  load(step->model(), device, settings);
  data::Batch batch = step->batch();
  for (const auto& [name, tensor] : step->batch()) {
    const Tensor own = own_of(name);
    if (name == input && own.defined()) check_inputs(settings, own, tensor, name == "features");
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
  // A denoiser's training draws its noise: what is given has its loss before.
  if (at(all, "noise").defined()) {
    const Tensor loss = step->loss_of(step->infer());
    return {[step] { return (*step)(); }, [loss](const Tensor&) { return loss; }, samples};
  }
  return {[step] { return (*step)(); }, [](const Tensor& loss) { return loss; }, samples};
}

using Forward = std::function<Tensor(const Tensor&)>;

// A square grid where that many tokens make one, else one row.
nn::Grid grid_of(std::int64_t tokens) {
  const auto side = static_cast<std::int64_t>(std::lround(std::sqrt(tokens)));
  return side * side == tokens ? nn::Grid{side, side} : nn::Grid{1, tokens};
}

using PartOfModel = std::pair<std::shared_ptr<nn::Module>, Forward>;

// The attention of a language model's layers, to whole sequences.
PartOfModel make_causal_attention(const schema::Component& component, const nn::Build& build,
                                  std::int64_t dim) {
  const std::shared_ptr<models::CausalAttention> module =
      models::causal_attentions()
          .find(component.type, "model.attention.type")
          .make(build, component, dim);
  const auto tables = std::make_shared<ops::RotaryTables>();  // the network too has them made once
  return {module, [=](const Tensor& x) {
            if (module->rope_base() && !tables->cos.defined())
              *tables =
                  attention::sequence_rotary(x.size(1), module->head_dim(), *module->rope_base(),
                                             compute_dtype(x.dtype()), x.device());
            return (*module)(x, {.rotary = *tables});
          }};
}

// The attention or feed-forward network that every block of the model has, without dropout.
PartOfModel make_part(Part part, const schema::Component& model, const nn::Build& build) {
  const schema::Value& options = model.options;
  const std::int64_t dim = options.at("embed_dim").as_int();
  const schema::Value& value = options.at(part == Part::kFfn ? "ffn" : "attention");
  const schema::Component component{value.at("type").as_string(), value};
  if (part == Part::kFfn) {
    const std::shared_ptr<nn::FeedForward> ffn = nn::make_ffn(component, build, dim, 0);
    return {ffn, [ffn](const Tensor& x) { return (*ffn)(x, grid_of(x.size(1))); }};
  }
  if (models::entries().find(model.type).interface == models::Interface::kLanguageModel)
    return make_causal_attention(component, build, dim);
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
  const auto [module, forward] = make_part(settings.part, e.model, build);
  load(*module, device, settings);
  const std::int64_t tokens = settings.tokens > 0 ? settings.tokens : kDefaultTokens;
  const std::int64_t batch = settings.batch_size > 0 ? settings.batch_size : 1;
  const Tensors given = read_inputs(device, settings, "x");
  Inputs in{at(given, "x"), at(given, "upstream")};
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
