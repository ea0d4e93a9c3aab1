#include "ops/elementwise.h"
#include "ops/losses/loss.h"
#include "training/losses/loss_entry.h"

namespace fovea::training {
namespace {

struct CrossEntropy : ops::CrossEntropyOptions, MapOptions {
  bool balanced = false;
};

// Of labels, or of the probabilities of the classes.
Tensor class_cross_entropy(const Tensor& logits, const Tensor& target, const CrossEntropy& o) {
  if (target.dtype() == DType::kInt64) return ops::cross_entropy(logits, target, o);
  const bool fits = target.dtype() == logits.dtype();
  return ops::soft_cross_entropy(logits, fits ? target : ops::cast(target, logits.dtype()), o);
}

}  // namespace

FOVEA_LOSS(
    cross_entropy,
    LossMaker<CrossEntropy>(
        "mean of -log softmax(logits)[label], over samples or pixels; of samples that were mixed, "
        "the sum over their classes by their shares",
        with_class_weights(schema::Fields<CrossEntropy>{}.add(
                               "label_smoothing", &CrossEntropy::label_smoothing,
                               schema::at_least(0) && schema::less_than(1),
                               "share e of the target spread evenly: (1 - e) onehot + e / classes"))
            .add("count_ignored", &CrossEntropy::count_ignored,
                 "ignored pixels add 0 to the sum and 1 to the number that it is divided by, as in "
                 "mmseg; false: they count in neither"))
        .compares(Compares::kClasses, class_cross_entropy)
        .compares(Compares::kLabelMaps, ops::pixel_cross_entropy))

}  // namespace fovea::training
