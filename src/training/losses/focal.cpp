#include "ops/elementwise.h"
#include "ops/losses/focal_loss.h"
#include "training/losses/loss_entry.h"

namespace fovea::training {
namespace {

struct Focal : ops::FocalOptions, MapOptions {
  std::optional<double> alpha = 0.25;
  bool balanced = false;
};

// Of labels, or of the probabilities of the classes.
Tensor class_focal(const Tensor& logits, const Tensor& target, const Focal& o) {
  if (target.dtype() == DType::kInt64) return ops::focal_loss(logits, target, o);
  const bool fits = target.dtype() == logits.dtype();
  return ops::soft_focal_loss(logits, fits ? target : ops::cast(target, logits.dtype()), o);
}

}  // namespace

FOVEA_LOSS(
    focal,
    LossMaker<Focal>(
        "mean of -(1 - p)^gamma log p, p = softmax(logits)[label], over samples or pixels; of soft "
        "masks torchvision's sigmoid_focal_loss (Lin et al., 2017)",
        with_class_weights(schema::Fields<Focal>{}
                               .add("gamma", &Focal::gamma, schema::at_least(0),
                                    "how much less counts what is right already; 0: the "
                                    "cross-entropy")
                               .add("alpha", &Focal::alpha, schema::in_range(0, 1),
                                    "of soft masks: weight of the foreground, 1 - alpha that of "
                                    "the background; null: 1 each; no effect on classes")))
        .compares(Compares::kClasses, class_focal)
        .compares(Compares::kLabelMaps, ops::pixel_focal_loss)
        .compares(Compares::kMasks, [](const Tensor& map, const Tensor& masks, const Focal& o) {
          return ops::binary_focal_loss(map, masks, o.alpha.value_or(-1), o.gamma);
        }))

}  // namespace fovea::training
