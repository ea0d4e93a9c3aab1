#include "visualise/pages/volume_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/file.h"
#include "visualise/layouts/label_overlay.h"
#include "visualise/pages/page_parts.h"

// The parts of the page (src/visualise/volume_page/), built in by fovea_embed in CMake.
extern "C" {
extern const char fovea_volume_page_html_begin[], fovea_volume_page_html_end[];
extern const char fovea_volume_page_css_begin[], fovea_volume_page_css_end[];
extern const char fovea_volume_case_js_begin[], fovea_volume_case_js_end[];
extern const char fovea_volume_planes_js_begin[], fovea_volume_planes_js_end[];
extern const char fovea_volume_page_js_begin[], fovea_volume_page_js_end[];
extern const char fovea_explorer_page_css_begin[], fovea_explorer_page_css_end[];
extern const char fovea_explorer_shared_js_begin[], fovea_explorer_shared_js_end[];
}

namespace fovea::visualise {
namespace {

using nlohmann::json;

constexpr std::int64_t kMapVoxels = std::int64_t{1} << 18;  // of each map that a page holds

std::string_view part(const char* begin, const char* end) {
  return {begin, static_cast<std::size_t>(end - begin)};
}

std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

// Every step-th voxel of a function of its number.
template <class Byte>
void append_sampled(const Sides3& size, const Sides3& step, std::string& bytes, Byte byte) {
  for (std::int64_t d = step[0] / 2; d < size[0]; d += step[0]) {
    for (std::int64_t h = step[1] / 2; h < size[1]; h += step[1]) {
      for (std::int64_t w = step[2] / 2; w < size[2]; w += step[2])
        bytes += static_cast<char>(byte(static_cast<std::size_t>((d * size[1] + h) * size[2] + w)));
    }
  }
}

Sides3 step_of_maps(const Sides3& size) {
  Sides3 step{1, 1, 1};
  while (true) {
    Sides3 count;
    for (std::size_t axis = 0; axis < 3; ++axis) count[axis] = ceil_div(size[axis], step[axis]);
    if (count[0] * count[1] * count[2] <= kMapVoxels) return step;
    ++step[static_cast<std::size_t>(std::max_element(count.begin(), count.end()) - count.begin())];
  }
}

// Means over boxes; those at the ends may be smaller.
std::vector<double> box_means(const std::vector<float>& values, const Sides3& size,
                              const Sides3& step) {
  Sides3 count;
  for (std::size_t axis = 0; axis < 3; ++axis) count[axis] = ceil_div(size[axis], step[axis]);
  std::vector<double> sums(static_cast<std::size_t>(count[0] * count[1] * count[2]), 0.0);
  std::vector<std::int64_t> voxels(sums.size(), 0);
  std::size_t from = 0;
  for (std::int64_t d = 0; d < size[0]; ++d) {
    for (std::int64_t h = 0; h < size[1]; ++h) {
      for (std::int64_t w = 0; w < size[2]; ++w, ++from) {
        const auto to = static_cast<std::size_t>((d / step[0] * count[1] + h / step[1]) * count[2] +
                                                 w / step[2]);
        sums[to] += double{values[from]};
        ++voxels[to];
      }
    }
  }
  for (std::size_t i = 0; i < sums.size(); ++i) sums[i] /= static_cast<double>(voxels[i]);
  return sums;
}

json rgb_of(Colour c) { return {c.r, c.g, c.b}; }

// How many steps of grey the range is cut into: 255, or of Hounsfield units one for each.
std::int64_t steps_of(const CaseVolume& v) {
  constexpr double kByte = 255, kMost = 65535;
  const double units = std::ceil(v.range.high - v.range.low);
  return v.unit.empty() ? 255 : static_cast<std::int64_t>(std::clamp(units, kByte, kMost));
}

std::int64_t step_of(float value, const Limits& range, std::int64_t steps) {
  if (range.high <= range.low) return 0;
  const double share = (double{value} - range.low) / (range.high - range.low);
  return std::lround(static_cast<double>(steps) * std::clamp(share, 0.0, 1.0));
}

json described_planes(const CaseVolume& v) {
  json planes = json::array();
  for (const Plane plane : kPlanes) {
    const PlaneAxes axes = axes_of(v, plane);
    planes.push_back({{"name", axes.name},
                      {"across", axes.across},
                      {"row", axes.row},
                      {"col", axes.col},
                      {"rows_reversed", axes.rows_reversed},
                      {"cols_reversed", axes.cols_reversed},
                      {"top", axes.top},
                      {"bottom", axes.bottom},
                      {"left", axes.left},
                      {"right", axes.right}});
  }
  return planes;
}

json described_file(const CaseVolume& v) {
  json axes = json::array();
  for (const FileAxis& axis : v.file)
    axes.push_back(
        {{"axis", axis.axis}, {"size", axis.size}, {"start", axis.start}, {"step", axis.step}});
  return axes;
}

json described(const CaseVolume& v, const PackedCase& packed, ColourMap colours) {
  json palette = json::array();
  for (const Colour& c : anchors_of(palette_of(v.quantity, colours))) palette.push_back(rgb_of(c));
  json classes = json::array(), regions = json::array(), maps = json::array();
  const auto add_dice = [&](json& one, std::size_t k) {
    if (has_truth(v)) one["dice"] = std::isnan(v.dice[k]) ? json() : json(v.dice[k]);
  };
  for (std::size_t k = 0; k < v.classes.size(); ++k) {
    json one = {{"name", v.classes[k]},
                {"colour", rgb_of(k == 0 ? kInk : class_colour(static_cast<std::int64_t>(k)))}};
    if (v.regions.empty()) add_dice(one, k);
    classes.push_back(std::move(one));
  }
  for (std::size_t k = 1; k < v.regions.size(); ++k) {
    json one = {{"name", v.regions[k]}};
    add_dice(one, k);
    regions.push_back(std::move(one));
  }
  for (std::size_t i = 0; i < v.maps.size(); ++i)
    maps.push_back(
        {{"name", v.maps[i].name}, {"note", v.maps[i].note}, {"limit", packed.map_limits[i]}});
  Sides3 kept, map_size;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    kept[axis] = sampled_count(v.size[axis], packed.step[axis]);
    map_size[axis] = ceil_div(v.size[axis], packed.map_step[axis]);
  }
  Sides3 start = v.start.value_or(Sides3{v.size[0] / 2, v.size[1] / 2, v.size[2] / 2});
  for (std::size_t axis = 0; axis < 3; ++axis)
    start[axis] = std::min(start[axis] / packed.step[axis], kept[axis] - 1);
  return {{"name", v.name},
          {"run", v.run},
          {"note", v.note},
          {"start", start},
          {"full", v.size},
          {"size", kept},
          {"step", packed.step},
          {"spacing", v.spacing},
          {"file", described_file(v)},
          {"truth", has_truth(v)},
          {"codes", v.codes},
          {"tilt", v.tilt},
          {"radiological", v.convention == Convention::kRadiological},
          {"planes", described_planes(v)},
          {"unit", v.unit},
          {"range", {v.range.low, v.range.high}},
          {"steps", packed.steps},
          {"window", {v.window.low, v.window.high}},
          {"classes", classes},
          {"regions", regions},
          {"maps", maps},
          {"quantity", v.quantity.name},
          {"signed", v.quantity.is_signed},
          {"palette", palette},
          {"map_size", map_size},
          {"map_step", packed.map_step}};
}

json described_errors() {
  json errors = json::array();
  for (const VoxelError error :
       {VoxelError::kFalsePositive, VoxelError::kFalseNegative, VoxelError::kWrongClass})
    errors.push_back({{"name", name_of(error)}, {"colour", rgb_of(colour_of(error))}});
  return errors;
}

}  // namespace

