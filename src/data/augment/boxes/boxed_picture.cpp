#include "data/augment/boxes/boxed_picture.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/error.h"
#include "data/augment/resize.h"

namespace fovea::data {
namespace {

void clip(BoxedObject& object, double height, double width) {
  for (const std::size_t x : {0U, 2U}) object.box[x] = std::clamp(object.box[x], 0.0, width);
  for (const std::size_t y : {1U, 3U}) object.box[y] = std::clamp(object.box[y], 0.0, height);
}

// The pixel of the old axis whose centre is the nearest, for each of the new one.
std::vector<std::int64_t> nearest(std::int64_t from, std::int64_t to) {
  std::vector<std::int64_t> places(static_cast<std::size_t>(to));
  for (std::int64_t i = 0; i < to; ++i)
    places[static_cast<std::size_t>(i)] = (2 * i + 1) * from / (2 * to);
  return places;
}

}  // namespace

BoxedPicture::BoxedPicture(const Image& picture, float white, std::vector<BoxedObject> objects,
                           const std::vector<std::uint8_t>* masks)
    : channels_(picture.channels),
      height_(picture.height),
      width_(picture.width),
      pixels_(static_cast<std::size_t>(channels_ * plane())),
      objects_(std::move(objects)),
      has_masks_(masks != nullptr) {
  if (has_masks_) masks_ = *masks;
  FOVEA_CHECK(!has_masks_ || std::ssize(masks_) == std::ssize(objects_) * plane(), ShapeError,
              fmt::format("masks: {} values for {} objects of a picture of {} x {}", masks_.size(),
                          objects_.size(), height_, width_));
  to_planes(picture, white, planes());
  for (BoxedObject& object : objects_)
    clip(object, static_cast<double>(height_), static_cast<double>(width_));
  drop_if([](const BoxedObject& o) { return !(o.width() > 0 && o.height() > 0); });
}

void BoxedPicture::flip_horizontally() {
  data::flip_horizontally(planes());
  for (BoxedObject& object : objects_) {
    const double left = static_cast<double>(width_) - object.box[2];
    object.box[2] = static_cast<double>(width_) - object.box[0];
    object.box[0] = left;
  }
  for (auto row = masks_.begin(); row != masks_.end(); row += width_)
    std::reverse(row, row + width_);
}

void BoxedPicture::flip_vertically() {
  data::flip_vertically(planes());
  for (BoxedObject& object : objects_) {
    const double top = static_cast<double>(height_) - object.box[3];
    object.box[3] = static_cast<double>(height_) - object.box[1];
    object.box[1] = top;
  }
  for (auto mask = masks_.begin(); mask != masks_.end(); mask += plane()) {
    for (std::int64_t i = 0; i < height_ / 2; ++i) {
      const auto upper = mask + i * width_;
      std::swap_ranges(upper, upper + width_, mask + (height_ - 1 - i) * width_);
    }
  }
}

void BoxedPicture::resize(std::int64_t height, std::int64_t width, bool antialias) {
  FOVEA_CHECK(height >= 1 && width >= 1, ShapeError,
              fmt::format("resize: to {} x {} pixels", height, width));
  if (height == height_ && width == width_) return;
  std::vector<float> resized(static_cast<std::size_t>(channels_ * height * width));
  const Planes to{channels_, height, width, resized.data()};
  if (antialias) {
    data::resize(planes(), to);
  } else {
    resample(planes(), to, Resampling::kBilinear);
  }
  const double tall = static_cast<double>(height) / static_cast<double>(height_);
  const double wide = static_cast<double>(width) / static_cast<double>(width_);
  for (BoxedObject& object : objects_) {
    for (const std::size_t x : {0U, 2U}) object.box[x] *= wide;
    for (const std::size_t y : {1U, 3U}) object.box[y] *= tall;
    clip(object, static_cast<double>(height), static_cast<double>(width));  // of rounding
  }
  if (has_masks_) masks_ = resized_masks(height, width);
  pixels_ = std::move(resized);
  height_ = height;
  width_ = width;
}

std::vector<std::uint8_t> BoxedPicture::resized_masks(std::int64_t height,
                                                      std::int64_t width) const {
  const std::vector<std::int64_t> rows = nearest(height_, height), columns = nearest(width_, width);
  std::vector<std::uint8_t> masks(objects_.size() * static_cast<std::size_t>(height * width));
  std::uint8_t* to = masks.data();
  for (const std::uint8_t* mask = masks_.data(); to != masks.data() + masks.size();
       mask += plane()) {
    for (std::size_t i = 0; i < rows.size(); ++i, to += width) {
      if (i > 0 && rows[i] == rows[i - 1]) {
        std::copy_n(to - width, width, to);
        continue;
      }
      const std::uint8_t* line = mask + rows[i] * width_;
      for (std::size_t j = 0; j < columns.size(); ++j) to[j] = line[columns[j]];
    }
  }
  return masks;
}

void BoxedPicture::crop(const Box& part, double min_visible) {
  FOVEA_CHECK(part.top >= 0 && part.left >= 0 && part.height >= 1 && part.width >= 1 &&
                  part.top + part.height <= height_ && part.left + part.width <= width_,
              ShapeError,
              fmt::format("crop: {} x {} from ({}, {}) of a picture of {} x {}", part.height,
                          part.width, part.top, part.left, height_, width_));
  std::vector<float> pixels(static_cast<std::size_t>(channels_ * part.height * part.width));
  data::crop(planes(), part, {channels_, part.height, part.width, pixels.data()});
  if (has_masks_) {
    std::vector<std::uint8_t> masks;
    masks.reserve(objects_.size() * static_cast<std::size_t>(part.height * part.width));
    for (auto mask = masks_.begin(); mask != masks_.end(); mask += plane()) {
      for (std::int64_t i = part.top; i < part.top + part.height; ++i) {
        const auto row = mask + i * width_ + part.left;
        masks.insert(masks.end(), row, row + part.width);
      }
    }
    masks_ = std::move(masks);
  }
  pixels_ = std::move(pixels);
  height_ = part.height;
  width_ = part.width;
  std::vector<std::size_t> kept;
  for (std::size_t k = 0; k < objects_.size(); ++k) {
    BoxedObject& object = objects_[k];
    const double before = object.width() * object.height();
    for (const std::size_t x : {0U, 2U}) object.box[x] -= static_cast<double>(part.left);
    for (const std::size_t y : {1U, 3U}) object.box[y] -= static_cast<double>(part.top);
    clip(object, static_cast<double>(height_), static_cast<double>(width_));
    if (object.width() < 1 || object.height() < 1) continue;
    if (object.width() * object.height() < min_visible * before) continue;
    const auto mask = masks_.begin() + static_cast<std::ptrdiff_t>(k) * plane();
    if (has_masks_ && std::find(mask, mask + plane(), 1) == mask + plane()) continue;
    kept.push_back(k);
  }
  keep(kept);
}

void BoxedPicture::drop_if(const std::function<bool(const BoxedObject&)>& unwanted) {
  std::vector<std::size_t> kept;
  for (std::size_t k = 0; k < objects_.size(); ++k) {
    if (!unwanted(objects_[k])) kept.push_back(k);
  }
  keep(kept);
}

void BoxedPicture::keep(const std::vector<std::size_t>& places) {
  if (places.size() == objects_.size()) return;
  for (std::size_t to = 0; to < places.size(); ++to) {
    const std::size_t from = places[to];
    if (from == to) continue;
    objects_[to] = objects_[from];
    if (!has_masks_) continue;
    const auto mask = masks_.begin() + static_cast<std::ptrdiff_t>(from) * plane();
    std::copy(mask, mask + plane(), masks_.begin() + static_cast<std::ptrdiff_t>(to) * plane());
  }
  objects_.resize(places.size());
  if (has_masks_) masks_.resize(places.size() * static_cast<std::size_t>(plane()));
}

}  // namespace fovea::data
