#include "data/augment/pictures/picture_ops.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

namespace fovea::data {
namespace {

using Table = std::array<std::uint8_t, 256>;

std::uint8_t to_byte(std::int64_t value) {
  return static_cast<std::uint8_t>(std::clamp<std::int64_t>(value, 0, 255));
}

template <class Value>
Table table_of(Value value) {
  Table table;
  for (int v = 0; v < 256; ++v) table[static_cast<std::size_t>(v)] = to_byte(value(v));
  return table;
}

void look_up(Image& picture, const Table& table) {
  for (std::uint8_t& value : picture.pixels) value = table[value];
}

using Histogram = std::array<std::int64_t, 256>;

Histogram histogram_of(const Image& picture, std::int64_t channel) {
  Histogram counts{};
  for (auto i = static_cast<std::size_t>(channel); i < picture.pixels.size();
       i += static_cast<std::size_t>(picture.channels))
    ++counts[picture.pixels[i]];
  return counts;
}

// A table for each channel, made of its histogram.
template <class Make>
void look_up_by_channel(Image& picture, Make make) {
  for (std::int64_t c = 0; c < picture.channels; ++c) {
    const Table table = make(histogram_of(picture, c));
    for (auto i = static_cast<std::size_t>(c); i < picture.pixels.size();
         i += static_cast<std::size_t>(picture.channels))
      picture.pixels[i] = table[picture.pixels[i]];
  }
}

// 0.299 R + 0.587 G + 0.114 B in 16 bits; of other pictures the first channel.
std::uint8_t grey_of(const std::uint8_t* pixel, std::int64_t channels) {
  if (channels != 3) return pixel[0];
  return static_cast<std::uint8_t>(
      (pixel[0] * 19595 + pixel[1] * 38470 + pixel[2] * 7471 + 0x8000) >> 16);
}

// from + factor (to - from) in float32, cut off, as Pillow's Blend.c.
std::uint8_t blend(std::uint8_t from, std::uint8_t to, float factor) {
  const float value =
      static_cast<float>(from) + factor * static_cast<float>(static_cast<int>(to) - int{from});
  if (value <= 0) return 0;
  return value >= 255 ? 255 : static_cast<std::uint8_t>(value);
}

// Blends with degenerate(pixel number, channel).
template <class Degenerate>
void enhance(Image& picture, double factor, Degenerate degenerate) {
  const auto share = static_cast<float>(factor);
  if (share == 1) return;
  const std::int64_t pixels = picture.height * picture.width;
  for (std::int64_t p = 0; p < pixels; ++p) {
    for (std::int64_t c = 0; c < picture.channels; ++c) {
      std::uint8_t& value = picture.pixels[static_cast<std::size_t>(p * picture.channels + c)];
      value = blend(degenerate(p, c), value, share);
    }
  }
}

// Values of four neighbours and how far behind the second one a place is; Pillow's Geometry.c.
double cubic_between(const std::array<double, 4>& v, double d) {
  const double p2 = -v[0] + v[2];
  const double p3 = 2 * (v[0] - v[1]) + v[2] - v[3];
  const double p4 = -v[0] + v[1] - v[2] + v[3];
  return v[1] + d * (p2 + d * (p3 + d * p4));
}

// What a place of the picture is worth; edges are repeated.
class Sampler {
 public:
  explicit Sampler(const Image& picture) : p_(picture) {}

  std::uint8_t nearest(double x, double y, std::int64_t c) const {
    return at(whole(x), whole(y), c);
  }
  std::uint8_t bilinear(double x, double y, std::int64_t c) const {
    const std::int64_t left = whole(x - 0.5), top = whole(y - 0.5);
    const double right = x - 0.5 - static_cast<double>(left);
    const double down = y - 0.5 - static_cast<double>(top);
    const auto along = [&](std::int64_t row) {
      const double a = at(left, row, c), b = at(left + 1, row, c);
      return a + (b - a) * right;
    };
    const double above = along(top), below = along(top + 1);
    return static_cast<std::uint8_t>(above + (below - above) * down);
  }
  std::uint8_t bicubic(double x, double y, std::int64_t c) const {
    const std::int64_t left = whole(x - 0.5), top = whole(y - 0.5);
    const double right = x - 0.5 - static_cast<double>(left);
    const double down = y - 0.5 - static_cast<double>(top);
    std::array<double, 4> rows{};
    for (std::int64_t i = 0; i < 4; ++i) {
      std::array<double, 4> row{};
      for (std::int64_t j = 0; j < 4; ++j)
        row[static_cast<std::size_t>(j)] = at(left - 1 + j, top - 1 + i, c);
      rows[static_cast<std::size_t>(i)] = cubic_between(row, right);
    }
    const double value = cubic_between(rows, down);
    if (value <= 0) return 0;
    return value >= 255 ? 255 : static_cast<std::uint8_t>(value);
  }

