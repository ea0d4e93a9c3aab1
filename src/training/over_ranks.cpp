// What several processes do to make one run (parallel/ranks.h); one alone does the same with
// nobody.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/hash.h"
#include "parallel/bytes.h"
#include "schema/json/parse.h"
#include "tensor/safetensors.h"
#include "training/store/weights.h"
#include "training/trainer.h"

namespace fovea::training {
namespace {

using Tensors = std::map<std::string, Tensor>;

// Of the bytes of all tensors.
std::string hash_of(const Tensors& tensors) {
  std::string hash;
  for (const auto& [name, tensor] : tensors) {
    const std::string_view bytes(reinterpret_cast<const char*>(tensor.host_memory()),
                                 static_cast<std::size_t>(tensor.bytes()));
    hash = hash_bytes(hash + name + hash_bytes(bytes));
  }
  return hash;
}

std::string bytes_of(Tensors tensors) {
  TensorFile file;
  file.tensors = std::move(tensors);
  return serialise_safetensors(file);
}

}  // namespace

// Steps have as many micro-batches as the configuration says, on any number of ranks: so results do
// not depend on that number.
void Trainer::require_a_micro_batch_each() const {
  const TrainOptions& options = setup_.train;
  const std::int64_t ranks = ranks_.size();
  const std::int64_t samples = options.batch_size * options.grad_accum_steps;
  FOVEA_CHECK(
      options.grad_accum_steps >= ranks, ConfigError,
      fmt::format(
          "train.grad_accum_steps: is {}, and {} ranks share the batches of a step; "
          "expected at least {}; {} --set train.grad_accum_steps={}{}",
          options.grad_accum_steps, ranks, ranks,
          samples % ranks == 0 ? "for steps of as many samples:" : "try", ranks,
          samples % ranks == 0 ? fmt::format(" --set train.batch_size={}", samples / ranks) : ""));
}

// A signal may reach ranks between different steps, or one of them alone.
bool Trainer::stop_requested() { return ranks_.any(setup_.stop != nullptr && setup_.stop->load()); }

Trainer::Group Trainer::next_group() {
  const std::int64_t all = source_.batches_per_epoch();
  for (std::int64_t begin = state_.batch; begin < all;) {
    Group group;
    group.begin = begin;
    group.end = begin = std::min(all, begin + setup_.train.grad_accum_steps);
    for (std::int64_t k = group.begin + ranks_.rank(); k < group.end; k += ranks_.size()) {
      if (!ahead_) ahead_ = source_.next();
      if (ahead_ && ahead_->number == k)
        group.batches.push_back(std::exchange(ahead_, std::nullopt).value());
    }
    agree_on(group);
    if (!group.empty()) return group;
  }
  return {};
}

// Which micro-batches of a group there are, and what each counts.
void Trainer::agree_on(Group& group) {
  parallel::Writer own;
  for (const data::Batch& batch : group.batches) {
    own.put(batch.number);
    own.put(batch.size());
  }
  std::map<std::int64_t, std::int64_t> sizes;  // by number
  for (const std::string& bytes : ranks_.gather(own.bytes())) {
    for (parallel::Reader from(bytes); !from.at_end();) {
      const auto number = from.get<std::int64_t>();
      sizes[number] = from.get<std::int64_t>();
      group.samples += sizes[number];
    }
  }
  for (const auto& [number, size] : sizes) {
    group.numbers.push_back(number);
    group.shares.push_back(static_cast<double>(size) / static_cast<double>(group.samples));
  }
  for (const data::Batch& batch : group.batches)
    group.places.push_back(std::distance(sizes.begin(), sizes.find(batch.number)));
}

// What each rank gives that adds to this round, as many numbers; the others know nothing of it.
std::vector<std::vector<double>> Trainer::gathered(const std::vector<bool>& adds,
                                                   const std::vector<double>& own) {
  std::vector<std::vector<double>> all;
  for (std::size_t r = 0; r < adds.size(); ++r) {
    if (adds[r]) all.emplace_back(own);
  }
  std::vector<parallel::Outgoing> sent;
  std::vector<parallel::Incoming> received;
  std::size_t place = 0;
  for (std::size_t r = 0; r < adds.size(); ++r) {
    if (!adds[r]) continue;
    std::vector<double>& of = all[place++];
    if (static_cast<int>(r) == ranks_.rank()) continue;
    sent.push_back({static_cast<int>(r), std::as_bytes(std::span(own))});
    received.push_back({static_cast<int>(r), std::as_writable_bytes(std::span(of))});
  }
  ranks_.exchange(sent, received);
  return all;
}

void Trainer::require_same_data() {
  if (ranks_.alone()) return;
  const std::vector<std::string> data = ranks_.gather(source_.fingerprint().dump(0));
  for (std::size_t r = 1; r < data.size(); ++r) {
    FOVEA_CHECK(data[r] == data[0], FileError,
                fmt::format("dataset: rank {} reads other data than rank 0; give all of them the "
                            "same files",
                            r));
  }
}

namespace {

// Those of the first rank, on all.
Tensors from_first(parallel::Ranks& ranks, const Tensors& tensors, const Device& host) {
  const std::string bytes = ranks.from_first(ranks.first() ? bytes_of(to_host(tensors, host)) : "");
  return parse_safetensors(bytes, "rank 0", host).tensors;
}

}  // namespace

// The first rank has read or begun the run; the others begin with what it has.
void Trainer::share_run() {
  if (ranks_.alone()) return;
  const std::string state =
      ranks_.from_first(ranks_.first() ? to_value(state_).dump(0) : std::string());
  if (!ranks_.first()) state_ = run_state_from(schema::parse(state, "rank 0"));
  share_weights();
  update_->load_state(from_first(ranks_, optimiser_->state(), setup_.host));
}

void Trainer::share_weights() {
  if (ranks_.alone()) return;
  const Tensors weights = from_first(ranks_, named_tensors(task_.model()), setup_.host);
  const Tensors averages = ema_ ? from_first(ranks_, ema_->state(), setup_.host) : Tensors();
  if (ranks_.first()) return;
  load_weights(task_.model(), weights, "rank 0");
  if (ema_) ema_->load_state(averages);
}

// Every rank makes every update itself, and the same: unless their processors compute differently,
// or a network changes by itself what batch norms do not know of.
void Trainer::require_same_weights() {
  if (ranks_.alone()) return;
  std::string hash = hash_of(to_host(named_tensors(task_.model()), setup_.host));
  if (!update_->shared_out()) hash += hash_of(to_host(optimiser_->state(), setup_.host));
  const std::vector<std::string> hashes = ranks_.gather(hash);
  for (std::size_t r = 1; r < hashes.size(); ++r) {
    FOVEA_CHECK(hashes[r] == hashes[0], NumericError,
                fmt::format("step {}: the weights of rank {} are not those of rank 0; ranks need "
                            "processors of one kind, or one FOVEA_SIMD for all",
                            state_.step, r));
  }
}

void Trainer::save() {
  require_same_weights();
  const Tensors steps = update_->state(setup_.host);
  if (ranks_.first()) write_checkpoint(steps);
}

// Each rank knows of those of its own batches.
std::int64_t Trainer::skipped_samples() {
  parallel::Writer own;
  const std::vector<std::string> here = source_.unreadable_samples();
  for (const std::string& message : here) own.put(message);
  std::set<std::string> everywhere;
  for (const std::string& bytes : ranks_.gather(own.bytes())) {
    for (parallel::Reader from(bytes); !from.at_end();) everywhere.emplace(from.get_text());
  }
  return source_.skipped_samples() - std::ssize(here) + std::ssize(everywhere);
}

}  // namespace fovea::training
