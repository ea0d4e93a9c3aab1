#include "training/gradient_sum.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "autograd/mode.h"
#include "backend/backend.h"
#include "base/error.h"

namespace fovea::training {
namespace {

// Between float32 tensors of as many elements, in the memory of one device or of it and the host.
void copy(const Tensor& from, const Tensor& to) {
  if (from.device() == to.device()) {
    backend(to).cast(from.alias(to.shape()), to);
  } else if (to.device().is_host()) {
    from.download(to.host_memory());
  } else {
    to.upload(from.host_memory());
  }
}

}  // namespace

GradientSum::GradientSum(const std::vector<optim::Parameter>& parameters, parallel::Ranks& ranks,
                         const Settings& settings)
    : parameters_(parameters),
      ranks_(ranks),
      settings_(settings),
      sums_(parameters.size()),
      have_added_(static_cast<std::size_t>(ranks.size())) {
  if (ranks.alone() && settings.sent == parallel::Sent::kFloat32) return;
  for (const optim::Parameter& parameter : parameters) {
    FOVEA_CHECK(parameter.tensor.dtype() == DType::kFloat32, ConfigError,
                fmt::format("{} is {}; the sum of ranks is of parameters of float32",
                            parameter.name, name_of(parameter.tensor.dtype())));
  }
  const Device own = parameters.front().tensor.device();
  const Device place = ranks.reaches(own) ? own : settings.host;
  for (std::size_t end = parameters.size(), begin = end; end > 0; end = begin) {
    std::int64_t values = 0;
    std::vector<std::int64_t> sizes;
    while (begin > 0 && (begin == end || values < kBucketBytes / size_of(DType::kFloat32))) {
      --begin;
      bucket_of_[parameters[begin].tensor.id()] = buckets_.size();
      sizes.insert(sizes.begin(), parameters[begin].tensor.numel());
      values += sizes.front();
    }
    parallel::OrderedSum sum(ranks, sizes, place, settings.sent);
    parallel::OrderedSum::List list = sum.empty_list();
    buckets_.push_back({begin, end, std::move(sum), std::move(list)});
  }
}

Tensor GradientSum::taken(std::size_t i) const {
  const Tensor& parameter = parameters_[i].tensor;
  Tensor gradient = parameter.grad();
  if (gradient.defined()) parameter.set_grad({});
  return gradient;
}

void GradientSum::add(const std::vector<bool>& adds, bool last,
                      const std::function<void()>& backward) {
  if (!buckets_.empty() && settings_.order == GradientOrder::kMicroBatches)
    return add_to_buckets(adds, last, backward);
  for (std::size_t r = 0; r < adds.size(); ++r) have_added_[r] = have_added_[r] || adds[r];
  if (adds[static_cast<std::size_t>(ranks_.rank())]) {
    backward();
    add_here();
  }
}

void GradientSum::add_here() {
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    Tensor gradient = taken(i);
    if (gradient.defined() && sums_[i].defined()) {
      backend(gradient).axpy(1.0, gradient, sums_[i]);
    } else if (gradient.defined()) {
      sums_[i] = std::move(gradient);
    }
  }
}

void GradientSum::add_to_buckets(const std::vector<bool>& adds, bool last,
                                 const std::function<void()>& backward) {
  const bool own = adds[static_cast<std::size_t>(ranks_.rank())];
  begun_ = 0;
  for (Bucket& bucket : buckets_) bucket.waits_for = bucket.end - bucket.begin;
  if (own) {
    const std::function<void(const Tensor&)> hear = [&](const Tensor& leaf) {
      reached(leaf, adds, last);
    };
    const autograd::OnceReached hearing(hear);
    backward();
  }
  // Parameters that this micro-batch does not reach are known now.
  while (begun_ < buckets_.size()) begin(buckets_[begun_++], adds, own);
  for (const optim::Parameter& parameter : parameters_) {
    FOVEA_CHECK(!parameter.tensor.grad().defined(), Error,
                fmt::format("{}: its gradient grew after it was sent", parameter.name));
  }
}

// All ranks send their buckets in the same order, also where one is made before an earlier one, and
// give the sums to all in that order.
void GradientSum::reached(const Tensor& leaf, const std::vector<bool>& adds, bool last) {
  const auto found = bucket_of_.find(leaf.id());
  if (found == bucket_of_.end()) return;
  --buckets_[found->second].waits_for;
  while (begun_ < buckets_.size() && buckets_[begun_].waits_for == 0)
    begin(buckets_[begun_++], adds, true);
  for (std::size_t b = spread_; b < begun_; ++b) {
    const bool over = buckets_[b].sum.round_is_over();
    if (over && last && b == spread_) buckets_[spread_++].sum.begin_spread();
  }
}

void GradientSum::begin(Bucket& bucket, const std::vector<bool>& adds, bool own) {
  bucket.sum.end_round();  // the one before, which reads the list
  for (std::size_t i = bucket.begin; own && i < bucket.end; ++i) {
    const Tensor gradient = taken(i);
    bucket.list.has[i - bucket.begin] = gradient.defined();
    if (gradient.defined()) copy(gradient, bucket.sum.part(bucket.list, i - bucket.begin));
  }
  bucket.sum.begin_round(own ? &bucket.list : nullptr, adds);
}

void GradientSum::finish() {
  if (buckets_.empty() || settings_.order == GradientOrder::kRanks) {
    for (std::size_t i = 0; i < parameters_.size(); ++i)
      parameters_[i].tensor.set_grad(std::exchange(sums_[i], {}));
  }
  if (settings_.order == GradientOrder::kRanks) {
    const std::vector<bool> adds =
        std::exchange(have_added_, std::vector<bool>(have_added_.size(), false));
    for (Bucket& bucket : buckets_)
      begin(bucket, adds, adds[static_cast<std::size_t>(ranks_.rank())]);
  }
  // All of them travel while the first is waited for.
  for (; spread_ < buckets_.size(); ++spread_) buckets_[spread_].sum.begin_spread();
  spread_ = 0;
  for (Bucket& bucket : buckets_) {
    const parallel::OrderedSum::List sum = bucket.sum.finish();
    for (std::size_t i = bucket.begin; i < bucket.end; ++i) {
      if (!sum.has[i - bucket.begin]) continue;
      const Tensor gradient = Tensor::empty_like(parameters_[i].tensor);
      copy(bucket.sum.part(sum, i - bucket.begin), gradient);
      parameters_[i].tensor.set_grad(gradient);
    }
  }
}

}  // namespace fovea::training