 private:
  static std::int64_t whole(double x) { return static_cast<std::int64_t>(std::floor(x)); }
  std::uint8_t at(std::int64_t x, std::int64_t y, std::int64_t c) const {
    x = std::clamp<std::int64_t>(x, 0, p_.width - 1);
    y = std::clamp<std::int64_t>(y, 0, p_.height - 1);
    return p_.pixels[static_cast<std::size_t>((y * p_.width + x) * p_.channels + c)];
  }
  const Image& p_;
};

}  // namespace

void autocontrast(Image& picture) {
  look_up_by_channel(picture, [](const Histogram& counts) {
    int low = 0, high = 255;
    while (low < 255 && counts[static_cast<std::size_t>(low)] == 0) ++low;
    while (high > 0 && counts[static_cast<std::size_t>(high)] == 0) --high;
    if (high <= low) return table_of([](int v) { return v; });
    const double scale = 255.0 / (high - low);
    const double offset = -low * scale;
    return table_of([=](int v) { return static_cast<std::int64_t>(v * scale + offset); });
  });
}

void equalize(Image& picture) {
  look_up_by_channel(picture, [](const Histogram& counts) {
    std::int64_t pixels = 0, last = 0, used = 0;
    for (const std::int64_t count : counts) {
      pixels += count;
      if (count == 0) continue;
      last = count;
      ++used;
    }
    const std::int64_t step = (pixels - last) / 255;
    if (used <= 1 || step == 0) return table_of([](int v) { return v; });
    std::int64_t below = step / 2;
    return table_of([&](int v) {
      const std::int64_t value = below / step;
      below += counts[static_cast<std::size_t>(v)];
      return value;
    });
  });
}

void invert(Image& picture) {
  look_up(picture, table_of([](int v) { return 255 - v; }));
}

void solarize(Image& picture, int threshold) {
  look_up(picture, table_of([=](int v) { return v < threshold ? v : 255 - v; }));
}

void solarize_add(Image& picture, int add) {
  look_up(picture, table_of([=](int v) { return v < 128 ? v + add : v; }));
}

void posterize(Image& picture, int bits) {
  const int mask = bits >= 8 ? 255 : 255 & ~((1 << (8 - bits)) - 1);
  look_up(picture, table_of([=](int v) { return v & mask; }));
}

void enhance_colour(Image& picture, double factor) {
  // The channels of a pixel are changed one after another, so its grey is taken before.
  std::vector<std::uint8_t> grey;
  for (std::size_t i = 0; i < picture.pixels.size();
       i += static_cast<std::size_t>(picture.channels))
    grey.push_back(grey_of(picture.pixels.data() + i, picture.channels));
  if (picture.channels != 3) return;
  enhance(picture, factor,
          [&](std::int64_t p, std::int64_t) { return grey[static_cast<std::size_t>(p)]; });
}

void enhance_contrast(Image& picture, double factor) {
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < picture.pixels.size();
       i += static_cast<std::size_t>(picture.channels))
    sum += grey_of(picture.pixels.data() + i, picture.channels);
  const double mean =
      static_cast<double>(sum) / static_cast<double>(picture.height * picture.width);
  const auto rounded = static_cast<std::uint8_t>(mean + 0.5);
  enhance(picture, factor, [=](std::int64_t, std::int64_t) { return rounded; });
}

void enhance_brightness(Image& picture, double factor) {
  enhance(picture, factor, [](std::int64_t, std::int64_t) { return std::uint8_t{0}; });
}

void enhance_sharpness(Image& picture, double factor) {
  const std::vector<std::uint8_t> old = picture.pixels;
  const std::int64_t h = picture.height, w = picture.width, channels = picture.channels;
  enhance(picture, factor, [&](std::int64_t p, std::int64_t c) {
    const std::int64_t y = p / w, x = p % w;
    const auto at = [&](std::int64_t row, std::int64_t column) {
      return int{old[static_cast<std::size_t>((row * w + column) * channels + c)]};
    };
    if (y == 0 || x == 0 || y == h - 1 || x == w - 1) return static_cast<std::uint8_t>(at(y, x));
    int sum = 4 * at(y, x);  // 5 / 13 of itself, 1 / 13 of each neighbour
    for (std::int64_t i = -1; i <= 1; ++i) {
      for (std::int64_t j = -1; j <= 1; ++j) sum += at(y + i, x + j);
    }
    return static_cast<std::uint8_t>((2 * sum + 13) / 26);
  });
}

void affine(Image& picture, const std::array<double, 6>& m, Resampling how,
            std::span<const std::uint8_t> fill) {
  const Image old = picture;
  const Sampler sampler(old);
  const auto wide = static_cast<double>(old.width), tall = static_cast<double>(old.height);
  std::uint8_t* out = picture.pixels.data();
  for (std::int64_t row = 0; row < old.height; ++row) {
    for (std::int64_t column = 0; column < old.width; ++column) {
      const double from_x = static_cast<double>(column) + 0.5,
                   from_y = static_cast<double>(row) + 0.5;
      const double x = m[0] * from_x + m[1] * from_y + m[2];
      const double y = m[3] * from_x + m[4] * from_y + m[5];
      const bool inside = x >= 0 && x < wide && y >= 0 && y < tall;
      for (std::int64_t c = 0; c < old.channels; ++c, ++out) {
        if (!inside) {
          *out = fill[static_cast<std::size_t>(c)];
        } else if (how == Resampling::kBicubic) {
          *out = sampler.bicubic(x, y, c);
        } else {
          *out =
              how == Resampling::kBilinear ? sampler.bilinear(x, y, c) : sampler.nearest(x, y, c);
        }
      }
    }
  }
}

void rotate(Image& picture, double degrees, Resampling how, std::span<const std::uint8_t> fill) {
  if (degrees == 0) return;
  const double angle = -degrees * std::numbers::pi / 180;
  // Pillow rounds so that quarter turns are exact.
  const auto rounded = [](double v) { return std::round(v * 1e15) / 1e15; };
  const double cosine = rounded(std::cos(angle)), sine = rounded(std::sin(angle));
  const double x = static_cast<double>(picture.width) / 2,
               y = static_cast<double>(picture.height) / 2;
  const double left = cosine * -x + sine * -y + x;
  const double top = -sine * -x + cosine * -y + y;
  affine(picture, {cosine, sine, left, -sine, cosine, top}, how, fill);
}

}  // namespace fovea::data
