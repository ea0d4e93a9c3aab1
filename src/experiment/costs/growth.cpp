#include "experiment/costs/growth.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>

#include "backend/devices.h"
#include "base/error.h"
#include "experiment/costs/training_step.h"
#include "experiment/run/summary.h"
#include "layer_attention/layer_attention.h"
#include "metrics/statistics.h"

namespace fovea::experiment {
namespace {

constexpr double kNoRate = std::numeric_limits<double>::quiet_NaN();

// Three convolutions in a bottleneck block, else two; and those of the stem and the head.
std::int64_t layers_of(const schema::Value& model, std::int64_t blocks) {
  const bool bottleneck = model.at("block").as_string() == "bottleneck";
  const auto stages = static_cast<std::int64_t>(model.at("depths").size());
  return stages * blocks * (bottleneck ? 3 : 2) + 2;
}

void check_network(const schema::Value& model) {
  for (const char* key : {"layer_attention", "block", "depths"}) {
    FOVEA_CHECK(model.find(key) != nullptr, ConfigError,
                fmt::format("--across-depth: the network has no model.{}; expected a ResNet", key));
  }
}

// The backbone, then the network with each layer attention.
std::vector<Experiment> networks(const Variation& variation, std::int64_t blocks,
                                 const std::vector<std::string>& names) {
  const schema::Value model = variation({}).model.options;
  check_network(model);
  const std::vector<std::int64_t> depths(model.at("depths").size(), blocks);
  const std::string set = fmt::format("model.depths=[{}]", fmt::join(depths, ","));
  std::vector<Experiment> all = {variation({set, "model.layer_attention=null"})};
  const schema::Value& own = model.at("layer_attention");
  for (const std::string& name : names) {
    layer_attention::variants().find(name);
    const bool is_own = own.is_object() && own.at("type").as_string() == name;
    std::vector<std::string> overrides = {set};
    if (!is_own) overrides.push_back("model.layer_attention=" + name);
    all.push_back(variation(overrides));
  }
  return all;
}

Cost counted(const Experiment& e) {
  const models::DataShape shape = data_shape(e);
  const Summary summary =
      summarise([&](const Device& device) { return make_model(e, device, shape); },
                sample_shape(e, shape), e.train.batch_size);
  return {.macs = summary.macs, .peak_bytes = step_peak_bytes(e, shape)};
}

double timed(TrainingStep& step) {
  using Clock = std::chrono::steady_clock;
  const auto start = Clock::now();
  step();
  step.device().synchronize();
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

double quantile(std::vector<double> values, double q) {
  std::sort(values.begin(), values.end());
  const double at = q * static_cast<double>(values.size() - 1);
  const auto low = static_cast<std::size_t>(at);
  const std::size_t high = std::min(low + 1, values.size() - 1);
  return values[low] + (at - std::floor(at)) * (values[high] - values[low]);
}

// What was measured of one network: milliseconds of every turn (of an addition: minus the
// backbone's in the same turn), and the highest peak.
struct Measured {
  std::vector<double> ms;
  std::int64_t peak_bytes = 0;
};

// `networks` of one depth, the backbone first.
void run_in_turns(const std::vector<Experiment>& networks, std::int64_t turns,
                  std::vector<Measured>& measured) {
  std::vector<std::unique_ptr<TrainingStep>> steps;
  for (const Experiment& e : networks) {
    // An allocator of its own, whose peak is this network's.
    const Device device =
        make_device(e.train.device, e.train.device_settings(static_cast<int>(e.train.threads)));
    steps.push_back(std::make_unique<TrainingStep>(e, device));
    (*steps.back())();  // warms the allocator and the kernels' caches
  }
  for (std::int64_t turn = 0; turn < turns; ++turn) {
    double backbone = 0;
    for (std::size_t i = 0; i < steps.size(); ++i) {
      const double ms = timed(*steps[i]);
      measured[i].ms.push_back(ms - backbone);
      if (i == 0) backbone = ms;
    }
  }
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const std::int64_t peak = steps[i]->device().allocator().stats().peak_bytes;
    measured[i].peak_bytes = std::max(measured[i].peak_bytes, peak);
  }
}

// All networks of every depth; the outer vectors are by depth.
std::vector<std::vector<Measured>> run(const std::vector<std::vector<Experiment>>& networks,
                                       const GrowthSettings& settings) {
  const std::int64_t passes = std::min<std::int64_t>(3, settings.steps);
  std::vector<std::vector<Measured>> measured(networks.size());  // empty without steps
  for (std::int64_t pass = 0; pass < passes; ++pass) {
    const std::int64_t steps =
        settings.steps * (pass + 1) / passes - settings.steps * pass / passes;
    for (std::size_t d = 0; d < networks.size(); ++d) {
      if (settings.progress) {
        const double depths = static_cast<double>(networks.size());
        settings.progress((static_cast<double>(pass) + static_cast<double>(d) / depths) /
                          static_cast<double>(passes));
      }
      measured[d].resize(networks[d].size());
      run_in_turns(networks[d], steps * settings.blocks.back() / settings.blocks[d], measured[d]);
    }
  }
  return measured;
}

// The costs of one depth as its backbone's and what is added to them.
Depth depth_of(std::int64_t blocks, const std::vector<Experiment>& networks,
               const std::vector<Measured>& measured) {
  Depth depth{blocks, layers_of(networks[0].model.options, blocks), {}, {}};
  for (std::size_t i = 0; i < networks.size(); ++i) {
    Cost cost = counted(networks[i]);
    if (!measured.empty()) {
      cost.peak_bytes = measured[i].peak_bytes;
      cost.ms = metrics::median(measured[i].ms);
      cost.ms_spread = (quantile(measured[i].ms, 0.75) - quantile(measured[i].ms, 0.25)) / 2;
    }
    if (i == 0) {
      depth.backbone = cost;
      continue;
    }
    cost.macs -= depth.backbone.macs;
    cost.peak_bytes -= depth.backbone.peak_bytes;
    depth.added.push_back(cost);
  }
  return depth;
}

}  // namespace

std::vector<Depth> measure_depths(const Variation& variation, const GrowthSettings& settings) {
  std::vector<std::vector<Experiment>> all;
  for (const std::int64_t blocks : settings.blocks)
    all.push_back(networks(variation, blocks, settings.layer_attentions));
  const auto measured = run(all, settings);
  std::vector<Depth> depths;
  for (std::size_t d = 0; d < all.size(); ++d)
    depths.push_back(depth_of(settings.blocks[d], all[d], measured[d]));
  return depths;
}

namespace {

// The p of y = a x^p through logarithms.
double power(std::span<const double> x, std::span<const double> y) {
  const auto n = static_cast<double>(x.size());
  double mean_x = 0, mean_y = 0, xx = 0, xy = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    mean_x += std::log(x[i]) / n;
    mean_y += std::log(y[i]) / n;
  }
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double from_mean = std::log(x[i]) - mean_x;
    xx += from_mean * from_mean;
    xy += from_mean * (std::log(y[i]) - mean_y);
  }
  return xy / xx;
}

