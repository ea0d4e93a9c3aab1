// Networks from options, and gradient checks of whole networks.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "autograd/mode.h"
#include "autograd/profiler.h"
#include "models/model.h"
#include "ops/create.h"
#include "tests/support/tensors.h"

namespace fovea::test {

/// The network of an experiment file's `model`.
inline std::unique_ptr<models::Model> build(const schema::Value& options, const Device& device,
                                            models::DataShape data, DType dtype = DType::kFloat32,
                                            std::optional<DType> activations = std::nullopt) {
  const schema::Choice choice =
      schema::find_choice(models::entries().choices(), options.at("type"), "model");
  return models::make_model({choice.name, choice.fields->resolve_component(options, "model")},
                            {device, dtype, RandomStream(3), nn::Init::kTorch, activations}, data);
}

/// What every network of models.def takes with its default options.
inline models::DataShape shape_for(const models::Entry& entry) {
  models::DataShape data{3, 64, 64, 5};
  data.vocab_size = 20;
  data.max_len = 7;
  data.mels = 16;
  if (entry.axes == 3) data.depth = 32;
  return data;
}

/// Inputs of that shape, all zero.
inline models::Inputs zeros_for(const models::Entry& entry, std::int64_t batch,
                                const Device& device) {
  models::Inputs inputs;
  for (const models::InputField& field : models::info_of(entry.interface).reads) {
    Shape shape = entry.axes == 3 ? Shape{batch, 3, 32, 64, 64} : Shape{batch, 3, 64, 64};
    if (field.name == "tokens") shape = {batch, 7};
    if (field.name == "image_size") shape = {batch, 2};
    if (field.name == "features") shape = {batch, 19, 16};
    if (field.name == "timestep" || field.name == "label" || field.name == "num_frames")
      shape = {batch};
    inputs.*field.tensor = ops::zeros(shape, field.dtype, device);
  }
  return inputs;
}

using Options = std::vector<std::pair<std::string, schema::Value>>;

/// {"type": TYPE, ...}.
inline schema::Value options_of(const char* type, const Options& options = {}) {
  schema::Value value = schema::Value::object({{"type", type}});
  for (const auto& [key, option] : options) value.set(key, option);
  return value;
}

struct Cost {
  std::int64_t parameters = 0;
  std::int64_t macs = 0;
  std::int64_t macs_paper = 0;
  std::map<std::string, Shape> outputs;  // by module
};

/// Of one square image.
inline Cost cost(const schema::Value& options, std::int64_t side, std::int64_t classes) {
  const Device meta = make_meta();
  const auto model = build(options, meta, {3, side, side, classes});
  autograd::Profiler profiler;
  const autograd::NoGrad no_grad;
  const autograd::Profile scope(profiler);
  (*model)({.image = Tensor::empty({1, 3, side, side}, DType::kFloat32, meta)});
  Cost found{model->parameter_count(),
             profiler.forward_macs(),
             model->paper_macs(profiler.events()).value_or(0),
             {}};
  for (const autograd::Event& event : profiler.events()) {
    found.outputs[event.module.substr(0, event.module.find('.'))] = event.output;
  }
  return found;
}

/// Derivative of a scalar function along `direction` in the values of `x`, which come back.
inline double slope(const Tensor& x, const Tensor& direction,
                    const std::function<double()>& function) {
  constexpr double kStep = 1e-6;
  const std::vector<double> before = to_doubles(x.detach());
  const std::vector<double> along = to_doubles(direction);
  const auto at = [&](double step) {
    std::vector<double> values = before;
    for (std::size_t i = 0; i < values.size(); ++i) values[i] += step * along[i];
    x.upload(values.data());
    return function();
  };
  const double difference = at(kStep) - at(-kStep);
  at(0);
  return difference / (2 * kStep);
}

/// Compares the gradient of a scalar loss, float64, with its slope along 3 random directions in
/// every parameter of a network or a part of one.
inline void check_directions(const nn::Module& model, const std::function<Tensor()>& loss) {
  autograd::backward(loss());
  const autograd::NoGrad no_grad;
  std::uint64_t seed = 100;
  for (const nn::NamedTensor& named : model.parameters()) {
    for (int repeat = 0; repeat < 3; ++repeat) {
      const Tensor direction = random_tensor(named.tensor.shape(), ++seed);
      const double analytic = inner_product(named.tensor.grad(), direction);
      INFO(named.name << ", direction seed " << seed);
      const double numeric = slope(named.tensor, direction, [&] { return loss().item<double>(); });
      CHECK(analytic == Approx(numeric).epsilon(1e-4).margin(1e-7));
    }
  }
}

}  // namespace fovea::test
