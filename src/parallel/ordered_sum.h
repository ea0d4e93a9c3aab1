// Sums over ranks that have the bits of a sum made by one process from left to right.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "parallel/ranks.h"

namespace fovea::parallel {

/// Lists of numbers, all parts one after the other, are added up in rounds: in each round every
/// rank adds one list, or none, and the lists count in the order of ranks:
///   ((round 0: rank 0) + rank 1 + ...) + (round 1: rank 0) + ...
/// Addition of floats is not associative, so ranks do not add up their own first. Each rank owns a
/// piece of the sum: it gets that piece of every list and adds the pieces in order.
class OrderedSum {
 public:
  /// sizes: of the parts, the same on all ranks. `ranks` outlives the sum.
  OrderedSum(Ranks& ranks, const std::vector<std::int64_t>& sizes);

  /// The list of the next round. A part that is missing from it leaves the sum as it is.
  struct List {
    std::vector<bool> has;      // of each part
    std::vector<float> values;  // room for all parts
  };
  List empty_list() const;
  /// Ends a round, which all ranks do together. Null: this rank adds nothing.
  void add(const List* list);
  /// The whole sum, on all ranks; parts that no list had are not there. Begins anew.
  List finish();
  /// Where a part lies in List::values.
  std::span<float> part(List& list, std::size_t i) const {
    return std::span(list.values).subspan(begins_[i], begins_[i + 1] - begins_[i]);
  }

 private:
  std::size_t piece_begin(int rank) const;
  void add_piece(const std::vector<bool>& has, std::span<const float> values);

  Ranks& ranks_;
  std::vector<std::size_t> begins_;         // of parts, and the end
  std::vector<bool> begun_;                 // parts of the sum that some list had
  std::vector<float> piece_;                // of the sum, this rank's
  std::vector<std::vector<float>> others_;  // pieces of the others' lists
};

}  // namespace fovea::parallel
