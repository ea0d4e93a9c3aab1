// What backward needs of the forward pass: values as they were then, kept or made again.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "tensor/tensor.h"

namespace fovea::autograd {

/// A value that backward reads, and its version in the forward pass.
struct Watched {
  static constexpr int kResult = -1;  // of the operation itself
  static constexpr int kRead = -2;    // anything else that it read

  Tensor value;
  std::uint64_t version = 0;
  int input = kRead;  // its place among the inputs of the operation, or one of the above
};

/// What it costs to make a result again: as much as reading its inputs, or a product.
enum class RemakeCost { kPass, kProduct };

/// How a result is made again from what its operation keeps anyway.
struct Remake {
  /// Behind this many operations in a row that are made again, an input is kept: a long chain would
  /// otherwise be made again from its start, in as many nested calls.
  static constexpr int kMostInARow = 3;

  std::function<Tensor()> make;
  RemakeCost cost = RemakeCost::kPass;
  int in_a_row = 1;           // including those that this one calls first
  std::uint64_t version = 0;  // of the result when it was new
  Tensor made;                // until its last reader has asked for it
};

/// A value for backward that need not stay in memory until then: an input that is kept, or that the
/// operation that made it makes again (Op::keep_or_remake).
class Kept {
 public:
  Kept() = default;
  explicit Kept(Tensor value) : value_(std::move(value)) {}
  explicit Kept(std::shared_ptr<Remake> remake) : remake_(std::move(remake)) {}

  /// The value. Made once for all of its readers, as the queries, keys and values of one norm.
  Tensor get() const;
  /// The function object that was given to Op::remake, if it is a `Form`: for kernels that make the
  /// value as they read it. Else null: call get().
  template <class Form>
  const Form* made_by() const {
    return remake_ != nullptr ? remake_->make.target<Form>() : nullptr;
  }

 private:
  Tensor value_;
  std::shared_ptr<Remake> remake_;
};

}  // namespace fovea::autograd
