#include "parallel/ranks.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <set>
#include <thread>
#include <utility>

namespace fovea::parallel {
namespace {

std::span<const std::byte> bytes_of(const std::string& text) {
  return std::as_bytes(std::span(text));
}
std::span<std::byte> room_of(std::string& text) { return std::as_writable_bytes(std::span(text)); }

}  // namespace

Ranks::Ranks(std::shared_ptr<Transport> transport) : transport_(std::move(transport)) {}

void Ranks::exchange(const std::vector<Outgoing>& sent, const std::vector<Incoming>& received) {
  Pending pending = begin(sent, received, 0);
  finish(pending);
}

Ranks::Pending Ranks::begin(const std::vector<Outgoing>& sent,
                            const std::vector<Incoming>& received, int tag) {
  return alone() ? nullptr : transport_->begin(sent, received, tag);
}

namespace {

std::size_t size_of_bytes(const Tensor& x) { return static_cast<std::size_t>(x.bytes()); }

}  // namespace

Ranks::Pending Ranks::begin(const std::vector<OutgoingTensor>& sent,
                            const std::vector<IncomingTensor>& received, int tag) {
  if (alone()) return nullptr;
  const auto on_device = [](const auto& one) { return !one.values.device().is_host(); };
  if (std::ranges::any_of(sent, on_device) || std::ranges::any_of(received, on_device))
    return link_->begin(sent, received);
  std::vector<Outgoing> out;
  std::vector<Incoming> in;
  for (const auto& [to, x] : sent) out.push_back({to, {x.host_memory(), size_of_bytes(x)}});
  for (const auto& [from, x] : received) in.push_back({from, {x.host_memory(), size_of_bytes(x)}});
  return begin(out, in, tag);
}

bool Ranks::reaches(const Device& device) {
  if (device.is_host() || alone()) return true;
  if (!linked_.defined() || !linked_.is(device)) {
    link_ = open_link_ ? open_link_(*this, device) : nullptr;
    linked_ = device;
  }
  return link_ != nullptr;
}

bool Ranks::done(Pending& pending) {
  if (pending && pending->left().empty()) pending.reset();
  return !pending;
}

// (MPI's own waiting has no limit, and keeps a core busy.)
void Ranks::finish(Pending& pending) {
  using Clock = std::chrono::steady_clock;
  constexpr Seconds kMost{1};  // that counts between two looks: a job may have been suspended
  constexpr int kBusy = 2000;  // looks before it sleeps between them
  Seconds waited{0};
  std::size_t before = 0;  // messages that were left
  Clock::time_point last = Clock::now();
  for (int look = 0; pending; ++look) {
    const std::vector<int> left = pending->left();
    if (left.empty()) break;
    const Clock::time_point now = Clock::now();
    waited = left.size() == before ? waited + std::min(Seconds(now - last), kMost) : Seconds(0);
    before = left.size();
    last = now;
    if (waited > limit_) fail(left);
    if (look < kBusy) {
      std::this_thread::yield();
    } else {
      std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
  }
  pending.reset();
}

void Ranks::fail(const std::vector<int>& left) {
  const std::set<int> ranks(left.begin(), left.end());
  missing_.assign(ranks.begin(), ranks.end());
  const bool one = missing_.size() == 1;
  throw RankError(fmt::format(
      "rank{} {} of {} did not answer within {:.4g} s (train.rank_timeout); the last checkpoint is "
      "whole: go on with --resume",
      one ? "" : "s", fmt::join(missing_, ", "), size(), limit_.count()));
}

std::vector<std::string> Ranks::gather(const std::string& bytes) {
  const auto count = static_cast<std::size_t>(size()), own = static_cast<std::size_t>(rank());
  std::vector<std::string> all(count);
  std::vector<std::uint64_t> lengths(count, bytes.size());
  std::vector<Outgoing> sent;
  std::vector<Incoming> received;
  const auto each_other = [&](auto&& action) {
    sent.clear();
    received.clear();
    for (std::size_t r = 0; r < count; ++r) {
      if (r != own) action(r, static_cast<int>(r));
    }
    exchange(sent, received);
  };
  each_other([&](std::size_t r, int other) {
    sent.push_back({other, std::as_bytes(std::span(&lengths[own], 1))});
    received.push_back({other, std::as_writable_bytes(std::span(&lengths[r], 1))});
  });
  each_other([&](std::size_t r, int other) {
    all[r].resize(lengths[r]);
    sent.push_back({other, bytes_of(bytes)});
    received.push_back({other, room_of(all[r])});
  });
  all[own] = bytes;
  return all;
}

std::string Ranks::from(int giver, const std::string& bytes) {
  if (alone()) return bytes;
  const bool here = rank() == giver;
  std::uint64_t length = bytes.size();
  if (here) {
    std::vector<Outgoing> sent;
    for (int r = 0; r < size(); ++r) {
      if (r != giver) sent.push_back({r, std::as_bytes(std::span(&length, 1))});
    }
    exchange(sent, {});
    for (Outgoing& message : sent) message.bytes = bytes_of(bytes);
    exchange(sent, {});
    return bytes;
  }
  exchange({}, {{giver, std::as_writable_bytes(std::span(&length, 1))}});
  std::string result(length, '\0');
  exchange({}, {{giver, room_of(result)}});
  return result;
}

bool Ranks::any(bool here) {
  if (alone()) return here;
  const std::byte own{here};
  std::vector<std::byte> all(static_cast<std::size_t>(size()), own);
  std::vector<Outgoing> sent;
  std::vector<Incoming> received;
  for (int r = 0; r < size(); ++r) {
    if (r == rank()) continue;
    sent.push_back({r, std::span(&own, 1)});
    received.push_back({r, std::span(&all[static_cast<std::size_t>(r)], 1)});
  }
  exchange(sent, received);
  return std::ranges::find(all, std::byte{1}) != all.end();
}

void Ranks::leave() {
  link_.reset();
  if (transport_) transport_->leave();
  transport_.reset();
}

void Ranks::abort(int code) {
  if (transport_) transport_->abort(code);
  std::_Exit(code);
}

bool speaks(int rank, const std::vector<int>& missing) {
  for (int r = 0; r < rank; ++r) {
    if (std::ranges::find(missing, r) == missing.end()) return false;
  }
  return true;
}

}  // namespace fovea::parallel
