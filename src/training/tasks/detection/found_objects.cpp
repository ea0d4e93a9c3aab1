#include "training/tasks/detection/found_objects.h"

#include <algorithm>
#include <array>
#include <utility>

#include "ops/detection/masks.h"

namespace fovea::training {
namespace {

using metrics::ObjectBox;

// How many pixels of `size` a pixel of `seen` has, (x, y).
std::array<double, 2> factors(const models::ImageSize& seen, const models::ImageSize& size) {
  return {static_cast<double>(size[1]) / static_cast<double>(seen[1]),
          static_cast<double>(size[0]) / static_cast<double>(seen[0])};
}

// The probabilities (side, side) of one object, over its box.
MaskRuns pasted(const Tensor& probabilities, const ObjectBox& box, const models::ImageSize& size) {
  const std::vector<float> corners = {static_cast<float>(box.x), static_cast<float>(box.y),
                                      static_cast<float>(box.x + box.width),
                                      static_cast<float>(box.y + box.height)};
  const Tensor soft = ops::paste_masks(
      probabilities, Tensor::from(corners, {1, 4}, probabilities.device()), size[0], size[1]);
  std::vector<std::uint8_t> inside;
  inside.reserve(static_cast<std::size_t>(soft.numel()));
  for (const float share : soft.host_values<float>()) inside.push_back(share >= 0.5f ? 1 : 0);
  return encode_mask(inside, size[0], size[1]);
}

// Pixel floor((i + 0.5) in / out), the nearest by centres.
MaskRuns resized(const MaskRuns& mask, const models::ImageSize& size) {
  const std::vector<std::uint8_t> from = decode_mask(mask);
  std::vector<std::uint8_t> to;
  to.reserve(static_cast<std::size_t>(size[0] * size[1]));
  for (std::int64_t y = 0; y < size[0]; ++y) {
    const std::int64_t row = (2 * y + 1) * mask.height / (2 * size[0]) * mask.width;
    for (std::int64_t x = 0; x < size[1]; ++x)
      to.push_back(from[static_cast<std::size_t>(row + (2 * x + 1) * mask.width / (2 * size[1]))]);
  }
  return encode_mask(to, size[0], size[1]);
}

}  // namespace

std::vector<metrics::DetectedObject> objects_at(const models::Detections& found,
                                                const models::ImageSize& seen,
                                                const models::ImageSize& size) {
  const auto [by_x, by_y] = factors(seen, size);
  const auto [height, width] = size;
  const auto boxes = found.boxes.host_values<float>();
  const auto scores = found.scores.host_values<float>();
  const auto labels = found.labels.host_values<std::int64_t>();
  std::vector<metrics::DetectedObject> objects;
  for (std::size_t i = 0; i < scores.size(); ++i) {
    const auto inside = [](double at, std::int64_t end) {
      return std::clamp(at, 0.0, static_cast<double>(end));
    };
    const double x1 = inside(boxes[4 * i] * by_x, width),
                 y1 = inside(boxes[4 * i + 1] * by_y, height);
    const double x2 = inside(boxes[4 * i + 2] * by_x, width);
    const double y2 = inside(boxes[4 * i + 3] * by_y, height);
    objects.push_back({.box = {x1, y1, x2 - x1, y2 - y1}, .label = labels[i], .score = scores[i]});
    const auto row = static_cast<std::int64_t>(i);
    if (found.masks.defined())
      objects.back().mask = pasted(found.masks.rows(row, row + 1), objects.back().box, size);
  }
  return objects;
}

DetectedImage true_image(data::BoxTruth truth) {
  DetectedImage image{truth.height, truth.width, {}, {}};
  for (std::size_t i = 0; i < truth.objects.size(); ++i) {
    const data::BoxedObject& object = truth.objects[i];
    const auto& [x1, y1, x2, y2] = object.box;
    image.truth.push_back({.box = {x1, y1, x2 - x1, y2 - y1},
                           .label = object.label,
                           .area = object.area,
                           .crowd = object.crowd});
    if (!truth.masks.empty()) image.truth.back().mask = std::move(truth.masks[i]);
  }
  return image;
}

std::vector<metrics::TruthObject> objects_at(const DetectedImage& image,
                                             const models::ImageSize& size) {
  const auto [by_x, by_y] = factors({image.height, image.width}, size);
  std::vector<metrics::TruthObject> objects = image.truth;
  for (metrics::TruthObject& object : objects) {
    object.box = {object.box.x * by_x, object.box.y * by_y, object.box.width * by_x,
                  object.box.height * by_y};
    if (object.mask) object.mask = resized(*object.mask, size);
  }
  return objects;
}

}  // namespace fovea::training