// Share of the square in a parabola at the last point. Relative errors: each equation is divided by
// its y. x is taken in units of the last one, where all powers are 1.
double square_share(std::span<const double> x, std::span<const double> y) {
  std::array<std::array<double, 4>, 3> m{};  // normal equations and their right side
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double t = x[i] / x.back();
    const std::array<double, 4> row = {1 / y[i], t / y[i], t * t / y[i], 1};
    for (std::size_t r = 0; r < 3; ++r) {
      for (std::size_t c = 0; c < 4; ++c) m[r][c] += row[r] * row[c];
    }
  }
  // Elimination needs no pivoting: the matrix is positive definite for three different x.
  for (std::size_t r = 0; r < 3; ++r) {
    for (std::size_t below = r + 1; below < 3; ++below) {
      const double factor = m[below][r] / m[r][r];
      for (std::size_t c = r; c < 4; ++c) m[below][c] -= factor * m[r][c];
    }
  }
  return m[2][3] / m[2][2] / y.back();
}

}  // namespace

GrowthRate growth_rate(std::span<const double> x, std::span<const double> y) {
  GrowthRate rate{kNoRate, kNoRate, kNoRate};
  const bool positive = std::all_of(y.begin(), y.end(), [](double value) { return value > 0; });
  if (!positive || x.size() < 2) return rate;
  rate.exponent = power(x, y);
  rate.last = power(x.last(2), y.last(2));
  if (x.size() > 2) rate.square = square_share(x, y);
  return rate;
}

std::vector<Growth> growth_of(const std::vector<Depth>& depths) {
  std::vector<Growth> all;
  for (std::size_t i = 0; i < depths[0].added.size(); ++i) {
    std::vector<double> layers, macs, bytes, ms;
    for (const Depth& depth : depths) {
      const Cost& added = depth.added[i];
      layers.push_back(static_cast<double>(depth.layers));
      macs.push_back(static_cast<double>(added.macs));
      bytes.push_back(static_cast<double>(added.peak_bytes));
      ms.push_back(added.ms);
    }
    all.push_back({growth_rate(layers, macs), growth_rate(layers, bytes), growth_rate(layers, ms)});
  }
  return all;
}

}  // namespace fovea::experiment
