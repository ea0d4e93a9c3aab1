#include "models/sequences/sampling.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/error.h"

namespace fovea::models {
namespace {

void check_sampling(const SamplingOptions& o) {
  FOVEA_CHECK(std::isfinite(o.temperature) && o.temperature >= 0, ConfigError,
              fmt::format("temperature: is {}; expected a number >= 0", o.temperature));
  FOVEA_CHECK(o.top_k >= 0, ConfigError, fmt::format("top_k: is {}; expected 0 or more", o.top_k));
  FOVEA_CHECK(o.top_p > 0 && o.top_p <= 1, ConfigError,
              fmt::format("top_p: is {}; expected a share above 0, at most 1", o.top_p));
}

}  // namespace

std::int64_t sample_token(std::span<const float> logits, const SamplingOptions& o, double u) {
  check_sampling(o);
  std::vector<std::int64_t> order;
  for (std::int64_t id = 0; id < std::ssize(logits); ++id) {
    if (!std::isnan(logits[static_cast<std::size_t>(id)])) order.push_back(id);
  }
  FOVEA_CHECK(!order.empty(), ConfigError, "sampling: no logit is a number");
  const auto logit = [&](std::int64_t id) { return logits[static_cast<std::size_t>(id)]; };
  const auto before = [&](std::int64_t a, std::int64_t b) {
    return logit(a) != logit(b) ? logit(a) > logit(b) : a < b;
  };
  const bool greedy = o.temperature == 0;
  const std::int64_t all = std::ssize(order);
  const std::int64_t kept = greedy ? 1 : o.top_k > 0 ? std::min(o.top_k, all) : all;
  std::partial_sort(order.begin(), order.begin() + kept, order.end(), before);
  order.resize(static_cast<std::size_t>(kept));
  if (greedy) return order.front();
  const double largest = static_cast<double>(logit(order.front()));
  std::vector<double> shares;  // up to and with each token
  double total = 0;
  for (const std::int64_t id : order) {
    const double distance = static_cast<double>(logit(id)) - largest;
    total += distance == 0 ? 1 : std::exp(distance / o.temperature);
    shares.push_back(total);
  }
  const auto last = std::lower_bound(shares.begin(), shares.end(), o.top_p * total);
  const auto end = last == shares.end() ? last : last + 1;
  const auto drawn = std::upper_bound(shares.begin(), end, u * *(end - 1));
  const auto place = std::min(drawn, end - 1) - shares.begin();
  return order[static_cast<std::size_t>(place)];
}

}  // namespace fovea::models
