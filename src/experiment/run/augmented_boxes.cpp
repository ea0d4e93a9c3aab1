#include "experiment/run/augmented_boxes.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "visualise/drawing/montage.h"
#include "visualise/layouts/detection.h"
#include "visualise/maps/attention_maps.h"

namespace fovea::experiment {
namespace {

constexpr std::int64_t kUsualSide = 320;  // pixels of a picture, about

std::vector<visualise::DrawnObject> drawn_objects(const data::Sample& sample,
                                                  std::int64_t classes) {
  const auto boxes = sample.at("boxes").values<float>();
  const auto labels = sample.at("labels").values<std::int64_t>();
  const auto crowds = sample.at("crowd").values<std::uint8_t>();
  const std::int64_t plane = sample.at("image").size(1) * sample.at("image").size(2);
  std::vector<visualise::DrawnObject> objects(labels.size());
  for (std::size_t k = 0; k < objects.size(); ++k) {
    for (std::size_t side = 0; side < 4; ++side) objects[k].box[side] = double{boxes[4 * k + side]};
    // Names of crowds follow those of the classes.
    objects[k].label = labels[k] + (crowds[k] != 0 ? classes : 0);
    if (const Tensor* masks = sample.find("masks")) {
      const auto mask = masks->values<std::uint8_t>().subspan(k * static_cast<std::size_t>(plane),
                                                              static_cast<std::size_t>(plane));
      objects[k].mask.assign(mask.begin(), mask.end());
    }
  }
  return objects;
}

visualise::Canvas picture_with_objects(const data::BoxDataset& train, const data::Sample& sample,
                                       bool normalised) {
  const Tensor& image = sample.at("image");
  const std::int64_t height = image.size(1), width = image.size(2), plane = height * width;
  const auto values = image.values<float>();
  std::vector<float> pixels(values.begin(), values.end());
  for (std::int64_t i = 0; normalised && i < std::ssize(pixels); ++i) {
    const auto c = static_cast<std::size_t>(i / plane);
    float& value = pixels[static_cast<std::size_t>(i)];
    value = static_cast<float>(double{value} * train.std()[c] + train.mean()[c]);
  }
  std::vector<std::string> names = train.class_names();
  for (const std::string& name : train.class_names()) names.push_back("crowd of " + name);
  const std::int64_t factor =
      std::max<std::int64_t>(1, kUsualSide / std::max({height, width, std::int64_t{1}}));
  return visualise::draw_objects(visualise::picture_of(pixels, image.size(0), height, width),
                                 drawn_objects(sample, train.num_classes()), names, factor);
}

}  // namespace

visualise::Canvas augmented_boxes(const data::BoxDataset& train, const std::string& title,
                                  std::uint64_t seed, std::int64_t samples, std::int64_t epochs) {
  visualise::Montage montage;
  montage.title = title;
  montage.factor = 1;
  montage.column_labels = {"sample"};
  for (std::int64_t epoch = 0; epoch < epochs; ++epoch)
    montage.column_labels.push_back(fmt::format("epoch {}", epoch + 1));
  const std::int64_t count = std::min(samples, train.size());
  for (std::int64_t k = 0; k < count; ++k) {
    const std::int64_t i = k * train.size() / count;
    montage.row_labels.push_back(fmt::format("{}", i));
    std::vector<visualise::Canvas> row = {picture_with_objects(train, train.get(i), false)};
    for (std::int64_t epoch = 0; epoch < epochs; ++epoch) {
      data::Sample sample = train.blank();
      train.prepare(i, {.seed = seed, .epoch = epoch, .augment = true}, sample);
      row.push_back(picture_with_objects(train, sample, true));
    }
    montage.rows.push_back(std::move(row));
  }
  return visualise::render(montage);
}

}  // namespace fovea::experiment
