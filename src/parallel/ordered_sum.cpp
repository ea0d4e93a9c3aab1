#include "parallel/ordered_sum.h"

#include <algorithm>
#include <string>
#include <utility>

namespace fovea::parallel {
namespace {

std::string to_bytes(const std::vector<bool>& flags) {
  std::string bytes;
  for (const bool flag : flags) bytes.push_back(flag ? 1 : 0);
  return bytes;
}

}  // namespace

OrderedSum::OrderedSum(Ranks& ranks, const std::vector<std::int64_t>& sizes)
    : ranks_(ranks), begins_{0}, begun_(sizes.size(), false) {
  for (const std::int64_t size : sizes)
    begins_.push_back(begins_.back() + static_cast<std::size_t>(size));
  piece_.resize(piece_begin(ranks.rank() + 1) - piece_begin(ranks.rank()));
  others_.resize(static_cast<std::size_t>(ranks.size()));
}

OrderedSum::List OrderedSum::empty_list() const {
  return {std::vector<bool>(begun_.size(), false), std::vector<float>(begins_.back())};
}

std::size_t OrderedSum::piece_begin(int rank) const {
  return begins_.back() * static_cast<std::size_t>(rank) / static_cast<std::size_t>(ranks_.size());
}

void OrderedSum::add(const List* list) {
  const std::vector<std::string> flags =
      ranks_.gather(list != nullptr ? to_bytes(list->has) : std::string());
  std::vector<Outgoing> sent;
  std::vector<Incoming> received;
  for (int r = 0; r < ranks_.size(); ++r) {
    if (r == ranks_.rank()) continue;
    const std::size_t begin = piece_begin(r), count = piece_begin(r + 1) - begin;
    if (list != nullptr && count > 0)
      sent.push_back({r, std::as_bytes(std::span(list->values).subspan(begin, count))});
    std::vector<float>& other = others_[static_cast<std::size_t>(r)];
    other.resize(piece_.size());
    if (!flags[static_cast<std::size_t>(r)].empty() && !piece_.empty())
      received.push_back({r, std::as_writable_bytes(std::span(other))});
  }
  ranks_.exchange(sent, received);
  for (int r = 0; r < ranks_.size(); ++r) {
    const std::string& of = flags[static_cast<std::size_t>(r)];
    if (of.empty()) continue;
    const std::vector<bool> has(of.begin(), of.end());
    if (r == ranks_.rank()) {
      add_piece(has, std::span(list->values).subspan(piece_begin(r), piece_.size()));
    } else {
      add_piece(has, others_[static_cast<std::size_t>(r)]);
    }
    for (std::size_t i = 0; i < has.size(); ++i) begun_[i] = begun_[i] || has[i];
  }
}

void OrderedSum::add_piece(const std::vector<bool>& has, std::span<const float> values) {
  const std::size_t first = piece_begin(ranks_.rank()), last = first + piece_.size();
  for (std::size_t i = 0; i < has.size(); ++i) {
    if (!has[i]) continue;
    const std::size_t begin = std::max(begins_[i], first), end = std::min(begins_[i + 1], last);
    if (begin >= end) continue;
    const float* from = values.data() + (begin - first);
    float* to = piece_.data() + (begin - first);
    if (begun_[i]) {
      for (std::size_t k = 0; k < end - begin; ++k) to[k] += from[k];
    } else {
      std::copy_n(from, end - begin, to);
    }
  }
}

OrderedSum::List OrderedSum::finish() {
  List sum = empty_list();
  sum.has = std::exchange(begun_, std::vector<bool>(begun_.size(), false));
  const auto piece_of = [&](int r) {
    return std::span(sum.values).subspan(piece_begin(r), piece_begin(r + 1) - piece_begin(r));
  };
  std::ranges::copy(piece_, piece_of(ranks_.rank()).begin());
  std::vector<Outgoing> sent;
  std::vector<Incoming> received;
  for (int r = 0; r < ranks_.size(); ++r) {
    if (r == ranks_.rank()) continue;
    if (!piece_.empty()) sent.push_back({r, std::as_bytes(std::span(piece_))});
    if (!piece_of(r).empty()) received.push_back({r, std::as_writable_bytes(piece_of(r))});
  }
  ranks_.exchange(sent, received);
  return sum;
}

}  // namespace fovea::parallel
