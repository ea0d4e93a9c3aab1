// What backward needs of the forward pass: values as they were then, kept or made again.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "tensor/tensor.h"

namespace fovea::autograd {

/// A value that backward reads, and which version of it forward had.
struct Watched {
  static constexpr int kResult = -1;  // of the operation itself
  static constexpr int kRead = -2;    // anything else that it read

  Tensor value;
  std::uint64_t version = 0;
  int input = kRead;  // its place among the inputs of the operation, or one of the above
};

/// How a result is made again from what its operation keeps anyway.
struct Remake {
  /// As many operations in a row are made again, the next one's input is kept: a long chain would
  /// otherwise be made again from its start, by as many nested calls.
  static constexpr int kMostInARow = 3;

  std::function<Tensor()> make;
  int in_a_row = 1;           // with those that this one asks first
  std::uint64_t version = 0;  // of the result when it was new
  Tensor made;                // while somebody is still going to ask for it
};

/// A value for backward that need not stay in memory until then: an input that is kept, or that the
/// operation it came out of makes again (Op::keep_or_remake).
class Kept {
 public:
  Kept() = default;
  explicit Kept(Tensor value) : value_(std::move(value)) {}
  explicit Kept(std::shared_ptr<Remake> remake) : remake_(std::move(remake)) {}

  /// The value. Made once for all that keep it: the queries, keys and values of one norm.
  Tensor get() const;
  /// How it is made again, where that is a `Form` (the function object that was given to
  /// Op::remake), for kernels that do so on their way; else null: take get().
  template <class Form>
  const Form* made_by() const {
    return remake_ != nullptr ? remake_->make.target<Form>() : nullptr;
  }

 private:
  Tensor value_;
  std::shared_ptr<Remake> remake_;
};

}  // namespace fovea::autograd
