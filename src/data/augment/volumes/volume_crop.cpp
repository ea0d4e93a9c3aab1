#include "data/augment/volumes/volume_crop.h"

#include <algorithm>
#include <cmath>
#include <optional>

namespace fovea::data {
namespace {

// The k-th voxel that is of a class.
std::int64_t labelled_voxel(const PreparedVolume& volume, std::int64_t k) {
  for (std::int64_t at = 0;; ++at) {
    if (volume.labels[static_cast<std::size_t>(at)] == kIgnoredVoxel) continue;
    if (k-- == 0) return at;
  }
}

// The voxel that a crop lies around; none: anywhere.
std::optional<std::int64_t> draw_middle(const PreparedVolume& volume, bool foreground,
                                        const RandomStream& stream) {
  std::vector<std::size_t> present;
  for (std::size_t c = 0; c < volume.voxels.size(); ++c) {
    if (!volume.voxels[c].empty()) present.push_back(c);
  }
  if (foreground && !present.empty()) {
    const RandomStream choice = stream.fork("foreground");
    const auto& places =
        volume.voxels[present[static_cast<std::size_t>(choice.below(std::ssize(present), 0))]];
    return places[static_cast<std::size_t>(choice.below(std::ssize(places), 1))];
  }
  const bool sparse = volume.labelled > 0 && volume.labelled < std::ssize(volume.labels);
  if (!sparse) return std::nullopt;
  return labelled_voxel(volume, stream.fork("labelled").below(volume.labelled, 0));
}

struct Tap {
  std::int64_t low, high;
  float share;  // of high
};

Tap tap(double at, std::int64_t side) {
  const double inside = std::clamp(at, 0.0, static_cast<double>(side - 1));
  const auto low = static_cast<std::int64_t>(inside);
  return {low, std::min(low + 1, side - 1), static_cast<float>(inside - static_cast<double>(low))};
}

float linear(const float* v, const VolumeSides& size, const Tap& d, const Tap& h, const Tap& w) {
  const auto row = [&](std::int64_t i, std::int64_t j) {
    const float* line = v + voxel_index(size, i, j, 0);
    return line[w.low] + w.share * (line[w.high] - line[w.low]);
  };
  const auto plane = [&](std::int64_t i) {
    const float low = row(i, h.low);
    return low + h.share * (row(i, h.high) - low);
  };
  const float low = plane(d.low);
  return low + d.share * (plane(d.high) - low);
}

}  // namespace

std::array<double, 3> draw_crop(const PreparedVolume& volume, const VolumeSides& size,
                                bool foreground, const RandomStream& stream) {
  const VolumeSides around = margin_size(size);
  std::array<double, 3> first;
  VolumeSides low, high;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const std::int64_t pad = std::max(around[axis] - size[axis], around[axis] - volume.size[axis]);
    low[axis] = -(pad / 2);
    high[axis] = std::max(low[axis], volume.size[axis] + pad / 2 + pad % 2 - around[axis]);
    first[axis] = static_cast<double>(
        low[axis] + stream.below(high[axis] - low[axis] + 1, static_cast<std::uint64_t>(axis)));
  }
  if (const auto at = draw_middle(volume, foreground, stream)) {
    const VolumeSides voxel{*at / (volume.size[1] * volume.size[2]),
                            *at / volume.size[2] % volume.size[1], *at % volume.size[2]};
    for (std::size_t axis = 0; axis < 3; ++axis)
      first[axis] =
          static_cast<double>(std::clamp(voxel[axis] - around[axis] / 2, low[axis], high[axis]));
  }
  for (std::size_t axis = 0; axis < 3; ++axis)
    first[axis] += static_cast<double>((around[axis] - size[axis]) / 2);
  return first;
}

