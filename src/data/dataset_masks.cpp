// Samples of an image and its mask (dataset.h): decoded at their own size, augmented together,
// brought to the data set's size. kcla 5.4.
#include <utility>
#include <vector>

#include "data/dataset.h"

namespace fovea::data {
namespace {

// Pixels that are worked on.
struct Picture {
  Picture(const Image& image, float white)
      : values(static_cast<std::size_t>(image.height * image.width * image.channels)),
        planes{image.channels, image.height, image.width, values.data()} {
    to_planes(image, white, planes);
  }
  Picture(const Picture&) = delete;
  Picture& operator=(const Picture&) = delete;

  void keep(Box box) {
    std::vector<float> part(static_cast<std::size_t>(planes.channels * box.height * box.width));
    const Planes kept{planes.channels, box.height, box.width, part.data()};
    crop(planes, box, kept);
    values = std::move(part);
    planes = {kept.channels, kept.height, kept.width, values.data()};
  }

  std::vector<float> values;
  Planes planes;
};

}  // namespace

void Dataset::read_pair(std::int64_t source_index, const RandomStream* augment, float* image,
                        float* mask) const {
  const SourceInfo& info = source_->info();
  Decoded fresh;
  const Decoded& decoded = decode(source_index, fresh);
  Picture x(decoded.image, info.pixel_max);
  Picture m(decoded.mask, 255.0f);
  keep(source_index, std::move(fresh));
  if (info.stretch) stretch(x.planes);
  for (std::size_t k = 0; augment != nullptr && k < augment_.size(); ++k) {
    const TransformContext context{augment->fork(k), mean_};
    if (augment_[k]->cuts()) {  // resized below, once
      const Box box = augment_[k]->cut(x.planes.height, x.planes.width, context);
      x.keep(box);
      m.keep(box);
      continue;
    }
    augment_[k]->apply(x.planes, context);
    if (augment_[k]->moves_pixels()) augment_[k]->apply(m.planes, context);
  }
  resample(x.planes, {channels(), height(), width(), image}, Resampling::kBilinear);
  if (mask != nullptr) {
    resample(m.planes, {1, height(), width(), mask}, *info.masks);
  }
}

void Dataset::scale_whole(const Image& image, float white, float* out) const {
  Picture x(image, white);
  if (source_->info().stretch) stretch(x.planes);
  resample(x.planes, {channels(), height(), width(), out}, Resampling::kBilinear);
}

}  // namespace fovea::data
