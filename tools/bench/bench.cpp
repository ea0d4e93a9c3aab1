#include "bench/bench.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>

#include "autograd/graph.h"
#include "autograd/mode.h"
#include "autograd/profiler.h"
#include "backend/backend.h"
#include "experiment/summary.h"
#include "ops/create.h"
#include "ops/loss.h"
#include "optim/registry.h"

namespace fovea::bench {
namespace {

using Clock = std::chrono::steady_clock;
using Step = std::function<void()>;

struct Work {
  Step step;
  std::int64_t batch_size = 0;
  std::vector<std::shared_ptr<void>> owned;  // what the step refers to
};

Tensor labels_for(std::int64_t batch, std::int64_t classes, const Device& device) {
  std::vector<std::int64_t> labels;
  for (std::int64_t i = 0; i < batch; ++i) labels.push_back(i % classes);
  return Tensor::from(labels, {batch}, device);
}

std::vector<optim::Parameter> parameters_of(const nn::Module& module) {
  std::vector<optim::Parameter> parameters;
  for (const nn::NamedTensor& named : module.parameters())
    parameters.push_back({named.name, named.tensor});
  return parameters;
}

// Forward, and unless only inferring, cross-entropy, backward and the optimiser's update.
Work model_work(const experiment::Experiment& e, const Device& device, const Settings& settings) {
  const models::DataShape shape = experiment::data_shape(e);
  const std::shared_ptr<models::Model> model = experiment::make_model(e, device, shape);
  Work work;
  work.batch_size = settings.batch_size > 0 ? settings.batch_size : e.train.batch_size;
  Shape input{work.batch_size};
  for (const std::int64_t axis : experiment::sample_shape(e, shape)) input.push_back(axis);
  const Tensor x = ops::random_normal(input, 0, 1, RandomStream(1), DType::kFloat32, device);
  if (settings.infer) {
    work.step = [=] {
      const autograd::NoGrad no_grad;
      (*model)(x);
    };
    return work;
  }
  model->train(true);
  const std::shared_ptr<optim::Optimiser> optimiser =
      optim::make_optimiser(e.optimizer, parameters_of(*model));
  const auto step = std::make_shared<std::uint64_t>(0);
  work.step = [=, batch = work.batch_size] {
    model->set_random(RandomStream(1).fork((*step)++));
    optimiser->zero_grad();
    const Tensor logits = (*model)(x);
    autograd::backward(ops::cross_entropy(logits, labels_for(batch, logits.size(-1), x.device())));
    optimiser->step(optimiser->base_lr());
  };
  return work;
}

// The model's attention alone, forward and backward.
Work attention_work(const experiment::Experiment& e, const Device& device,
                    const Settings& settings) {
  const schema::Value& options = e.model.options;
  const std::int64_t dim = options.at("embed_dim").as_int();
  const schema::Value& value = options.at("attention");
  const nn::Build build{device, DType::kFloat32, RandomStream(1), nn::Init::kTorch};
  const std::shared_ptr<attention::Attention> module =
      attention::make({value.at("type").as_string(), value}, {build, dim, 1, 1});
  Work work;
  work.batch_size = settings.batch_size > 0 ? settings.batch_size : 1;
  const std::int64_t tokens = settings.tokens > 0 ? settings.tokens : 1024;
  const Tensor x = ops::random_normal({work.batch_size, tokens, dim}, 0, 1, RandomStream(2),
                                      DType::kFloat32, device);
  const Tensor upstream = ops::ones_like(x);
  if (!settings.infer) x.set_requires_grad(true);
  work.step = [=, infer = settings.infer] {
    x.set_grad({});
    for (const nn::NamedTensor& named : module->parameters()) named.tensor.set_grad({});
    const Tensor y = (*module)(x, {});
    if (!infer) autograd::backward(y, upstream);
  };
  return work;
}

std::vector<ProfileRow> profile_of(const Step& step) {
  constexpr int kSteps = 3;
  autograd::Profiler profiler;
  const auto start = Clock::now();
  {
    const autograd::Profile profile(profiler);
    for (int i = 0; i < kSteps; ++i) step();
  }
  const double total = std::chrono::duration<double>(Clock::now() - start).count();
  std::map<std::pair<std::string, bool>, ProfileRow> rows;
  double known = 0;
  for (const autograd::Event& event : profiler.events()) {
    ProfileRow& row = rows[{event.op, event.backward}];
    row.op = event.op;
    row.backward = event.backward;
    row.ms_per_step += 1e3 * event.seconds / kSteps;
    row.share += event.seconds / total;
    row.calls_per_step += 1;
    row.macs_per_step += event.macs;
    known += event.seconds;
  }
  std::vector<ProfileRow> sorted;
  for (auto& [key, row] : rows) {
    row.calls_per_step /= kSteps;
    row.macs_per_step /= kSteps;
    sorted.push_back(row);
  }
  sorted.push_back({"(other: optimiser, bookkeeping)", false, 1e3 * (total - known) / kSteps,
                    (total - known) / total, 0, 0});
  std::sort(sorted.begin(), sorted.end(),
            [](const auto& a, const auto& b) { return a.share > b.share; });
  return sorted;
}

}  // namespace

double Result::quantile(double q) const {
  const double at = q * static_cast<double>(ms.size() - 1);
  const auto low = static_cast<std::size_t>(std::floor(at));
  const std::size_t high = std::min(low + 1, ms.size() - 1);
  return ms[low] + (at - static_cast<double>(low)) * (ms[high] - ms[low]);
}

Result run(const experiment::Experiment& e, const Device& device, const Settings& settings) {
  const Work work = settings.attention_only ? attention_work(e, device, settings)
                                            : model_work(e, device, settings);
  for (std::int64_t i = 0; i < settings.warm_up; ++i) work.step();
  device.allocator().reset_peak();
  const MemoryStats before = device.allocator().stats();
  Result result;
  for (std::int64_t i = 0; i < settings.steps; ++i) {
    const auto start = Clock::now();
    work.step();
    result.ms.push_back(1e3 * std::chrono::duration<double>(Clock::now() - start).count());
  }
  const MemoryStats after = device.allocator().stats();
  std::sort(result.ms.begin(), result.ms.end());
  result.batch_size = work.batch_size;
  result.peak_bytes = after.peak_bytes;
  result.allocations_per_step = static_cast<double>(after.allocations - before.allocations) /
                                static_cast<double>(settings.steps);
  result.backend = device.backend().description();
  result.profile = profile_of(work.step);
  return result;
}

schema::Value to_json(const experiment::Experiment& e, const Settings& settings, const Result& r) {
  using schema::Value;
  Value profile = Value::array();
  for (const ProfileRow& row : r.profile) {
    profile.push_back(Value::object({{"op", row.op},
                                     {"phase", row.backward ? "backward" : "forward"},
                                     {"share", row.share},
                                     {"ms_per_step", row.ms_per_step},
                                     {"calls_per_step", row.calls_per_step},
                                     {"macs_per_step", row.macs_per_step}}));
  }
  const double median = r.quantile(0.5);
  return Value::object(
      {{"name", e.name},
       {"mode", settings.infer ? "infer" : "train"},
       {"attention_only", settings.attention_only},
       {"batch_size", r.batch_size},
       {"steps", settings.steps},
       {"ms_per_step",
        Value::object({{"median", median}, {"p10", r.quantile(0.1)}, {"p90", r.quantile(0.9)}})},
       {"samples_per_s", 1e3 * static_cast<double>(r.batch_size) / median},
       {"peak_bytes", r.peak_bytes},
       {"allocations_per_step", r.allocations_per_step},
       {"backend", r.backend},
       {"compiler", __VERSION__},
       {"profile", profile}});
}

std::string to_text(const experiment::Experiment& e, const Settings& settings, const Result& r) {
  const double median = r.quantile(0.5);
  std::string text = fmt::format(
      "{}: {} at batch {}, {}\n{:.2f} ms per step (p10 {:.2f}, p90 {:.2f}), {:.1f} samples/s, peak "
      "{}, {} new "
      "allocations per step\n\n{:<34} {:>8} {:>9} {:>7} {:>9}\n",
      e.name, settings.infer ? "inference" : "training step", r.batch_size, r.backend, median,
      r.quantile(0.1), r.quantile(0.9), 1e3 * static_cast<double>(r.batch_size) / median,
      experiment::bytes_text(r.peak_bytes), r.allocations_per_step, "operation", "share", "ms",
      "calls", "GFLOP/s");
  for (const ProfileRow& row : r.profile) {
    const double rate =
        row.ms_per_step > 0 ? 2e-6 * static_cast<double>(row.macs_per_step) / row.ms_per_step : 0;
    text +=
        fmt::format("{:<34} {:>6.1f} % {:>9.3f} {:>7} {:>9}\n",
                    row.op + (row.backward ? " (backward)" : ""), 100 * row.share, row.ms_per_step,
                    row.calls_per_step, row.macs_per_step > 0 ? fmt::format("{:.1f}", rate) : "");
  }
  return text;
}

}  // namespace fovea::bench