VolumeCrop crop_volume(const PreparedVolume& volume, const VolumeSides& size,
                       const std::array<double, 3>& first, Outside outside) {
  VolumeCrop crop{volume.channels, size, {}, {}};
  crop.values.reserve(static_cast<std::size_t>(crop.channels * crop.voxels()));
  const VolumeSides& whole = volume.size;
  VolumeSides at;
  for (std::size_t axis = 0; axis < 3; ++axis) at[axis] = static_cast<std::int64_t>(first[axis]);
  const auto inside = [&](std::size_t axis, std::int64_t i) {
    return std::clamp<std::int64_t>(at[axis] + i, 0, whole[axis] - 1);
  };
  const auto is_inside = [&](std::size_t axis, std::int64_t i) {
    return at[axis] + i >= 0 && at[axis] + i < whole[axis];
  };
  for (std::int64_t c = 0; c < crop.channels; ++c) {
    const float* values = volume.values.data() + c * whole[0] * whole[1] * whole[2];
    for (std::int64_t d = 0; d < size[0]; ++d) {
      for (std::int64_t h = 0; h < size[1]; ++h) {
        const float* row = values + voxel_index(whole, inside(0, d), inside(1, h), 0);
        const bool is_row = outside == Outside::kEdge || (is_inside(0, d) && is_inside(1, h));
        for (std::int64_t w = 0; w < size[2]; ++w) {
          const bool is_there = is_row && (outside == Outside::kEdge || is_inside(2, w));
          crop.values.push_back(is_there ? row[inside(2, w)] : 0.0F);
        }
      }
    }
  }
  crop.labels.reserve(static_cast<std::size_t>(crop.voxels()));
  for (std::int64_t d = 0; d < size[0]; ++d) {
    for (std::int64_t h = 0; h < size[1]; ++h) {
      const bool row = is_inside(0, d) && is_inside(1, h) && !volume.labels.empty();
      const std::int64_t line = voxel_index(whole, inside(0, d), inside(1, h), 0);
      for (std::int64_t w = 0; w < size[2]; ++w)
        crop.labels.push_back(row && is_inside(2, w)
                                  ? volume.labels[static_cast<std::size_t>(line + at[2] + w)]
                                  : std::uint8_t{0});
    }
  }
  return crop;
}

VolumeCrop crop_volume(const PreparedVolume& volume, const VolumeSides& size,
                       const std::array<double, 3>& first, Outside outside,
                       const CropMatrix& turn) {
  VolumeCrop crop{volume.channels, size, {}, {}};
  crop.values.resize(static_cast<std::size_t>(crop.channels * crop.voxels()));
  crop.labels.resize(static_cast<std::size_t>(crop.voxels()), 0);
  const std::int64_t voxels = volume.size[0] * volume.size[1] * volume.size[2];
  std::array<double, 3> middle;
  for (std::size_t axis = 0; axis < 3; ++axis)
    middle[axis] = static_cast<double>(size[axis] - 1) / 2;
  std::int64_t to = 0;
  for (std::int64_t d = 0; d < size[0]; ++d) {
    for (std::int64_t h = 0; h < size[1]; ++h) {
      for (std::int64_t w = 0; w < size[2]; ++w, ++to) {
        const std::array<double, 3> from{static_cast<double>(d) - middle[0],
                                         static_cast<double>(h) - middle[1],
                                         static_cast<double>(w) - middle[2]};
        std::array<Tap, 3> taps;
        VolumeSides near;
        bool inside = true;
        for (std::size_t axis = 0; axis < 3; ++axis) {
          const double at = first[axis] + middle[axis] + turn[axis][0] * from[0] +
                            turn[axis][1] * from[1] + turn[axis][2] * from[2];
          taps[axis] = tap(at, volume.size[axis]);
          near[axis] = static_cast<std::int64_t>(std::floor(at + 0.5));
          inside = inside && near[axis] >= 0 && near[axis] < volume.size[axis];
        }
        for (std::int64_t c = 0; c < crop.channels && (inside || outside == Outside::kEdge); ++c)
          crop.values[static_cast<std::size_t>(c * crop.voxels() + to)] =
              linear(volume.values.data() + c * voxels, volume.size, taps[0], taps[1], taps[2]);
        if (inside && !volume.labels.empty())
          crop.labels[static_cast<std::size_t>(to)] = volume.labels[static_cast<std::size_t>(
              voxel_index(volume.size, near[0], near[1], near[2]))];
      }
    }
  }
  return crop;
}

}  // namespace fovea::data
