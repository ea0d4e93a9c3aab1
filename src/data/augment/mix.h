// Mixing the images of a batch and their classes: mixup (Zhang et al., "mixup: Beyond empirical
// risk minimization", ICLR 2018) and CutMix (Yun et al., ICCV 2019) as timm does both, by whole
// batches. mala 7.1.
#pragma once

#include <cstdint>
#include <optional>

#include "data/augment/geometry.h"
#include "schema/fields.h"
#include "tensor/random.h"
#include "tensor/tensor.h"

namespace fovea::data {

struct MixOptions {
  double mixup = 0;   // alpha of Beta(alpha, alpha) for the share; 0 = off
  double cutmix = 0;  // likewise
  double prob = 1;
  double switch_prob = 0.5;

  bool is_on() const { return mixup > 0 || cutmix > 0; }
};
const schema::Fields<MixOptions>& mix_fields();

/// How a batch is mixed: sample i of b with sample b - 1 - i.
struct Mix {
  double share = 1;        // of a sample's own class; 1 changes nothing
  std::optional<Box> box;  // CutMix: the part that comes from the other image; none: all is blended
};

/// Draws how a batch of images of height x width is mixed; a function of the stream. The share of
/// CutMix is that of the pixels that stay.
Mix draw_mix(const MixOptions& options, std::int64_t height, std::int64_t width,
             const RandomStream& stream);

/// A box around a pixel with the aspect ratio of the image and 1 - share of its area, clipped at
/// the edges.
Box cutmix_box(std::int64_t height, std::int64_t width, double share, std::int64_t row,
               std::int64_t column);
/// images (b, c, h, w) float32 on the host, in place.
void mix_images(const Tensor& images, const Mix& mix);
/// (b, classes) float32: the shares of the classes. labels: (b) int64 on the host.
Tensor mixed_targets(const Tensor& labels, std::int64_t classes, double share);

}  // namespace fovea::data
