#include "data/volumes/volume_augment.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <span>
#include <utility>

namespace fovea::data {
namespace {

using Point = std::array<double, 3>;
using Matrix = std::array<Point, 3>;

constexpr double kMaxAngle = std::numbers::pi / 6;  // 30 degrees
constexpr double kLeastScale = 0.7;
constexpr double kFlat = 3;  // ratio of sides from which on crops are turned in plane

bool happens(const RandomStream& stream, double prob) { return double{stream.uniform(0)} < prob; }

// Draw `i` of a stream, i > 0.
double between(const RandomStream& stream, std::uint64_t i, double low, double high) {
  return low + (high - low) * double{stream.uniform(i)};
}

// In [low, 1] or [1, high] with equal chance; draws i and i + 1.
double around_one(const RandomStream& stream, std::uint64_t i, double low, double high) {
  return double{stream.uniform(i)} < 0.5 ? between(stream, i + 1, low, 1)
                                         : between(stream, i + 1, 1, high);
}

Matrix product(const Matrix& a, const Matrix& b) {
  Matrix c{};
  for (std::size_t i = 0; i < 3; ++i) {
    for (std::size_t j = 0; j < 3; ++j) {
      for (std::size_t k = 0; k < 3; ++k) c[i][j] += a[i][k] * b[k][j];
    }
  }
  return c;
}

// About an axis.
Matrix rotation(std::size_t axis, double angle) {
  Matrix m{};
  const std::size_t a = (axis + 1) % 3, b = (axis + 2) % 3;
  m[axis][axis] = 1;
  m[a][a] = m[b][b] = std::cos(angle);
  m[a][b] = -std::sin(angle);
  m[b][a] = std::sin(angle);
  return m;
}

// From places in a crop to places in the volume, both from the middle.
Matrix drawn_turn(const VolumeSides& size, const RandomStream& stream) {
  Matrix turn{{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}};
  const bool plane = turns_in_plane(size);
  if (happens(stream.fork("rotate"), 0.2)) {
    const RandomStream angles = stream.fork("angles");
    for (std::size_t axis = 0; axis < 3; ++axis) {
      if (plane && axis > 0) continue;
      const double most = plane ? std::numbers::pi : kMaxAngle;
      turn = product(turn, rotation(axis, between(angles, axis, -most, most)));
    }
  }
  if (happens(stream.fork("scale"), 0.2)) {
    const double scale = around_one(stream.fork("scale"), 1, kLeastScale, 1.4);
    for (std::size_t i = plane ? 1 : 0; i < 3; ++i) {
      for (double& entry : turn[i]) entry *= scale;
    }
  }
  return turn;
}

bool is_identity(const Matrix& m) {
  for (std::size_t i = 0; i < 3; ++i) {
    for (std::size_t j = 0; j < 3; ++j) {
      if (m[i][j] != (i == j ? 1.0 : 0.0)) return false;
    }
  }
  return true;
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

std::int64_t index(const VolumeSides& size, std::int64_t d, std::int64_t h, std::int64_t w) {
  return (d * size[1] + h) * size[2] + w;
}

float linear(const float* v, const VolumeSides& size, const Tap& d, const Tap& h, const Tap& w) {
  const auto row = [&](std::int64_t i, std::int64_t j) {
    const float* line = v + index(size, i, j, 0);
    return line[w.low] + w.share * (line[w.high] - line[w.low]);
  };
  const auto plane = [&](std::int64_t i) {
    const float low = row(i, h.low);
    return low + h.share * (row(i, h.high) - low);
  };
  const float low = plane(d.low);
  return low + d.share * (plane(d.high) - low);
}

VolumeCrop turned_crop(const PreparedVolume& volume, const VolumeSides& size, const Point& first,
                       const Matrix& turn, Outside outside) {
  VolumeCrop crop{volume.channels, size, {}, {}};
  crop.values.resize(static_cast<std::size_t>(crop.channels * crop.voxels()));
  crop.labels.resize(static_cast<std::size_t>(crop.voxels()), 0);
  const std::int64_t voxels = volume.size[0] * volume.size[1] * volume.size[2];
  Point middle;
  for (std::size_t axis = 0; axis < 3; ++axis)
    middle[axis] = static_cast<double>(size[axis] - 1) / 2;
  std::int64_t to = 0;
  for (std::int64_t d = 0; d < size[0]; ++d) {
    for (std::int64_t h = 0; h < size[1]; ++h) {
      for (std::int64_t w = 0; w < size[2]; ++w, ++to) {
        const Point from{static_cast<double>(d) - middle[0], static_cast<double>(h) - middle[1],
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
          crop.labels[static_cast<std::size_t>(to)] =
              volume
                  .labels[static_cast<std::size_t>(index(volume.size, near[0], near[1], near[2]))];
      }
    }
  }
  return crop;
}

std::span<float> channel_of(VolumeCrop& crop, std::int64_t c) {
  return {crop.values.data() + c * crop.voxels(), static_cast<std::size_t>(crop.voxels())};
}

void add_noise(VolumeCrop& crop, const RandomStream& stream) {
  const double sigma = between(stream, 1, 0, 0.1);
  const RandomStream grain = stream.fork("grain");
  for (std::size_t i = 0; i < crop.values.size(); ++i)
    crop.values[i] += static_cast<float>(sigma * grain.normal(i));
}

// Along one axis, the volume mirrored at its ends with the last voxel twice (scipy's "reflect").
void blur_axis(std::span<float> values, const VolumeSides& size, std::size_t axis,
               const std::vector<float>& kernel) {
  const std::int64_t side = size[axis];
  const std::int64_t step = axis == 0 ? size[1] * size[2] : axis == 1 ? size[2] : 1;
  const std::int64_t reach = std::ssize(kernel) - 1;
  std::vector<float> line(static_cast<std::size_t>(side + 2 * reach));
  for (std::int64_t at = 0; at < std::ssize(values); ++at) {
    if (at / step % side != 0) continue;
    float* first = values.data() + at;
    for (std::int64_t i = -reach; i < side + reach; ++i) {
      std::int64_t from = (i % (2 * side) + 2 * side) % (2 * side);
      if (from >= side) from = 2 * side - 1 - from;
      line[static_cast<std::size_t>(i + reach)] = first[from * step];
    }
    for (std::int64_t i = 0; i < side; ++i) {
      const float* centre = line.data() + i + reach;
      float sum = kernel[0] * centre[0];
      for (std::int64_t k = 1; k <= reach; ++k)
        sum += kernel[static_cast<std::size_t>(k)] * (centre[-k] + centre[k]);
      first[i * step] = sum;
    }
  }
}

void blur(std::span<float> values, const VolumeSides& size, double sigma) {
  const auto reach = static_cast<std::int64_t>(4 * sigma + 0.5);
  std::vector<double> weights;
  double sum = 0;
  for (std::int64_t k = 0; k <= reach; ++k) {
    const auto x = static_cast<double>(k);
    weights.push_back(std::exp(-x * x / (2 * sigma * sigma)));
    sum += (k == 0 ? 1 : 2) * weights.back();
  }
  std::vector<float> kernel;
  for (const double weight : weights) kernel.push_back(static_cast<float>(weight / sum));
  for (std::size_t axis = 0; axis < 3; ++axis) blur_axis(values, size, axis, kernel);
}

struct Range {
  float low, high;
  double mean, std;
};

Range range_of(std::span<const float> values) {
  const auto [low, high] = std::minmax_element(values.begin(), values.end());
  double sum = 0, squares = 0;
  for (const float value : values) sum += double{value};
  const double n = static_cast<double>(values.size()), mean = sum / n;
  for (const float value : values) squares += (double{value} - mean) * (double{value} - mean);
  return {*low, *high, mean, std::sqrt(squares / n)};
}

void change_contrast(std::span<float> values, double factor) {
  const Range range = range_of(values);
  for (float& value : values)
    value = std::clamp(static_cast<float>((double{value} - range.mean) * factor + range.mean),
                       range.low, range.high);
}

void lower_resolution(std::span<float> values, const VolumeSides& size, double zoom) {
  VolumeSides small = size;
  // Slices that are far apart are left alone.
  for (std::size_t axis = turns_in_plane(size) ? 1 : 0; axis < 3; ++axis)
    small[axis] = std::max<std::int64_t>(
        1, static_cast<std::int64_t>(std::nearbyint(static_cast<double>(size[axis]) * zoom)));
  std::vector<float> few;
  const auto near = [&](std::int64_t i, std::size_t axis) {
    return (2 * i + 1) * size[axis] / (2 * small[axis]);
  };
  for (std::int64_t d = 0; d < small[0]; ++d) {
    for (std::int64_t h = 0; h < small[1]; ++h) {
      for (std::int64_t w = 0; w < small[2]; ++w)
        few.push_back(
            values[static_cast<std::size_t>(index(size, near(d, 0), near(h, 1), near(w, 2)))]);
    }
  }
  const std::vector<float> back = resample_volume(few, small, size);
  std::copy(back.begin(), back.end(), values.begin());
}

// Mean and deviation stay what they were.
void change_gamma(std::span<float> values, double gamma, bool negated) {
  constexpr double kTiny = 1e-7;
  const double sign = negated ? -1 : 1;
  for (float& value : values) value *= static_cast<float>(sign);
  const Range before = range_of(values);
  const double span = double{before.high} - double{before.low};
  for (float& value : values)
    value = static_cast<float>(
        std::pow((double{value} - double{before.low}) / (span + kTiny), gamma) * span +
        double{before.low});
  const Range after = range_of(values);
  for (float& value : values)
    value = static_cast<float>(
        sign * ((double{value} - after.mean) / (after.std + 1e-8) * before.std + before.mean));
}

void mirror(VolumeCrop& crop, std::size_t axis) {
  const std::int64_t side = crop.size[axis];
  const std::int64_t step = axis == 0 ? crop.size[1] * crop.size[2] : axis == 1 ? crop.size[2] : 1;
  const auto swap_all = [&](auto* values) {
    for (std::int64_t at = 0; at < crop.voxels(); ++at) {
      const std::int64_t place = at / step % side;
      if (2 * place < side - 1) std::swap(values[at], values[at + (side - 1 - 2 * place) * step]);
    }
  };
  for (std::int64_t c = 0; c < crop.channels; ++c) swap_all(channel_of(crop, c).data());
  swap_all(crop.labels.data());
}

void change_intensities(VolumeCrop& crop, const RandomStream& stream) {
  if (happens(stream.fork("noise"), 0.1)) add_noise(crop, stream.fork("noise"));
  const auto each_channel = [&](const char* name, double prob, double channel_prob,
                                const auto& change) {
    const RandomStream own = stream.fork(name);
    if (!happens(own, prob)) return;
    for (std::int64_t c = 0; c < crop.channels; ++c) {
      const RandomStream draws = own.fork(static_cast<std::uint64_t>(c));
      if (happens(draws, channel_prob)) change(channel_of(crop, c), draws);
    }
  };
  using Values = std::span<float>;
  each_channel("blur", 0.2, 0.5,
               [&](Values v, const RandomStream& r) { blur(v, crop.size, between(r, 1, 0.5, 1)); });
  each_channel("brightness", 0.15, 1, [](Values v, const RandomStream& r) {
    const auto factor = static_cast<float>(between(r, 1, 0.75, 1.25));
    for (float& value : v) value *= factor;
  });
  each_channel("contrast", 0.15, 1, [](Values v, const RandomStream& r) {
    change_contrast(v, around_one(r, 1, 0.75, 1.25));
  });
  each_channel("low_resolution", 0.25, 0.5, [&](Values v, const RandomStream& r) {
    lower_resolution(v, crop.size, between(r, 1, 0.5, 1));
  });
  for (const bool negated : {true, false}) {
    each_channel(negated ? "negated_gamma" : "gamma", negated ? 0.1 : 0.3, 1,
                 [&](Values v, const RandomStream& r) {
                   change_gamma(v, around_one(r, 1, 0.7, 1.5), negated);
                 });
  }
}

}  // namespace

bool turns_in_plane(const VolumeSides& size) {
  return static_cast<double>(std::max(size[1], size[2])) > kFlat * static_cast<double>(size[0]);
}

// batchgenerators' get_patch_size: the furthest that a corner gets by one of the turns.
VolumeSides margin_size(const VolumeSides& size) {
  const bool plane = turns_in_plane(size);
  Point corner, furthest;
  for (std::size_t axis = 0; axis < 3; ++axis)
    corner[axis] = furthest[axis] = static_cast<double>(size[axis]);
  for (std::size_t about = 0; about < 3; ++about) {
    if (plane && about > 0) continue;
    const Matrix turn = rotation(about, plane ? std::numbers::pi / 2 : kMaxAngle);
    for (std::size_t axis = 0; axis < 3; ++axis) {
      const double at =
          turn[axis][0] * corner[0] + turn[axis][1] * corner[1] + turn[axis][2] * corner[2];
      furthest[axis] = std::max(furthest[axis], std::abs(at));
    }
  }
  VolumeSides result;
  for (std::size_t axis = 0; axis < 3; ++axis)
    result[axis] = plane && axis == 0
                       ? size[0]
                       : static_cast<std::int64_t>(std::ceil(furthest[axis] / kLeastScale));
  return result;
}

VolumeCrop augmented_crop(const PreparedVolume& volume, const VolumeSides& size,
                          const std::array<double, 3>& first, Outside outside,
                          const RandomStream& stream) {
  const Matrix turn = drawn_turn(size, stream.fork("turn"));
  VolumeCrop crop = is_identity(turn) ? crop_volume(volume, size, first, outside)
                                      : turned_crop(volume, size, first, turn, outside);
  change_intensities(crop, stream);
  const RandomStream mirrors = stream.fork("mirror");
  for (std::size_t axis = 0; axis < 3; ++axis) {
    if (double{mirrors.uniform(axis)} < 0.5) mirror(crop, axis);
  }
  return crop;
}

}  // namespace fovea::data
