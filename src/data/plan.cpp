#include "data/plan.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "tensor/random.h"

namespace fovea::data {
namespace {

using Batches = std::vector<std::vector<std::int64_t>>;

Batches cut(const std::vector<std::int64_t>& order, std::int64_t batch_size) {
  Batches batches;
  const std::int64_t samples = std::ssize(order);
  for (std::int64_t begin = 0; begin < samples; begin += batch_size) {
    const std::int64_t end = std::min(samples, begin + batch_size);
    batches.emplace_back(order.begin() + begin, order.begin() + end);
  }
  return batches;
}

std::vector<std::int64_t> lengths_of(const Dataset& dataset) {
  std::vector<std::int64_t> lengths;
  lengths.reserve(static_cast<std::size_t>(dataset.size()));
  for (std::int64_t i = 0; i < dataset.size(); ++i) lengths.push_back(dataset.length(i));
  return lengths;
}

Batches shuffled(const Dataset& dataset, const PlanOptions& options, std::int64_t epoch) {
  const RandomStream stream =
      RandomStream(options.seed).fork("shuffle").fork(static_cast<std::uint64_t>(epoch));
  std::vector<std::int64_t> order = stream.permutation(dataset.size());
  const std::int64_t bucket = dataset.bucket_batches() * options.batch_size;
  if (bucket == 0) return cut(order, options.batch_size);
  const std::vector<std::int64_t> lengths = lengths_of(dataset);
  const auto shorter = [&](std::int64_t a, std::int64_t b) {
    return lengths[static_cast<std::size_t>(a)] < lengths[static_cast<std::size_t>(b)];
  };
  const std::int64_t samples = std::ssize(order);
  for (std::int64_t begin = 0; begin < samples; begin += bucket) {
    std::stable_sort(order.begin() + begin, order.begin() + std::min(samples, begin + bucket),
                     shorter);
  }
  Batches in_order = cut(order, options.batch_size);
  Batches batches;
  for (const std::int64_t i : stream.fork("batches").permutation(std::ssize(in_order)))
    batches.push_back(std::move(in_order[static_cast<std::size_t>(i)]));
  return batches;
}

}  // namespace

Batches plan_batches(const Dataset& dataset, const PlanOptions& options, std::int64_t epoch) {
  if (options.shuffle) return shuffled(dataset, options, epoch);
  std::vector<std::int64_t> order(static_cast<std::size_t>(dataset.size()));
  std::iota(order.begin(), order.end(), std::int64_t{0});
  const std::vector<std::int64_t> lengths = lengths_of(dataset);
  std::stable_sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) {
    return lengths[static_cast<std::size_t>(a)] > lengths[static_cast<std::size_t>(b)];
  });
  return cut(order, options.batch_size);
}

}  // namespace fovea::data
