// Samples of an image and its mask (image_dataset.h): decoded at their own size, augmented
// together, brought to the data set's size. kcla 5.4.
#include <algorithm>
#include <utility>
#include <vector>

#include "data/augment/zoom.h"
#include "data/images/image_dataset.h"
#include "data/images/patches.h"

namespace fovea::data {
namespace {

// Labels as floats: transforms that move pixels keep their values.
void copy_labels(const Image& mask, OwnPlanes& to) {
  visit_values(mask, [&](const auto& labels) {
    std::transform(labels.begin(), labels.end(), to.values().begin(),
                   [](auto label) { return static_cast<float>(label); });
  });
}

}  // namespace

Image ImageDataset::at_patch_scale(Image picture, Resampling how) const {
  const SourceInfo& info = source_->info();
  if (!info.patches || info.longest == 0) return picture;
  const auto [height, width] = size_of(picture.height, picture.width);
  return resize(picture, height, width, {.how = how});
}

MaskedPicture ImageDataset::planes_of_pair(const Decoded& decoded, const PairDraw& draw) const {
  const SourceInfo& info = source_->info();
  const bool labels = info.masks == Masks::kLabels;
  const auto planes_of_images = [&](const Image& image, const Image& mask) {
    MaskedPicture pair{OwnPlanes(image), OwnPlanes(mask), labels};
    to_planes(image, info.pixel_max, pair.image.planes());
    if (labels) {
      copy_labels(mask, pair.mask);
    } else {
      to_planes(mask, 255.0f, pair.mask.planes());
    }
    return pair;
  };
  if (draw.patch == nullptr) {
    MaskedPicture whole = planes_of_images(decoded.image, decoded.mask);
    if (info.stretch) stretch_own(whole.image.planes());
    return whole;
  }
  const std::int64_t tall = decoded.image.height, wide = decoded.image.width;
  const Box patch = draw_patch({decoded.mask, labels, info.background}, info.height, info.width,
                               draw.foreground, *draw.patch);
  const Box part = inside(patch, tall, wide);
  const auto cut = [&] {
    if (!info.stretch) return planes_of_images(crop(decoded.image, part), crop(decoded.mask, part));
    MaskedPicture pair = planes_of_images(decoded.image, decoded.mask);
    stretch_own(pair.image.planes());
    pair.keep(part);
    return pair;
  };
  MaskedPicture pair = cut();
  // The mean is 0 once it is removed, as are windows of evaluations outside of a picture.
  const std::vector<float> fill(mean_.begin(), mean_.end());
  pair.pad({patch.top - part.top, patch.left - part.left, patch.height, patch.width}, fill);
  return pair;
}

void ImageDataset::augment_pair(MaskedPicture& pair, const RandomStream& augment, Box& part) const {
  for (std::size_t k = 0; k < augment_.size(); ++k) {
    const TransformContext context{augment.fork(k), mean_, std_};
    if (augment_[k]->reshapes()) {
      augment_[k]->reshape(pair, context);
      continue;
    }
    if (augment_[k]->cuts()) {  // resized by the caller, once
      const Box box = augment_[k]->cut(pair.image.height(), pair.image.width(), context);
      pair.keep(box);
      part = {part.top + box.top, part.left + box.left, box.height, box.width};
      continue;
    }
    augment_[k]->apply(pair.image.planes(), context);
    const TransformContext same{context.stream, mean_, std_, true};
    if (augment_[k]->moves_pixels()) augment_[k]->apply(pair.mask.planes(), same);
    if (augment_[k]->swaps_sides(context)) {
      pair.image.swap_sides();
      pair.mask.swap_sides();
    }
  }
}

void ImageDataset::read_pair(std::int64_t source_index, const PairDraw& draw, Sample& into) const {
  const SourceInfo& info = source_->info();
  Decoded fresh;
  const Decoded& decoded = decode(source_index, fresh);
  const std::int64_t tall = decoded.height, wide = decoded.width;
  Box part{0, 0, tall, wide};
  MaskedPicture pair = planes_of_pair(decoded, draw);
  keep(source_index, std::move(fresh));
  if (draw.augment != nullptr) augment_pair(pair, *draw.augment, part);
  if (sizes_ == Sizes::kOwn || (info.patches && draw.patch == nullptr)) {
    const auto [height, width] = size_of(tall, wide);
    into.set("image", Tensor::empty({channels(), height, width}, DType::kFloat32, host()));
    into.set("mask", info.masks == Masks::kLabels
                         ? Tensor::empty({height, width}, DType::kInt64, host())
                         : Tensor::empty({1, height, width}, DType::kFloat32, host()));
  }
  into.geometry = placed(geometry_of(tall, wide, part), source_index);
  resample(pair.image.planes(), planes_of(into), info.image_resize);
  if (info.stretch_last) stretch_own(planes_of(into));
  write_mask(pair.mask.planes(), into.at("mask"));
}

void ImageDataset::write_mask(Planes from, const Tensor& to) const {
  const SourceInfo& info = source_->info();
  if (info.masks == Masks::kSoft) {
    resample(from, {1, to.size(1), to.size(2), to.data<float>()}, info.mask_resize);
    return;
  }
  std::vector<float> resized(static_cast<std::size_t>(to.numel()));
  resize_labels(from, {1, to.size(0), to.size(1), resized.data()});
  write_labels(resized, to);
}

void ImageDataset::resize_labels(Planes from, Planes to) const {
  if (source_->info().image_resize == Resampling::kSpline) {
    zoom_nearest(from, to);
  } else {
    resample(from, to, Resampling::kNearest);
  }
}

// Converts 1 + class, or 0, to the labels of "mask".
void ImageDataset::write_labels(const std::vector<float>& from, const Tensor& to) const {
  std::transform(from.begin(), from.end(), to.data<std::int64_t>(), [&](float value) {
    const auto label = static_cast<std::int64_t>(value) - 1;
    return label < 0 ? source_->info().no_label : label;
  });
}

Geometry ImageDataset::placed(Geometry in_plane, std::int64_t source_index) const {
  in_plane.spacing = source_->spacing(source_index);
  const std::optional<SliceOf> slice = source_->slice_of(source_index);
  if (!slice) return in_plane;
  if (in_plane.offset.empty()) in_plane.offset = {0, 0};
  in_plane.original_size.insert(in_plane.original_size.begin(), slice->depth);
  in_plane.offset.insert(in_plane.offset.begin(), slice->place);
  return in_plane;
}

Tensor ImageDataset::original_mask(std::int64_t i) const {
  const SourceInfo& info = source_->info();
  const std::int64_t index = source_index(i);
  Decoded fresh;
  Image read;
  const bool kept_fitted = (info.own_sizes && !cuts_files_) || (info.patches && info.longest > 0);
  if (kept_fitted) read = source_->read_mask(index, source_->read(index));
  const Image& mask = kept_fitted ? read : decode(index, fresh).mask;
  OwnPlanes pixels(mask);
  if (info.masks == Masks::kSoft) {
    to_planes(mask, 255.0f, pixels.planes());
    return Tensor::from(pixels.values(), {1, mask.height, mask.width}, host());
  }
  copy_labels(mask, pixels);
  const Tensor labels = Tensor::empty({mask.height, mask.width}, DType::kInt64, host());
  write_labels(pixels.values(), labels);
  return labels;
}

Tensor ImageDataset::at_original(const Tensor& labels, std::int64_t height,
                                 std::int64_t width) const {
  std::vector<float> from, to(static_cast<std::size_t>(height * width));
  for (const std::int64_t label : labels.host_values<std::int64_t>())
    from.push_back(static_cast<float>(label));
  resize_labels({1, labels.size(-2), labels.size(-1), from.data()}, {1, height, width, to.data()});
  const std::vector<std::int64_t> whole(to.begin(), to.end());
  return Tensor::from(whole, {height, width}, host());
}

void ImageDataset::scale_whole(const Image& image, float white, Planes out) const {
  const SourceInfo& info = source_->info();
  if (info.own_sizes && (image.height != info.height || image.width != info.width)) {
    scale_whole(source_->fitted(image), white, out);
    return;
  }
  OwnPlanes x(image);
  to_planes(image, white, x.planes());
  if (info.stretch) stretch_own(x.planes());
  resample(x.planes(), out, info.image_resize);
  if (info.stretch_last) stretch_own(out);
}

}  // namespace fovea::data
