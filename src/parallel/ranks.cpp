#include "parallel/ranks.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstdlib>
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
  if (alone()) return;
  missing_ = transport_->exchange(sent, received, limit_);
  if (missing_.empty()) return;
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

std::string Ranks::from_first(const std::string& bytes) {
  if (alone()) return bytes;
  std::uint64_t length = bytes.size();
  std::string result = first() ? bytes : std::string();
  std::vector<Outgoing> sent;
  if (first()) {
    for (int r = 1; r < size(); ++r) sent.push_back({r, std::as_bytes(std::span(&length, 1))});
    exchange(sent, {});
    for (Outgoing& message : sent) message.bytes = bytes_of(result);
    exchange(sent, {});
    return result;
  }
  exchange({}, {{0, std::as_writable_bytes(std::span(&length, 1))}});
  result.resize(length);
  exchange({}, {{0, room_of(result)}});
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
