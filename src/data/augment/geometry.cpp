#include "data/augment/geometry.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <type_traits>
#include <vector>

#include "base/error.h"
#include "data/augment/zoom.h"

namespace fovea::data {
namespace {

// The two pixels of one axis between which an output pixel lies, and the share of the second.
struct Tap {
  std::int64_t first = 0;
  std::int64_t second = 0;
  float share = 0;
};

std::vector<Tap> taps(std::int64_t from, std::int64_t to, Resampling how) {
  std::vector<Tap> result;
  const double scale = static_cast<double>(from) / static_cast<double>(to);
  for (std::int64_t i = 0; i < to; ++i) {
    const double centre = (static_cast<double>(i) + 0.5) * scale;
    if (how == Resampling::kNearest) {
      const auto at = std::min(static_cast<std::int64_t>(centre), from - 1);
      result.push_back({at, at, 0.0f});
      continue;
    }
    const double place = std::max(centre - 0.5, 0.0);
    const auto first = std::min(static_cast<std::int64_t>(place), from - 1);
    result.push_back({first, std::min(first + 1, from - 1),
                      static_cast<float>(place - static_cast<double>(first))});
  }
  return result;
}

}  // namespace

std::array<std::int64_t, 2> rescaled_size(std::int64_t height, std::int64_t width,
                                          std::int64_t shorter, std::int64_t longer) {
  const double scale =
      std::min(static_cast<double>(longer) / static_cast<double>(std::max(height, width)),
               static_cast<double>(shorter) / static_cast<double>(std::min(height, width)));
  const auto scaled = [&](std::int64_t side) {
    const auto pixels = static_cast<std::int64_t>(static_cast<double>(side) * scale + 0.5);
    return std::max<std::int64_t>(1, pixels);
  };
  return {scaled(height), scaled(width)};
}

Image crop(const Image& image, Box box) {
  Image part{box.height, box.width, image.channels, {}};
  visit_values(image, [&]<class T>(const std::vector<T>& values) {
    std::vector<T>& kept = part.values<T>();
    kept.reserve(static_cast<std::size_t>(box.height * box.width * image.channels));
    for (std::int64_t y = box.top; y < box.top + box.height; ++y) {
      const auto row = values.begin() + (y * image.width + box.left) * image.channels;
      kept.insert(kept.end(), row, row + box.width * image.channels);
    }
  });
  return part;
}

void crop(Planes from, Box box, Planes to) {
  for (std::int64_t c = 0; c < from.channels; ++c) {
    for (std::int64_t y = 0; y < box.height; ++y) {
      const float* row = from.channel(c) + (box.top + y) * from.width + box.left;
      std::copy_n(row, box.width, to.channel(c) + y * box.width);
    }
  }
}

void flip_horizontally(Planes x) {
  for (std::int64_t row = 0; row < x.channels * x.height; ++row) {
    std::reverse(x.data + row * x.width, x.data + (row + 1) * x.width);
  }
}

void flip_vertically(Planes x) {
  for (std::int64_t c = 0; c < x.channels; ++c) {
    float* plane = x.channel(c);
    for (std::int64_t i = 0; i < x.height / 2; ++i) {
      std::swap_ranges(plane + i * x.width, plane + (i + 1) * x.width,
                       plane + (x.height - 1 - i) * x.width);
    }
  }
}

void shift(Planes x, std::int64_t down, std::int64_t right) {
  if (down == 0 && right == 0) return;
  std::vector<float> moved(static_cast<std::size_t>(x.plane()));
  const std::int64_t first = std::clamp<std::int64_t>(right, 0, x.width);
  const std::int64_t last = std::clamp<std::int64_t>(x.width + right, 0, x.width);
  for (std::int64_t c = 0; c < x.channels; ++c) {
    float* plane = x.channel(c);
    std::fill(moved.begin(), moved.end(), 0.0f);
    for (std::int64_t i = 0; i < x.height; ++i) {
      const std::int64_t from = i - down;
      if (from < 0 || from >= x.height || first >= last) continue;
      std::copy(plane + from * x.width + first - right, plane + from * x.width + last - right,
                moved.begin() + i * x.width + first);
    }
    std::copy(moved.begin(), moved.end(), plane);
  }
}

void rotate(Planes x, double degrees) {
  const double angle = degrees * std::numbers::pi / 180;
  const double cosine = std::cos(angle);
  const double sine = std::sin(angle);
  const double half_h = 0.5 * static_cast<double>(x.height);
  const double half_w = 0.5 * static_cast<double>(x.width);
  std::vector<float> turned(static_cast<std::size_t>(x.size()), 0.0f);
  for (std::int64_t i = 0; i < x.height; ++i) {
    const double v = static_cast<double>(i) + 0.5 - half_h;
    for (std::int64_t j = 0; j < x.width; ++j) {
      const double u = static_cast<double>(j) + 0.5 - half_w;
      const double column = std::nearbyint(u * cosine - v * sine + half_w - 0.5);
      const double row = std::nearbyint(u * sine + v * cosine + half_h - 0.5);
      if (row < 0 || row >= static_cast<double>(x.height)) continue;
      if (column < 0 || column >= static_cast<double>(x.width)) continue;
      const auto from =
          static_cast<std::int64_t>(row) * x.width + static_cast<std::int64_t>(column);
      for (std::int64_t c = 0; c < x.channels; ++c) {
        turned[static_cast<std::size_t>(c * x.plane() + i * x.width + j)] = x.channel(c)[from];
      }
    }
  }
  std::copy(turned.begin(), turned.end(), x.data);
}

void to_planes(const Image& image, float white, Planes to) {
  FOVEA_CHECK(to.channels == image.channels && to.height == image.height && to.width == image.width,
              ShapeError,
              fmt::format("to_planes: a picture of {} x {} x {} to {} x {} x {}", image.height,
                          image.width, image.channels, to.height, to.width, to.channels));
  visit_values(image, [&]<class T>(const std::vector<T>& values) {
    const float most = std::is_same_v<T, std::uint16_t> ? 65535.0f : white;
    for (std::int64_t c = 0; c < to.channels; ++c) {
      const T* from = values.data() + c;
      float* plane = to.channel(c);
      // Divided, not multiplied by a reciprocal: the bits are then those of other toolkits.
      for (std::int64_t p = 0; p < to.plane(); ++p) {
        plane[p] = static_cast<float>(from[p * to.channels]) / most;
      }
    }
  });
}

Image to_image(Planes from) {
  Image image{from.height, from.width, from.channels, {}};
  image.pixels.resize(static_cast<std::size_t>(from.size()));
  for (std::int64_t c = 0; c < from.channels; ++c) {
    const float* plane = from.channel(c);
    std::uint8_t* to = image.pixels.data() + c;
    for (std::int64_t p = 0; p < from.plane(); ++p) {
      const float value = std::clamp(plane[p], 0.0f, 1.0f) * 255.0f;
      to[p * from.channels] = static_cast<std::uint8_t>(value + 0.5f);
    }
  }
  return image;
}

void resample(Planes from, Planes to, Resampling how) {
  FOVEA_CHECK(from.channels == to.channels && from.plane() > 0, ShapeError,
              fmt::format("resample: {} channels of {} x {} to {} channels", from.channels,
                          from.height, from.width, to.channels));
  if (how == Resampling::kSpline) {
    zoom_spline(from, to);
    return;
  }
  const std::vector<Tap> rows = taps(from.height, to.height, how);
  const std::vector<Tap> columns = taps(from.width, to.width, how);
  for (std::int64_t c = 0; c < to.channels; ++c) {
    const float* plane = from.channel(c);
    float* out = to.channel(c);
    for (const Tap& row : rows) {
      const float* upper = plane + row.first * from.width;
      const float* lower = plane + row.second * from.width;
      for (const Tap& column : columns) {
        const float above =
            upper[column.first] + column.share * (upper[column.second] - upper[column.first]);
        const float below =
            lower[column.first] + column.share * (lower[column.second] - lower[column.first]);
        *out++ = above + row.share * (below - above);
      }
    }
  }
}

void stretch(Planes x) {
  const auto values = x.values();
  const auto [low, high] = std::minmax_element(values.begin(), values.end());
  const float least = *low;
  const float range = *high - least;
  for (float& value : values) value = range > 0 ? (value - least) / range : 0.0f;
}

}  // namespace fovea::data
