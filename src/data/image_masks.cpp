// Samples of an image and its mask (image_dataset.h): decoded at their own size, augmented
// together, brought to the data set's size. kcla 5.4.
#include <algorithm>
#include <utility>
#include <vector>

#include "data/image_dataset.h"
#include "data/zoom.h"

namespace fovea::data {
namespace {

// Pixels that are worked on.
struct Picture {
  explicit Picture(const Image& image)
      : values(static_cast<std::size_t>(image.height * image.width * image.channels)),
        planes{image.channels, image.height, image.width, values.data()} {}
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

// Numbers of classes as they are: every transform that moves pixels keeps their values.
void copy_labels(const Image& mask, Picture& to) {
  visit_values(mask, [&](const auto& labels) {
    std::transform(labels.begin(), labels.end(), to.values.begin(),
                   [](auto label) { return static_cast<float>(label); });
  });
}

}  // namespace

void ImageDataset::read_pair(std::int64_t source_index, const RandomStream* augment,
                             Sample& into) const {
  const SourceInfo& info = source_->info();
  Decoded fresh;
  const Decoded& decoded = decode(source_index, fresh);
  const std::int64_t tall = decoded.height, wide = decoded.width;
  Box part{0, 0, tall, wide};
  Picture x(decoded.image);
  Picture m(decoded.mask);
  to_planes(decoded.image, info.pixel_max, x.planes);
  if (info.masks == Masks::kLabels) {
    copy_labels(decoded.mask, m);
  } else {
    to_planes(decoded.mask, 255.0f, m.planes);
  }
  keep(source_index, std::move(fresh));
  if (info.stretch) stretch(x.planes);
  for (std::size_t k = 0; augment != nullptr && k < augment_.size(); ++k) {
    const TransformContext context{augment->fork(k), mean_};
    if (augment_[k]->cuts()) {  // resized below, once
      const Box box = augment_[k]->cut(x.planes.height, x.planes.width, context);
      x.keep(box);
      m.keep(box);
      part = {part.top + box.top, part.left + box.left, box.height, box.width};
      continue;
    }
    augment_[k]->apply(x.planes, context);
    const TransformContext same{context.stream, context.mean, true};
    if (augment_[k]->moves_pixels()) augment_[k]->apply(m.planes, same);
    if (augment_[k]->swaps_sides(context)) {
      std::swap(x.planes.height, x.planes.width);
      std::swap(m.planes.height, m.planes.width);
    }
  }
  into.geometry = geometry_of(tall, wide, part);
  into.geometry.spacing = source_->spacing(source_index);
  resample(x.planes, planes_of(into), info.image_resize);
  if (info.stretch_last) stretch(planes_of(into));
  write_mask(m.planes, into.at("mask"));
}

void ImageDataset::write_mask(Planes from, const Tensor& to) const {
  const SourceInfo& info = source_->info();
  if (info.masks == Masks::kSoft) {
    resample(from, {1, height(), width(), to.data<float>()}, info.mask_resize);
    return;
  }
  std::vector<float> resized(static_cast<std::size_t>(height() * width()));
  const Planes labels{1, height(), width(), resized.data()};
  if (info.image_resize == Resampling::kSpline) {
    zoom_nearest(from, labels);
  } else {
    resample(from, labels, Resampling::kNearest);
  }
  std::transform(resized.begin(), resized.end(), to.data<std::int64_t>(), [&](float value) {
    const auto label = static_cast<std::int64_t>(value) - 1;
    return label < 0 ? info.no_label : label;
  });
}

void ImageDataset::scale_whole(const Image& image, float white, Planes out) const {
  const SourceInfo& info = source_->info();
  if (info.own_sizes && (image.height != info.height || image.width != info.width)) {
    scale_whole(source_->fitted(image), white, out);
    return;
  }
  Picture x(image);
  to_planes(image, white, x.planes);
  if (info.stretch) stretch(x.planes);
  resample(x.planes, out, info.image_resize);
  if (info.stretch_last) stretch(out);
}

}  // namespace fovea::data
