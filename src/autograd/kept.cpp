#include "autograd/kept.h"

namespace fovea::autograd {

Tensor Kept::get() const {
  if (remake_ == nullptr) return value_;
  if (remake_->made.defined()) return remake_->made;
  const Tensor made = remake_->make();
  // Only this reader and the operation still hold it: no other reader will ask.
  if (remake_.use_count() > 2) remake_->made = made;
  return made;
}

}  // namespace fovea::autograd
