#include "data/plan.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include "tensor/random.h"

namespace fovea::data {
namespace {

// The first samples of the order, each of them so many times, in batches.
PlannedBatches cut(const std::vector<std::int64_t>& order, const PlanOptions& options) {
  PlannedBatches batches;
  const std::int64_t samples = planned_samples(std::ssize(order), options);
  const std::int64_t repeats = options.shuffle ? options.repeats : 1;
  for (std::int64_t i = 0; i < samples; ++i) {
    if (i % options.batch_size == 0) batches.emplace_back();
    batches.back().push_back({order[static_cast<std::size_t>(i / repeats)], i % repeats});
  }
  return batches;
}

// Every sample of a class that there is has the same chance, and so has every such class. The draws
// are a stream of their own.
std::vector<std::int64_t> balanced_draws(const Dataset& dataset, const PlanOptions& options,
                                         std::int64_t epoch) {
  std::map<std::int64_t, std::vector<std::int64_t>> by_label;
  for (std::int64_t i = 0; i < dataset.size(); ++i) by_label[dataset.label(i)].push_back(i);
  std::vector<std::vector<std::int64_t>> classes;
  for (auto& [label, samples] : by_label) classes.push_back(std::move(samples));
  const RandomStream stream =
      RandomStream(options.seed).fork("balanced").fork(static_cast<std::uint64_t>(epoch));
  const RandomStream of_class = stream.fork("class"), of_sample = stream.fork("sample");
  std::vector<std::int64_t> drawn;
  for (std::uint64_t i = 0; i < static_cast<std::uint64_t>(dataset.size()); ++i) {
    const auto& samples = classes[static_cast<std::size_t>(of_class.below(std::ssize(classes), i))];
    drawn.push_back(samples[static_cast<std::size_t>(of_sample.below(std::ssize(samples), i))]);
  }
  return drawn;
}

// Draws of one sample are told apart, so that each is augmented differently.
void number_draws(PlannedBatches& batches) {
  std::map<std::int64_t, std::int64_t> before;
  for (auto& batch : batches)
    for (PlannedSample& sample : batch) sample.copy = before[sample.index]++;
}

std::vector<std::int64_t> lengths_of(const Dataset& dataset) {
  std::vector<std::int64_t> lengths;
  lengths.reserve(static_cast<std::size_t>(dataset.size()));
  for (std::int64_t i = 0; i < dataset.size(); ++i) lengths.push_back(dataset.length(i));
  return lengths;
}

PlannedBatches shuffled(const Dataset& dataset, const PlanOptions& options, std::int64_t epoch) {
  const RandomStream stream =
      RandomStream(options.seed).fork("shuffle").fork(static_cast<std::uint64_t>(epoch));
  if (const std::int64_t draws = dataset.draws_per_epoch(); draws > 0) {
    std::vector<std::int64_t> drawn;
    for (std::int64_t i = 0; i < draws; ++i)
      drawn.push_back(stream.below(dataset.size(), static_cast<std::uint64_t>(i)));
    return cut(drawn, options);
  }
  std::vector<std::int64_t> order = options.balanced ? balanced_draws(dataset, options, epoch)
                                                     : stream.permutation(dataset.size());
  const std::int64_t bucket = dataset.bucket_batches() * options.batch_size;
  if (bucket == 0) return cut(order, options);
  const std::vector<std::int64_t> lengths = lengths_of(dataset);
  const auto shorter = [&](std::int64_t a, std::int64_t b) {
    return lengths[static_cast<std::size_t>(a)] < lengths[static_cast<std::size_t>(b)];
  };
  const std::int64_t samples = std::ssize(order);
  for (std::int64_t begin = 0; begin < samples; begin += bucket) {
    std::stable_sort(order.begin() + begin, order.begin() + std::min(samples, begin + bucket),
                     shorter);
  }
  PlannedBatches in_order = cut(order, options);
  PlannedBatches batches;
  for (const std::int64_t i : stream.fork("batches").permutation(std::ssize(in_order)))
    batches.push_back(std::move(in_order[static_cast<std::size_t>(i)]));
  return batches;
}

}  // namespace

std::int64_t planned_samples(std::int64_t size, const PlanOptions& options) {
  constexpr std::int64_t kRound = 256;
  const bool rounded = options.shuffle && options.repeats > 1 && size >= kRound;
  return rounded ? size / kRound * kRound : size;
}

std::int64_t planned_samples(const Dataset& dataset, const PlanOptions& options) {
  const std::int64_t draws = options.shuffle ? dataset.draws_per_epoch() : 0;
  return planned_samples(draws > 0 ? draws : dataset.size(), options);
}

PlannedBatches plan_batches(const Dataset& dataset, const PlanOptions& options,
                            std::int64_t epoch) {
  if (options.shuffle) {
    PlannedBatches batches = shuffled(dataset, options, epoch);
    if (options.balanced) number_draws(batches);
    return batches;
  }
  std::vector<std::int64_t> order(static_cast<std::size_t>(dataset.size()));
  std::iota(order.begin(), order.end(), std::int64_t{0});
  const std::vector<std::int64_t> lengths = lengths_of(dataset);
  std::stable_sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) {
    return lengths[static_cast<std::size_t>(a)] > lengths[static_cast<std::size_t>(b)];
  });
  return cut(order, options);
}

}  // namespace fovea::data
