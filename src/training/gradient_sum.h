// The gradients of a step that has several micro-batches.
#pragma once

#include <cstdint>
#include <functional>
#include <unordered_map>
#include <vector>

#include "optim/optimiser.h"
#include "parallel/ordered_sum.h"
#include "parallel/ranks.h"
#include "training/options.h"

namespace fovea::training {

/// Sums gradients over micro-batches from left to right, ((g0 + g1) + g2) + ..., each of them made
/// alone: a parameter that a network uses more than once has all of g1 before it is added. So the
/// sum does not depend on where micro-batches are computed.
///
/// With several ranks gradients travel in buckets, last parameters first, as soon as backward has
/// made them and while it goes on.
class GradientSum {
 public:
  /// What a bucket holds at least: long enough messages for a network, and little that travels
  /// when backward has ended.
  static constexpr std::int64_t kBucketBytes = 4 << 20;

  struct Settings {
    GradientOrder order = GradientOrder::kMicroBatches;
    parallel::Sent sent = parallel::Sent::kFloat32;
    Device host = {};  // where gradients travel whose device reaches no other
  };
  /// The parameters have no gradients yet. Both outlive the sum. Throws ConfigError for parameters
  /// of another type than float32 where there are several ranks, or where bfloat16 is sent.
  GradientSum(const std::vector<optim::Parameter>& parameters, parallel::Ranks& ranks,
              const Settings& settings);

  /// Adds the gradients that `backward` gives to the parameters, which then have none. Of several
  /// ranks all do so together, in rounds: `adds` says of each whether it has a micro-batch in this
  /// round, and `backward` is called if this one has. They count in the order of ranks. `last`: of
  /// the step.
  void add(const std::vector<bool>& adds, bool last, const std::function<void()>& backward);
  /// Gives the sums to the parameters, on all ranks, and begins anew. Parameters that no
  /// micro-batch reached have no gradient.
  void finish();

 private:
  struct Bucket {
    std::size_t begin, end;  // of the parameters
    parallel::OrderedSum sum;
    parallel::OrderedSum::List list;
    std::size_t waits_for = 0;  // parameters whose gradient is not made yet
  };
  Tensor taken(std::size_t i) const;
  void add_here();
  void add_to_buckets(const std::vector<bool>& adds, bool last,
                      const std::function<void()>& backward);
  void reached(const Tensor& leaf, const std::vector<bool>& adds, bool last);
  void begin(Bucket& bucket, const std::vector<bool>& adds, bool own);

  const std::vector<optim::Parameter>& parameters_;
  parallel::Ranks& ranks_;
  const Settings settings_;
  std::vector<Tensor> sums_;      // of micro-batches that are added here
  std::vector<bool> have_added_;  // ranks, in this step, where each adds its own first
  std::vector<Bucket> buckets_;   // in the order in which they travel; none: one process
  std::size_t begun_ = 0;         // buckets of this round that travel
  std::size_t spread_ = 0;        // buckets of this step whose sum is given to all
  std::unordered_map<const void*, std::size_t> bucket_of_;  // by the id of a parameter
};

}  // namespace fovea::training
