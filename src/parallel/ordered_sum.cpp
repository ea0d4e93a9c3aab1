#include "parallel/ordered_sum.h"

#include <algorithm>
#include <utility>

#include "backend/backend.h"

namespace fovea::parallel {

OrderedSum::OrderedSum(Ranks& ranks, const std::vector<std::int64_t>& sizes, const Device& device,
                       Sent sent)
    : ranks_(ranks),
      device_(device),
      sent_(sent),
      flags_tag_(ranks.new_tag()),
      list_tag_(ranks.new_tag()),
      sum_tag_(ranks.new_tag()),
      begins_{0},
      begun_(sizes.size(), false),
      pieces_(static_cast<std::size_t>(ranks.size())) {
  for (const std::int64_t size : sizes) begins_.push_back(begins_.back() + size);
  piece_ = Tensor::empty({piece_size(ranks.rank())}, DType::kFloat32, device);
}

OrderedSum::List OrderedSum::empty_list() const {
  return {std::vector<bool>(begun_.size(), false),
          Tensor::empty({begins_.back()}, DType::kFloat32, device_)};
}

std::int64_t OrderedSum::piece_begin(int rank) const {
  return begins_.back() * rank / ranks_.size();
}

Tensor OrderedSum::piece_of(const Tensor& values, int rank) const {
  return values.rows(piece_begin(rank), piece_begin(rank + 1));
}

Tensor OrderedSum::as_sent(const Tensor& values) {
  if (sent_ == Sent::kFloat32) return values;
  rounded_ = Tensor::empty(values.shape(), DType::kBFloat16, device_);
  backend(values).cast(values, rounded_);
  return rounded_;
}

template <class Action>
void OrderedSum::for_others(const Action& action) const {
  for (int r = 0; r < ranks_.size(); ++r) {
    if (r != ranks_.rank()) action(r, static_cast<std::size_t>(r));
  }
}

void OrderedSum::begin_round(const List* list, const std::vector<bool>& adds) {
  end_round();
  Round round;
  round.adds = adds;
  round.flags_of.resize(adds.size(), std::vector<char>(begun_.size()));
  if (list != nullptr) {
    round.flags.assign(list->has.begin(), list->has.end());
    round.own = as_sent(list->values);
  }
  std::vector<Outgoing> sent;
  std::vector<Incoming> received;
  std::vector<OutgoingTensor> sent_values;
  std::vector<IncomingTensor> received_values;
  for_others([&](int r, std::size_t i) {
    if (list != nullptr) {
      sent.push_back({r, std::as_bytes(std::span(round.flags))});
      sent_values.push_back({r, piece_of(round.own, r)});
    }
    if (!adds[i]) return;
    if (!pieces_[i].defined())
      pieces_[i] = Tensor::empty(
          piece_.shape(), sent_ == Sent::kFloat32 ? DType::kFloat32 : DType::kBFloat16, device_);
    received.push_back({r, std::as_writable_bytes(std::span(round.flags_of[i]))});
    received_values.push_back({r, pieces_[i]});
  });
  // (Moving it leaves the memory of its vectors where it is.)
  round.flags_pending = ranks_.begin(sent, received, flags_tag_);
  round.pending = ranks_.begin(sent_values, received_values, list_tag_);
  round_ = std::move(round);
}

bool OrderedSum::round_is_over() {
  if (!round_) return true;
  if (!ranks_.done(round_->flags_pending) || !ranks_.done(round_->pending)) return false;
  add_pieces();
  return true;
}

void OrderedSum::end_round() {
  if (!round_) return;
  ranks_.finish(round_->flags_pending);
  ranks_.finish(round_->pending);
  add_pieces();
}

// Ends the round.
void OrderedSum::add_pieces() {
  for (int r = 0; r < ranks_.size(); ++r) {
    const auto i = static_cast<std::size_t>(r);
    if (!round_->adds[i]) continue;
    const bool here = r == ranks_.rank();
    const std::vector<char>& has = here ? round_->flags : round_->flags_of[i];
    add_piece(has, here ? piece_of(round_->own, r) : pieces_[i]);
    for (std::size_t k = 0; k < has.size(); ++k) begun_[k] = begun_[k] || has[k] != 0;
  }
  round_.reset();
}

void OrderedSum::add_piece(const std::vector<char>& has, const Tensor& values) {
  const std::int64_t first = piece_begin(ranks_.rank()), last = first + piece_.size(0);
  Tensor wide = values;
  if (sent_ != Sent::kFloat32) {
    wide = Tensor::empty_like(piece_);
    backend(wide).cast(values, wide);
  }
  for (std::size_t i = 0; i < has.size(); ++i) {
    const std::int64_t begin = std::max(begins_[i], first), end = std::min(begins_[i + 1], last);
    if (has[i] == 0 || begin >= end) continue;
    const Tensor from = wide.rows(begin - first, end - first);
    const Tensor to = piece_.rows(begin - first, end - first);
    if (begun_[i]) {
      backend(to).axpy(1.0, from, to);
    } else {
      backend(to).cast(from, to);
    }
  }
}

// Every rank gives its piece to all.
void OrderedSum::begin_spread() {
  end_round();
  if (spread_.defined()) return;
  const Tensor piece = as_sent(piece_);
  spread_ = Tensor::empty({begins_.back()}, piece.dtype(), device_);
  const Tensor own = piece_of(spread_, ranks_.rank());
  backend(own).cast(piece, own);
  std::vector<OutgoingTensor> sent;
  std::vector<IncomingTensor> received;
  for_others([&](int r, std::size_t) {
    sent.push_back({r, own});
    received.push_back({r, piece_of(spread_, r)});
  });
  spreading_ = ranks_.begin(sent, received, sum_tag_);
}

OrderedSum::List OrderedSum::finish() {
  begin_spread();
  ranks_.finish(spreading_);
  List sum{std::exchange(begun_, std::vector<bool>(begun_.size(), false)),
           std::exchange(spread_, {})};
  if (sent_ == Sent::kFloat32) return sum;
  const Tensor wide = Tensor::empty(sum.values.shape(), DType::kFloat32, device_);
  backend(wide).cast(sum.values, wide);
  sum.values = wide;
  return sum;
}

}  // namespace fovea::parallel
