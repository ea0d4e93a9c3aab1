#include "data/volumes/volume_regions.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/error.h"
#include "schema/json/parse.h"

namespace fovea::data {
namespace {

using schema::Value;

// NaN is above nothing.
template <class T>
void write_region(std::span<const float> prob, const Region& region, std::span<T> labels) {
  constexpr float kHalf = 0.5f;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    if (prob[i] > kHalf) labels[i] = static_cast<T>(region.written);
  }
}

}  // namespace

std::vector<std::string> output_names(const VolumeInfo& info) {
  if (info.regions.empty()) return info.class_names;
  std::vector<std::string> names;
  for (const Region& region : info.regions) names.push_back(region.name);
  return names;
}

std::vector<std::string> scored_names(const VolumeInfo& info) {
  std::vector<std::string> names = output_names(info);
  if (!info.regions.empty()) names.insert(names.begin(), info.class_names.front());
  return names;
}

std::vector<std::vector<std::int64_t>> scored_labels(const VolumeInfo& info) {
  std::vector<std::vector<std::int64_t>> all;
  const std::int64_t classes = std::ssize(info.class_names);
  for (std::int64_t c = 0; info.regions.empty() && c < classes; ++c) all.push_back({c});
  if (info.regions.empty()) return all;
  std::vector<std::int64_t> background;
  for (std::int64_t c = 0; c < classes; ++c) {
    const bool taken = std::ranges::any_of(info.regions, [&](const Region& region) {
      return std::ranges::count(region.classes, c) > 0;
    });
    if (!taken) background.push_back(c);
  }
  all.push_back(std::move(background));
  for (const Region& region : info.regions)
    all.emplace_back(region.classes.begin(), region.classes.end());
  return all;
}

Tensor region_labels(const Tensor& prob, const std::vector<Region>& regions) {
  FOVEA_CHECK(prob.rank() >= 3 && prob.size(1) == std::ssize(regions), ShapeError,
              fmt::format("region labels: probabilities are {}; expected (b, {} regions, "
                          "spatial...)",
                          to_string(prob.shape()), regions.size()));
  Shape shape{prob.size(0)};
  for (int axis = 2; axis < prob.rank(); ++axis) shape.push_back(prob.size(axis));
  const auto voxels = static_cast<std::size_t>(prob.shape().part(2, prob.rank()).numel());
  const auto values = prob.host_values<float>();
  const std::span<const float> maps(values);
  std::vector<std::int64_t> labels(static_cast<std::size_t>(shape.numel()), 0);
  for (std::size_t map = 0; map * voxels < maps.size(); ++map) {
    const std::size_t item = map / regions.size();
    write_region(maps.subspan(map * voxels, voxels), regions[map % regions.size()],
                 std::span(labels).subspan(item * voxels, voxels));
  }
  return Tensor::from(labels, shape, prob.device());
}

std::vector<std::uint8_t> labels_on_file(std::span<const float> prob, const VolumeInfo& info,
                                         const VolumeSides& size, const VolumePlace& place) {
  if (info.regions.empty()) return labels_on_file(prob, std::ssize(info.class_names), size, place);
  const std::size_t voxels = prob.size() / info.regions.size();
  std::vector<std::uint8_t> labels;
  for (std::size_t r = 0; r < info.regions.size(); ++r) {
    const std::vector<float> map = map_on_file(prob.subspan(r * voxels, voxels), size, place, 0.0f);
    labels.resize(map.size(), 0);
    write_region(std::span(map), info.regions[r], std::span(labels));
  }
  return labels;
}

Value regions_json(const VolumeInfo& info) {
  if (info.regions.empty()) return {};
  Value all = Value::object();
  for (const Region& region : info.regions) {
    std::vector<int> labels;
    for (const std::uint8_t c : region.classes) labels.push_back(info.label_values[c]);
    all.set(region.name, Value::object({{"labels", Value::array(labels)},
                                        {"written", info.label_values[region.written]}}));
  }
  return all;
}

std::string regions_text(const Value& regions) {
  if (regions.is_null()) return "none";
  std::vector<std::string> texts;
  for (const Value::Member& region : regions.members()) {
    std::vector<std::int64_t> labels;
    for (const Value& label : region.value.at("labels").items()) labels.push_back(label.as_int());
    texts.push_back(fmt::format("{} {} (written as {})", region.key, fmt::join(labels, "+"),
                                region.value.at("written").as_int()));
  }
  return fmt::format("{}", fmt::join(texts, ", "));
}

void check_regions(const std::string& text, const VolumeInfo& info, const std::string& name) {
  try {
    const Value stored = schema::parse(text, name);
    const Value own = regions_json(info);
    FOVEA_CHECK(stored == own, FileError,
                fmt::format("{}: the weights were trained with the regions {}; the data set has {}",
                            name, regions_text(stored), regions_text(own)));
  } catch (const ConfigError& error) {  // of the parser, with the place in the file
    throw FileError(error.what());
  }
}

}  // namespace fovea::data
