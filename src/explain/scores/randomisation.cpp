#include "explain/scores/randomisation.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "autograd/mode.h"
#include "base/error.h"
#include "explain/scores/order.h"
#include "ops/create.h"
#include "ops/in_place.h"

namespace fovea::explain {
namespace {

constexpr double kUndefined = std::numeric_limits<double>::quiet_NaN();

std::vector<double> mean_ranks(std::span<const double> values) {
  const std::vector<std::int64_t> order = ascending(values);
  std::vector<double> ranks(values.size());
  for (std::size_t first = 0; first < order.size();) {
    const auto value = [&](std::size_t k) { return values[static_cast<std::size_t>(order[k])]; };
    std::size_t last = first;
    while (last + 1 < order.size() && value(last + 1) == value(first)) ++last;
    for (std::size_t k = first; k <= last; ++k)
      ranks[static_cast<std::size_t>(order[k])] = static_cast<double>(first + last) / 2;
    first = last + 1;
  }
  return ranks;
}

struct MprtOptions {
  bool last = false;
};

double mprt_score(const Explained& e, const MprtOptions& options) {
  double sum = 0;
  for (const std::vector<double>& after : e.randomised) sum += rank_correlation(e.relevance, after);
  return options.last ? rank_correlation(e.relevance, e.randomised.back())
                      : sum / static_cast<double>(e.randomised.size());
}

struct EmprtOptions {
  std::int64_t bins = 100;
};

double emprt_score(const Explained& e, const EmprtOptions& options) {
  return complexity_rise(histogram_entropy(e.relevance, options.bins),
                         histogram_entropy(e.randomised.back(), options.bins));
}

}  // namespace

double rank_correlation(std::span<const double> a, std::span<const double> b) {
  FOVEA_CHECK(
      a.size() == b.size(), ShapeError,
      fmt::format("rank correlation: {} and {} values; expected as many", a.size(), b.size()));
  const std::vector<double> x = mean_ranks(a), y = mean_ranks(b);
  const double mean = (static_cast<double>(a.size()) - 1) / 2;  // of ranks, whatever the ties
  double xy = 0, xx = 0, yy = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    xy += (x[i] - mean) * (y[i] - mean);
    xx += (x[i] - mean) * (x[i] - mean);
    yy += (y[i] - mean) * (y[i] - mean);
  }
  return xx > 0 && yy > 0 ? xy / std::sqrt(xx * yy) : kUndefined;
}

double histogram_entropy(std::span<const double> values, std::int64_t bins) {
  FOVEA_CHECK(bins >= 1, ConfigError, fmt::format("histogram: {} bins; expected at least 1", bins));
  if (values.empty()) return kUndefined;
  const auto [least, most] = std::ranges::minmax(values);
  FOVEA_CHECK(std::isfinite(least) && std::isfinite(most), NumericError,
              "histogram: values are not finite");
  if (least == most) return 0;
  const double step = (most - least) / static_cast<double>(bins);
  const auto edge = [&, low = least](std::int64_t k) {
    return low + static_cast<double>(k) * step;
  };
  std::vector<std::int64_t> counts(static_cast<std::size_t>(bins), 0);
  for (const double value : values) {
    auto k =
        std::clamp<std::int64_t>(static_cast<std::int64_t>((value - least) / step), 0, bins - 1);
    // Rounding may have put a value that lies at an edge on its other side.
    if (k > 0 && value < edge(k)) --k;
    if (k + 1 < bins && value >= edge(k + 1)) ++k;
    ++counts[static_cast<std::size_t>(k)];
  }
  double entropy = 0;
  for (const std::int64_t count : counts) {
    if (count == 0) continue;
    const double p = static_cast<double>(count) / static_cast<double>(values.size());
    entropy -= p * std::log(p);
  }
  return entropy;
}

double complexity_rise(double before, double after) {
  return before == 0 ? kUndefined : (after - before) / before;
}

Randomisation::Randomisation(nn::Module& network, const nn::Module& fresh, RandomOrder order)
    : order_(order) {
  const std::vector<nn::NamedTensor> own = network.parameters(), other = fresh.parameters();
  bool same = own.size() == other.size();
  for (std::size_t i = 0; same && i < own.size(); ++i)
    same = own[i].name == other[i].name && own[i].tensor.shape() == other[i].tensor.shape();
  FOVEA_CHECK(same, ShapeError,
              "randomisation: the fresh network has other parameters; expected one of the same "
              "configuration");
  const autograd::NoGrad no_grad;
  for (std::size_t i = 0; i < own.size(); ++i) {
    const std::string& name = own[i].name;
    const std::size_t dot = name.rfind('.');
    const std::string module = dot == std::string::npos ? "" : name.substr(0, dot);
    if (modules_.empty() || modules_.back().module != module) modules_.push_back({module, {}});
    modules_.back().parameters.push_back(
        {own[i].tensor, ops::clone(own[i].tensor), ops::clone(other[i].tensor)});
  }
}

Randomisation::~Randomisation() {
  try {
    set(0);
  } catch (const Error&) {  // a device that is gone holds no network either
  }
}

std::size_t Randomisation::index_of(std::int64_t k) const {
  return static_cast<std::size_t>(order_ == RandomOrder::kTopDown ? steps() - k : k - 1);
}

const std::string& Randomisation::module_of(std::int64_t k) const {
  FOVEA_CHECK(k >= 1 && k <= steps(), ShapeError,
              fmt::format("randomisation: step {}; expected 1 to {}", k, steps()));
  return modules_[index_of(k)].module;
}

void Randomisation::set(std::int64_t k) {
  FOVEA_CHECK(k >= 0 && k <= steps(), ShapeError,
              fmt::format("randomisation: step {}; expected 0 to {}", k, steps()));
  std::vector<bool> random(modules_.size(), false);
  const std::int64_t from = order_ == RandomOrder::kIndependent ? std::max<std::int64_t>(k, 1) : 1;
  for (std::int64_t step = from; step <= k; ++step) random[index_of(step)] = true;
  const autograd::NoGrad no_grad;
  for (std::size_t i = 0; i < modules_.size(); ++i) {
    for (const Parameter& p : modules_[i].parameters)
      ops::copy_into(random[i] ? p.fresh : p.intact, p.current);
  }
}

FOVEA_SCORE(mprt,
            "rank correlation with the explanations of the network while its modules are made "
            "random one after another, mean over the steps (MPRT)",
            (ScoreRule{Better::kLower, {Need::kRandomised}}),
            schema::Fields<MprtOptions>{}.add("last", &MprtOptions::last,
                                              "only the last step, at which all are random"),
            mprt_score)
FOVEA_SCORE(emprt,
            "relative rise of the entropy of the explanation's histogram when all parameters are "
            "random (eMPRT)",
            (ScoreRule{Better::kHigher, {Need::kRandomised}}),
            schema::Fields<EmprtOptions>{}.add("bins", &EmprtOptions::bins, schema::at_least(1),
                                               "bins of the histogram"),
            emprt_score)

}  // namespace fovea::explain
