#include "training/tasks/detection/detection_batch.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "backend/devices.h"
#include "training/tasks/task_registry.h"

namespace fovea::training {
namespace {

// The rows of a list, (n, ...) -> (rows, ...), in a tensor of their own.
Tensor chosen_rows(const Tensor& list, const std::vector<std::int64_t>& rows) {
  if (std::ssize(rows) == list.size(0)) return list;
  Shape shape{std::ssize(rows)};
  for (int axis = 1; axis < list.rank(); ++axis) shape.push_back(list.size(axis));
  const Tensor chosen = Tensor::empty(shape, list.dtype(), list.device());
  const std::size_t bytes =
      list.size(0) == 0 ? 0 : static_cast<std::size_t>(list.bytes() / list.size(0));
  for (std::size_t i = 0; i < rows.size(); ++i)
    std::memcpy(chosen.host_memory() + i * bytes,
                list.host_memory() + static_cast<std::size_t>(rows[i]) * bytes, bytes);
  return chosen;
}

// Shares of the image: left, top, width, height.
constexpr std::array<std::array<double, 4>, 6> kMadeUp = {{{0.05, 0.10, 0.50, 0.60},
                                                           {0.40, 0.30, 0.55, 0.45},
                                                           {0.10, 0.70, 0.25, 0.20},
                                                           {0.60, 0.05, 0.20, 0.30},
                                                           {0.80, 0.80, 0.10, 0.12},
                                                           {0.30, 0.55, 0.06, 0.05}}};

struct MadeUp {
  Tensor boxes, labels, crowd, area, masks;
};

MadeUp made_up_objects(const models::DataShape& shape, const Device& host) {
  const std::int64_t height = shape.height, width = shape.width, n = std::ssize(kMadeUp);
  std::vector<float> boxes, areas;
  std::vector<std::int64_t> labels;
  std::vector<std::uint8_t> masks;
  masks.reserve(static_cast<std::size_t>(n * height * width));
  for (const auto& [left, top, w, h] : kMadeUp) {
    const double x1 = left * static_cast<double>(width),
                 x2 = (left + w) * static_cast<double>(width);
    const double y1 = top * static_cast<double>(height),
                 y2 = (top + h) * static_cast<double>(height);
    for (const double at : {x1, y1, x2, y2}) boxes.push_back(static_cast<float>(at));
    areas.push_back(static_cast<float>((x2 - x1) * (y2 - y1)));
    labels.push_back(std::ssize(labels) % std::max<std::int64_t>(1, shape.num_classes));
    for (std::int64_t y = 0; y < height; ++y) {
      for (std::int64_t x = 0; x < width; ++x) {
        const double u = (2 * (static_cast<double>(x) + 0.5) - x1 - x2) / (x2 - x1);
        const double v = (2 * (static_cast<double>(y) + 0.5) - y1 - y2) / (y2 - y1);
        masks.push_back(u * u + v * v <= 1 ? 1 : 0);
      }
    }
  }
  const std::vector<std::uint8_t> none(static_cast<std::size_t>(n), 0);
  return {Tensor::from(boxes, {n, 4}, host), Tensor::from(labels, {n}, host),
          Tensor::from(none, {n}, host), Tensor::from(areas, {n}, host),
          Tensor::from(masks, {n, height, width}, host)};
}

}  // namespace

std::vector<models::ImageSize> image_sizes(const data::Batch& batch) {
  const auto values = batch.at("image_size").host_values<std::int64_t>();
  std::vector<models::ImageSize> sizes;
  for (std::size_t i = 0; i + 1 < values.size(); i += 2)
    sizes.push_back({values[i], values[i + 1]});
  return sizes;
}

std::vector<models::DetectionTruth> truth_of(const data::Batch& batch, bool masks) {
  const std::vector<Tensor>& boxes = batch.lists.at("boxes");
  const std::vector<Tensor>& labels = batch.lists.at("labels");
  const auto crowds = batch.lists.find("crowd"), drawn = batch.lists.find("masks");
  std::vector<models::DetectionTruth> truth;
  for (std::size_t i = 0; i < boxes.size(); ++i) {
    std::vector<std::int64_t> objects, regions;
    for (std::int64_t k = 0; k < boxes[i].size(0); ++k) {
      const bool crowd =
          crowds != batch.lists.end() && crowds->second[i].data<std::uint8_t>()[k] != 0;
      (crowd ? regions : objects).push_back(k);
    }
    truth.push_back({.boxes = chosen_rows(boxes[i], objects),
                     .labels = chosen_rows(labels[i], objects),
                     .masks = {},
                     .crowds = chosen_rows(boxes[i], regions)});
    if (masks && drawn != batch.lists.end())
      truth.back().masks = chosen_rows(drawn->second[i], objects);
  }
  return truth;
}

data::Batch random_detection_batch(const models::DataShape& shape, std::int64_t size,
                                   const Device& device) {
  const Device host = device.is_host() ? device : make_cpu(1);
  std::vector<std::int64_t> sizes;
  for (std::int64_t i = 0; i < size; ++i) sizes.insert(sizes.end(), {shape.height, shape.width});
  data::Batch batch = batch_of({{"image", random_images(shape, size, device)},
                                {"image_size", Tensor::from(sizes, {size, 2}, host)}});
  const MadeUp made = made_up_objects(shape, host);
  for (std::int64_t i = 0; i < size; ++i) {
    batch.lists["boxes"].push_back(made.boxes);
    batch.lists["labels"].push_back(made.labels);
    batch.lists["crowd"].push_back(made.crowd);
    batch.lists["area"].push_back(made.area);
    batch.lists["masks"].push_back(made.masks);
    batch.geometry.push_back(
        {.original_size = {shape.height, shape.width}, .spacing = {}, .offset = {}});
  }
  return batch;
}

}  // namespace fovea::training
