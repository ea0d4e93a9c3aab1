#include "data/volumes/volume_prepare.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"

namespace fovea::data {
namespace {

constexpr double kTiny = 1e-8;  // least deviation, so that a constant volume is not divided by 0

// The two places that a new one lies between, and the share of the second.
struct Between {
  std::int64_t first, second;
  double share;
};

std::int64_t nearest(std::int64_t i, std::int64_t in, std::int64_t out) {
  return (2 * i + 1) * in / (2 * out);
}

std::vector<Between> places(std::int64_t in, std::int64_t out, bool to_nearest) {
  std::vector<Between> all;
  for (std::int64_t i = 0; i < out; ++i) {
    if (to_nearest) {
      all.push_back({nearest(i, in, out), nearest(i, in, out), 0});
      continue;
    }
    const double at = std::clamp(
        (static_cast<double>(i) + 0.5) * static_cast<double>(in) / static_cast<double>(out) - 0.5,
        0.0, static_cast<double>(in - 1));
    const auto first = static_cast<std::int64_t>(at);
    all.push_back({first, std::min(first + 1, in - 1), at - static_cast<double>(first)});
  }
  return all;
}

// Linear between the values of a sorted list, as numpy has it.
double percentile(const std::vector<float>& sorted, double percent) {
  const double at = percent / 100 * static_cast<double>(sorted.size() - 1);
  const auto first = static_cast<std::size_t>(at);
  const std::size_t second = std::min(first + 1, sorted.size() - 1);
  const double share = at - static_cast<double>(first);
  return (1 - share) * double{sorted[first]} + share * double{sorted[second]};
}

struct Moments {
  double mean = 0, std = 0;
};

// Of the values that `counts` says do.
template <class Counts>
Moments moments_of(std::span<const float> values, const Counts& counts) {
  double sum = 0, squares = 0, n = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!counts(i)) continue;
    sum += double{values[i]};
    ++n;
  }
  if (n == 0) return {};
  const double mean = sum / n;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (counts(i)) squares += (double{values[i]} - mean) * (double{values[i]} - mean);
  }
  return {mean, std::sqrt(squares / n)};
}

}  // namespace

VolumeSides resampled_size(const VolumeSides& size, const std::array<double, 3>& spacing,
                           const std::array<double, 3>& target) {
  VolumeSides result;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const double sides = static_cast<double>(size[axis]) * spacing[axis] / target[axis];
    result[axis] = static_cast<std::int64_t>(std::nearbyint(sides));  // halves to even
  }
  return result;
}

std::vector<float> resample_volume(std::span<const float> values, const VolumeSides& size,
                                   const VolumeSides& to, std::optional<std::size_t> nearest_axis) {
  const auto d = places(size[0], to[0], nearest_axis == 0u);
  const auto h = places(size[1], to[1], nearest_axis == 1u);
  const auto w = places(size[2], to[2], nearest_axis == 2u);
  const auto value = [&](std::int64_t i, std::int64_t j, std::int64_t k) {
    return double{values[static_cast<std::size_t>((i * size[1] + j) * size[2] + k)]};
  };
  std::vector<float> result;
  result.reserve(d.size() * h.size() * w.size());
  for (const Between& i : d) {
    for (const Between& j : h) {
      for (const Between& k : w) {
        const auto row = [&](std::int64_t a, std::int64_t b) {
          return (1 - k.share) * value(a, b, k.first) + k.share * value(a, b, k.second);
        };
        const auto plane = [&](std::int64_t a) {
          return (1 - j.share) * row(a, j.first) + j.share * row(a, j.second);
        };
        result.push_back(
            static_cast<float>((1 - i.share) * plane(i.first) + i.share * plane(i.second)));
      }
    }
  }
  return result;
}

std::vector<std::int64_t> resample_labels(std::span<const std::int64_t> labels,
                                          const VolumeSides& size, const VolumeSides& to) {
  std::vector<std::int64_t> result;
  for (std::int64_t i = 0; i < to[0]; ++i) {
    for (std::int64_t j = 0; j < to[1]; ++j) {
      const std::int64_t row = nearest(i, size[0], to[0]) * size[1] + nearest(j, size[1], to[1]);
      for (std::int64_t k = 0; k < to[2]; ++k)
        result.push_back(
            labels[static_cast<std::size_t>(row * size[2] + nearest(k, size[2], to[2]))]);
    }
  }
  return result;
}

Intensities intensities_of(std::vector<float> foreground) {
  FOVEA_CHECK(!foreground.empty(), ConfigError,
              "dataset: no voxel of the training volumes is foreground, so there are no "
              "intensities to normalise by");
  const Moments moments = moments_of(foreground, [](std::size_t) { return true; });
  std::sort(foreground.begin(), foreground.end());
  return {percentile(foreground, 0.5), percentile(foreground, 99.5), moments.mean, moments.std};
}

void normalise_ct(std::span<float> values, const Intensities& by) {
  const double std = std::max(by.std, kTiny);
  for (float& value : values)
    value = static_cast<float>((std::clamp(double{value}, by.low, by.high) - by.mean) / std);
}

void normalise_mr(std::span<float> values, std::span<const std::uint8_t> inside) {
  const auto counts = [&](std::size_t i) { return inside.empty() || inside[i] != 0; };
  const Moments moments = moments_of(values, counts);
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = counts(i)
                    ? static_cast<float>((double{values[i]} - moments.mean) / (moments.std + kTiny))
                    : 0.0f;
}

}  // namespace fovea::data