std::int64_t sampled_count(std::int64_t size, std::int64_t step) {
  return ceil_div(size - step / 2, step);
}

PackedCase pack_case(const CaseVolume& v, std::int64_t bytes) {
  check(v);
  PackedCase packed;
  packed.map_step = step_of_maps(v.size);
  packed.steps = steps_of(v);
  std::string maps;
  for (const CaseMap& map : v.maps) {
    const std::vector<double> means = box_means(map.values, v.size, packed.map_step);
    const double limit = map_limit(means);
    packed.map_limits.push_back(limit);
    for (const double mean : means)
      maps +=
          static_cast<char>(v.quantity.is_signed ? 128 + std::lround(127 * mean / limit)
                                                 : std::lround(255 * std::max(0.0, mean) / limit));
  }
  while (true) {
    std::string voxels;
    const auto append_byte = [&](std::int64_t shift) {
      append_sampled(v.size, packed.step, voxels, [&](std::size_t i) {
        return step_of(v.values[i], v.range, packed.steps) >> shift & 0xFF;
      });
    };
    append_byte(0);
    if (packed.steps > 255) append_byte(8);
    if (has_truth(v))
      append_sampled(v.size, packed.step, voxels, [&](std::size_t i) { return v.truth[i]; });
    append_sampled(v.size, packed.step, voxels, [&](std::size_t i) { return v.predicted[i]; });
    packed.base64 = to_packed_base64(voxels + maps);
    if (std::ssize(packed.base64) <= bytes) return packed;
    std::size_t finest = 3;  // of the axes that can still be sampled
    for (std::size_t axis = 0; axis < 3; ++axis) {
      const auto apart = [&](std::size_t a) {
        return v.spacing[a] * static_cast<double>(packed.step[a]);
      };
      if (packed.step[axis] < v.size[axis] && (finest == 3 || apart(axis) < apart(finest)))
        finest = axis;
    }
    if (finest == 3) return packed;
    ++packed.step[finest];
  }
}

std::string volume_page(const VolumePage& page) {
  FOVEA_CHECK(!page.cases.empty(), ShapeError, "volume page: no cases; expected at least one");
  json data = {{"title", page.title},
               {"notes", page.notes},
               {"maps", page.maps},
               {"begins_with_maps", page.begins_with_maps},
               {"errors", described_errors()},
               {"cases", json::array()}};
  std::string packed;
  for (std::size_t i = 0; i < page.cases.size(); ++i) {
    const PackedCase one = pack_case(page.cases[i], page.case_bytes);
    data["cases"].push_back(described(page.cases[i], one, page.colours));
    packed +=
        fmt::format("<script type=\"text/plain\" id=\"case-{}\">{}</script>\n", i, one.base64);
  }
  return filled_page({part(fovea_volume_page_html_begin, fovea_volume_page_html_end),
                      {part(fovea_explorer_page_css_begin, fovea_explorer_page_css_end),
                       part(fovea_volume_page_css_begin, fovea_volume_page_css_end)},
                      {part(fovea_explorer_shared_js_begin, fovea_explorer_shared_js_end),
                       part(fovea_volume_case_js_begin, fovea_volume_case_js_end),
                       part(fovea_volume_planes_js_begin, fovea_volume_planes_js_end),
                       part(fovea_volume_page_js_begin, fovea_volume_page_js_end)},
                      packed,
                      embeddable(data)});
}

void write_volume_page(const std::filesystem::path& path, const VolumePage& page) {
  io::write_atomic(path, volume_page(page));
}

}  // namespace fovea::visualise
