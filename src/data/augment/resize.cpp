#include "data/augment/resize.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "base/error.h"

namespace fovea::data {
namespace {

// The inputs that one output of an axis reads, beginning with `first`, and their weights.
struct Window {
  std::int64_t first = 0;
  std::vector<double> weights;
};

double triangle(double x) { return std::max(0.0, 1.0 - std::abs(x)); }

// Keys' cubic convolution.
double cubic(double x, double a) {
  x = std::abs(x);
  if (x < 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  if (x < 2) return (((x - 5) * x + 8) * x - 4) * a;
  return 0;
}

// The same without weights. Pillow adds up the places, which decides where one falls between two
// inputs.
std::vector<Window> nearest(std::int64_t in, std::int64_t out, std::int64_t begin,
                            std::int64_t count) {
  const double scale = static_cast<double>(in) / static_cast<double>(out);
  std::vector<Window> result;
  double place = scale * 0.5;
  for (std::int64_t i = 0; i < begin + count; ++i) {
    if (i >= begin) result.push_back({std::min(static_cast<std::int64_t>(place), in - 1), {1.0}});
    place += scale;
  }
  return result;
}

// floor(i in / out), as PyTorch's and OpenCV's "nearest" have it.
std::vector<Window> nearest_corner(std::int64_t in, std::int64_t out, std::int64_t begin,
                                   std::int64_t count) {
  std::vector<Window> result;
  for (std::int64_t i = begin; i < begin + count; ++i) result.push_back({i * in / out, {1.0}});
  return result;
}

// Outputs [begin, begin + count) of an axis that is resized from `in` to `out`.
std::vector<Window> windows(std::int64_t in, std::int64_t out, std::int64_t begin,
                            std::int64_t count, const ResizeOptions& o) {
  if (o.how == Resampling::kNearest) return nearest(in, out, begin, count);
  if (o.how == Resampling::kNearestCorner) return nearest_corner(in, out, begin, count);
  const bool is_cubic = o.how == Resampling::kBicubic;
  const double scale = static_cast<double>(in) / static_cast<double>(out);
  const double stretch = o.antialias ? std::max(1.0, scale) : 1.0;
  const double support = (is_cubic ? 2.0 : 1.0) * stretch;
  const double inverse = 1.0 / stretch;
  std::vector<Window> result;
  for (std::int64_t i = begin; i < begin + count; ++i) {
    const double centre = (static_cast<double>(i) + 0.5) * scale;
    Window window;
    const auto from = static_cast<std::int64_t>(std::floor(centre - support + 0.5));
    const auto to = static_cast<std::int64_t>(std::floor(centre + support + 0.5));
    window.first = std::clamp<std::int64_t>(from, 0, in - 1);
    window.weights.assign(
        static_cast<std::size_t>(std::clamp<std::int64_t>(to, window.first + 1, in) - window.first),
        0.0);
    double total = 0;
    for (std::int64_t k = from; k < to; ++k) {
      const double place = (static_cast<double>(k) - centre + 0.5) * inverse;
      const double weight = is_cubic ? cubic(place, o.antialias ? -0.5 : -0.75) : triangle(place);
      // Outside the picture: PIL leaves it out, PyTorch without antialiasing repeats the edge.
      const bool outside = k < 0 || k >= in;
      if (outside && o.antialias) continue;
      const std::int64_t at = std::clamp<std::int64_t>(k, 0, in - 1) - window.first;
      window.weights[static_cast<std::size_t>(at)] += weight;
      total += weight;
    }
    for (double& weight : window.weights) weight /= total;
    result.push_back(std::move(window));
  }
  return result;
}

// Sums in whole numbers, rounded to 8 bits after each axis: Pillow's Resample.c.
struct PillowSums {
  using Weight = std::int32_t;
  using Between = std::uint8_t;  // after the first axis
  using Sum = std::int32_t;      // 255 times weights that add to 1.3 x 2^22 at most
  static constexpr int kBits = 22;
  static Weight weight(double w) {
    const double scaled = w * (1 << kBits);
    return static_cast<Weight>(scaled < 0 ? scaled - 0.5 : scaled + 0.5);
  }
  static std::uint8_t between(Sum sum) {
    return static_cast<std::uint8_t>(
        std::clamp<Sum>((sum + (Sum{1} << (kBits - 1))) >> kBits, 0, 255));
  }
  static std::uint8_t last(Sum sum) { return between(sum); }
};

// Sums in floating point, rounded once, to even as PyTorch does.
template <class T>
struct FloatSums {
  using Weight = float;
  using Between = float;
  using Sum = float;
  static Weight weight(double w) { return static_cast<float>(w); }
  static float between(Sum sum) { return sum; }
  static T last(Sum sum) {
    return static_cast<T>(
        std::clamp(std::nearbyint(sum), 0.0f, static_cast<float>(std::numeric_limits<T>::max())));
  }
};

// The same, not rounded.
struct PlaneSums : FloatSums<float> {
  static float last(Sum sum) { return sum; }
};

template <class Sums>
struct Axis {
  explicit Axis(const std::vector<Window>& all) {
    for (const Window& window : all) {
      first.push_back(window.first);
      weights.emplace_back();
      for (const double w : window.weights) weights.back().push_back(Sums::weight(w));
    }
  }
  std::int64_t size() const { return static_cast<std::int64_t>(first.size()); }
  /// One past the last input that is read.
  std::int64_t end() const {
    std::int64_t last = 0;
    for (std::size_t i = 0; i < first.size(); ++i) {
      last = std::max(last, first[i] + static_cast<std::int64_t>(weights[i].size()));
    }
    return last;
  }
  std::vector<std::int64_t> first;
  std::vector<std::vector<typename Sums::Weight>> weights;
};

template <class Sums, class T>
std::vector<T> resized(const std::vector<T>& values, const Image& image,
                       const std::vector<Window>& rows, const std::vector<Window>& columns) {
  const Axis<Sums> down(rows), across(columns);
  const std::int64_t c = image.channels;
  const std::int64_t row_values = across.size() * c;
  const std::int64_t top = *std::min_element(down.first.begin(), down.first.end());
  std::vector<typename Sums::Between> between(
      static_cast<std::size_t>((down.end() - top) * row_values));
  auto* out = between.data();
  for (std::int64_t y = top; y < down.end(); ++y) {
    for (std::size_t x = 0; x < across.first.size(); ++x) {
      const T* from = values.data() + (y * image.width + across.first[x]) * c;
      for (std::int64_t k = 0; k < c; ++k) {
        typename Sums::Sum sum = 0;
        const T* next = from + k;
        for (const auto weight : across.weights[x]) {
          sum += weight * static_cast<typename Sums::Sum>(*next);
          next += c;
        }
        *out++ = Sums::between(sum);
      }
    }
  }
  std::vector<T> result(static_cast<std::size_t>(down.size() * row_values));
  std::vector<typename Sums::Sum> sums(static_cast<std::size_t>(row_values));
  for (std::size_t y = 0; y < down.first.size(); ++y) {
    std::fill(sums.begin(), sums.end(), typename Sums::Sum{0});
    const auto* row = between.data() + (down.first[y] - top) * row_values;
    for (const auto weight : down.weights[y]) {
      for (std::size_t x = 0; x < sums.size(); ++x) {
        sums[x] += weight * static_cast<typename Sums::Sum>(row[x]);
      }
      row += row_values;
    }
    std::transform(sums.begin(), sums.end(),
                   result.begin() + static_cast<std::int64_t>(y) * row_values, Sums::last);
  }
  return result;
}

// A box of the picture that resizing to height x width would give.
Image resize_part(const Image& image, std::int64_t height, std::int64_t width, Box box,
                  const ResizeOptions& options) {
  FOVEA_CHECK(height >= 1 && width >= 1 && image.height >= 1 && image.width >= 1, ShapeError,
              fmt::format("resize: {} x {} to {} x {}; every size must be at least 1", image.height,
                          image.width, height, width));
  if (image.height == height && image.width == width) return crop(image, box);
  const auto rows = windows(image.height, height, box.top, box.height, options);
  const auto columns = windows(image.width, width, box.left, box.width, options);
  Image result{box.height, box.width, image.channels, {}};
  const bool nearest =
      options.how == Resampling::kNearest || options.how == Resampling::kNearestCorner;
  const bool as_pillow = nearest || (options.antialias && !options.round_once);
  if (!image.deep.empty()) {
    result.deep = resized<FloatSums<std::uint16_t>>(image.deep, image, rows, columns);
  } else if (as_pillow) {
    result.pixels = resized<PillowSums>(image.pixels, image, rows, columns);
  } else {
    result.pixels = resized<FloatSums<std::uint8_t>>(image.pixels, image, rows, columns);
  }
  return result;
}

// How a picture becomes height x width: it is resized to tall x wide, of which the box is kept.
struct Fitting {
  std::int64_t tall = 0, wide = 0;
  Box box;
};

Fitting fitting(std::int64_t from_height, std::int64_t from_width, std::int64_t height,
                std::int64_t width, const FitOptions& options) {
  const auto grown = [&](std::int64_t side) {
    return static_cast<std::int64_t>(std::floor(static_cast<double>(side) / options.crop_pct));
  };
  // Before the centre is cut: one side as wanted, the other by the picture's own ratio, rounded
  // down as torchvision does.
  if (!options.keep_ratio) return {height, width, {0, 0, height, width}};
  std::int64_t tall = grown(height);
  std::int64_t wide = grown(width);
  if (from_height * wide <= from_width * tall) {
    wide = tall * from_width / from_height;
  } else {
    tall = wide * from_height / from_width;
  }
  // Halves go to the even neighbour, as Python rounds.
  const auto margin = [](std::int64_t whole, std::int64_t kept) {
    return static_cast<std::int64_t>(std::nearbyint(0.5 * static_cast<double>(whole - kept)));
  };
  return {tall, wide, {margin(tall, height), margin(wide, width), height, width}};
}

}  // namespace

Image resize(const Image& image, std::int64_t height, std::int64_t width,
             const ResizeOptions& options) {
  return resize_part(image, height, width, {0, 0, height, width}, options);
}

void resize(Planes from, Planes to) {
  FOVEA_CHECK(from.channels == to.channels && from.plane() > 0 && to.plane() > 0, ShapeError,
              fmt::format("resize: {} channels of {} x {} to {} of {} x {}", from.channels,
                          from.height, from.width, to.channels, to.height, to.width));
  const auto rows = windows(from.height, to.height, 0, to.height, {});
  const auto columns = windows(from.width, to.width, 0, to.width, {});
  for (std::int64_t c = 0; c < from.channels; ++c) {
    const std::vector<float> plane(from.channel(c), from.channel(c) + from.plane());
    const Image size{from.height, from.width, 1, {}};
    const std::vector<float> sized = resized<PlaneSums>(plane, size, rows, columns);
    std::copy(sized.begin(), sized.end(), to.channel(c));
  }
}

Image fit(const Image& image, std::int64_t height, std::int64_t width, const FitOptions& options) {
  const Fitting how = fitting(image.height, image.width, height, width, options);
  return resize_part(image, how.tall, how.wide, how.box, options.resize);
}

Box fitted_part(std::int64_t from_height, std::int64_t from_width, std::int64_t height,
                std::int64_t width, const FitOptions& options) {
  const Fitting how = fitting(from_height, from_width, height, width, options);
  const auto scaled = [](std::int64_t pixels, std::int64_t from, std::int64_t to) {
    return static_cast<std::int64_t>(
        std::nearbyint(static_cast<double>(pixels * from) / static_cast<double>(to)));
  };
  return {scaled(how.box.top, from_height, how.tall), scaled(how.box.left, from_width, how.wide),
          scaled(how.box.height, from_height, how.tall),
          scaled(how.box.width, from_width, how.wide)};
}

}  // namespace fovea::data
