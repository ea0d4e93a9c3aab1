// Sums over ranks that have the bits of a sum made by one process from left to right.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "parallel/ranks.h"
#include "tensor/tensor.h"

namespace fovea::parallel {

/// How the numbers of lists and sums travel. bfloat16: every list, and then the sum, is rounded to
/// it, on a process alone as well; between that, numbers are added in float32.
enum class Sent { kFloat32, kBFloat16 };

/// Lists of numbers, all parts one after the other, are added up in rounds: in each round every
/// rank adds one list, or none, and the lists count in the order of ranks:
///   ((round 0: rank 0) + rank 1 + ...) + (round 1: rank 0) + ...
/// Addition of floats is not associative, so ranks do not add up their own first. Each rank owns a
/// piece of the sum: it gets that piece of every list and adds the pieces in order. Messages travel
/// while other work is done.
class OrderedSum {
 public:
  /// sizes: of the parts, the same on all ranks, which make their sums, and begin the rounds of all
  /// of them, in the same order. device: where lists and sums are, one that Ranks::reaches().
  /// `ranks` outlives the sum.
  OrderedSum(Ranks& ranks, const std::vector<std::int64_t>& sizes, const Device& device,
             Sent sent = Sent::kFloat32);

  /// The list of the next round. A part that is missing from it leaves the sum as it is.
  struct List {
    std::vector<bool> has;  // of each part
    Tensor values;          // float32 (n): room for all parts
  };
  List empty_list() const;
  /// Where a part lies in List::values.
  Tensor part(const List& list, std::size_t i) const {
    return list.values.rows(begins_[i], begins_[i + 1]);
  }

  /// Begins a round, which all ranks do together, and ends the one before. `adds`: whether each
  /// rank adds a list. That of this rank, null for none, is left alone until the round has ended.
  void begin_round(const List* list, const std::vector<bool>& adds);
  /// Lets messages move on. True if the round has ended: this rank needs its list no more.
  bool round_is_over();
  /// Waits for that.
  void end_round();
  /// After the last round: begins to give the sum to all. Several sums do so in the same order on
  /// all ranks. (finish() does it where this was not called.)
  void begin_spread();
  /// The whole sum, on all ranks; parts that no list had are not there. Begins anew.
  List finish();

 private:
  struct Round {
    Tensor own;                               // this rank's list as it is sent
    std::vector<bool> adds;                   // by rank
    std::vector<char> flags;                  // of this rank's list: which parts it has
    std::vector<std::vector<char>> flags_of;  // by rank
    Ranks::Pending flags_pending, pending;
  };

  std::int64_t piece_begin(int rank) const;
  std::int64_t piece_size(int rank) const { return piece_begin(rank + 1) - piece_begin(rank); }
  Tensor piece_of(const Tensor& values, int rank) const;
  Tensor as_sent(const Tensor& values);
  template <class Action>
  void for_others(const Action& action) const;
  void add_pieces();
  void add_piece(const std::vector<char>& has, const Tensor& values);

  Ranks& ranks_;
  const Device device_;
  const Sent sent_;
  const int flags_tag_, list_tag_, sum_tag_;
  std::vector<std::int64_t> begins_;  // of parts, and the end
  std::vector<bool> begun_;           // parts of the sum that some list had
  Tensor piece_;                      // of the sum, this rank's
  Tensor rounded_;                    // this rank's list, or its piece of the sum, as bfloat16
  std::vector<Tensor> pieces_;        // of the others' lists, by rank
  std::optional<Round> round_;
  Tensor spread_;  // the sum, as it is sent, while it is given to all
  Ranks::Pending spreading_;
};

}  // namespace fovea::parallel
