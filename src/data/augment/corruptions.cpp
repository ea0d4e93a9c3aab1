#include "data/augment/corruptions.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <vector>

#include "base/error.h"

namespace fovea::data {
namespace {

constexpr std::array<Corruption, 10> kAll = {
    Corruption::kGaussian,   Corruption::kSpeckle,   Corruption::kShot,
    Corruption::kSaltPepper, Corruption::kImpulse,   Corruption::kGaussianBlur,
    Corruption::kMotionBlur, Corruption::kOcclusion, Corruption::kContrast,
    Corruption::kBrightness,
};
constexpr std::array<std::string_view, 10> kNames = {
    "gaussian",      "speckle",     "shot",      "salt_pepper", "impulse",
    "gaussian_blur", "motion_blur", "occlusion", "contrast",    "brightness",
};

float clip(double value) { return static_cast<float>(std::clamp(value, 0.0, 1.0)); }

void check_field(std::string_view name, std::size_t have, std::int64_t expected) {
  FOVEA_CHECK(static_cast<std::int64_t>(have) == expected, ShapeError,
              fmt::format("{}: random field has {} values; expected {}", name, have, expected));
}

// Number of events for a mean and a uniform, by walking up the distribution function.
double poisson(double mean, double u) {
  // exp(-mean) underflows for levels below 0.04; there the terms are followed by their logarithm.
  const bool tiny = mean > 700.0;
  double log_p = -mean;
  double p = std::exp(-mean);
  double cumulative = p;
  double k = 0.0;
  while (u >= cumulative) {
    k += 1.0;
    if (tiny) {
      log_p += std::log(mean / k);
      p = std::exp(log_p);
    } else {
      p *= mean / k;
    }
    // Beyond the mean the terms only fall: once they vanish, the sum stays below u for ever.
    if (k > mean && cumulative + p == cumulative) break;
    cumulative += p;
  }
  return k;
}

// The value of a plane at a place that may lie outside: the nearest edge pixel.
float replicated(const float* plane, std::int64_t height, std::int64_t width, std::int64_t y,
                 std::int64_t x) {
  y = std::clamp<std::int64_t>(y, 0, height - 1);
  x = std::clamp<std::int64_t>(x, 0, width - 1);
  return plane[y * width + x];
}

}  // namespace

std::span<const Corruption> all_corruptions() { return kAll; }

std::string_view name_of(Corruption type) { return kNames[static_cast<std::size_t>(type)]; }

Corruption corruption_from_name(std::string_view name) {
  return kAll[find_noise_type("corruption", name, kNames)];
}

void gaussian(Planes x, double s, std::span<const float> z) {
  check_field("gaussian", z.size(), x.size());
  for (std::size_t i = 0; i < z.size(); ++i) x.data[i] = clip(double{x.data[i]} + s * double{z[i]});
}

void speckle(Planes x, double s, std::span<const float> z) {
  check_field("speckle", z.size(), x.size());
  for (std::size_t i = 0; i < z.size(); ++i) {
    const double value = x.data[i];
    x.data[i] = clip(value + s * value * double{z[i]});
  }
}

void shot(Planes x, double s, std::span<const float> u) {
  check_field("shot", u.size(), x.size());
  const double c = 1.0 / (s * s);
  for (std::size_t i = 0; i < u.size(); ++i) {
    x.data[i] = clip(poisson(c * double{x.data[i]}, double{u[i]}) / c);
  }
}

void salt_pepper(Planes x, double s, std::span<const float> u_pixel) {
  check_field("salt_pepper", u_pixel.size(), x.plane());
  for (std::size_t i = 0; i < u_pixel.size(); ++i) {
    const double u = u_pixel[i];
    if (u >= s) continue;
    for (std::int64_t c = 0; c < x.channels; ++c) x.channel(c)[i] = u < s / 2 ? 0.0f : 1.0f;
  }
}

void impulse(Planes x, double s, std::span<const float> u) {
  check_field("impulse", u.size(), x.size());
  for (std::size_t i = 0; i < u.size(); ++i) {
    if (double{u[i]} < s) x.data[i] = double{u[i]} < s / 2 ? 0.0f : 1.0f;
  }
}

void gaussian_blur(Planes x, double s) {
  const double sigma = 4.0 * s;
  const auto radius = static_cast<std::int64_t>(std::floor(4.0 * sigma + 0.5));
  std::vector<double> kernel(static_cast<std::size_t>(2 * radius + 1));
  double total = 0.0;
  for (std::int64_t t = -radius; t <= radius; ++t) {
    const double distance = static_cast<double>(t);
    const double weight = std::exp(-distance * distance / (2.0 * sigma * sigma));
    kernel[static_cast<std::size_t>(t + radius)] = weight;
    total += weight;
  }
  for (double& weight : kernel) weight /= total;
  // Both passes keep float64, so that only the result is rounded.
  std::vector<double> rows(static_cast<std::size_t>(x.plane()));
  for (std::int64_t c = 0; c < x.channels; ++c) {
    float* plane = x.channel(c);
    for (std::int64_t i = 0; i < x.height; ++i) {
      for (std::int64_t j = 0; j < x.width; ++j) {
        double sum = 0.0;
        for (std::int64_t t = -radius; t <= radius; ++t) {
          const auto from = std::clamp<std::int64_t>(j + t, 0, x.width - 1);
          sum += kernel[static_cast<std::size_t>(t + radius)] * double{plane[i * x.width + from]};
        }
        rows[static_cast<std::size_t>(i * x.width + j)] = sum;
      }
    }
    for (std::int64_t i = 0; i < x.height; ++i) {
      for (std::int64_t j = 0; j < x.width; ++j) {
        double sum = 0.0;
        for (std::int64_t t = -radius; t <= radius; ++t) {
          const auto from = std::clamp<std::int64_t>(i + t, 0, x.height - 1);
          sum += kernel[static_cast<std::size_t>(t + radius)] *
                 rows[static_cast<std::size_t>(from * x.width + j)];
        }
        plane[i * x.width + j] = clip(sum);
      }
    }
  }
}

void motion_blur(Planes x, double s, double u) {
  constexpr std::array<std::array<std::int64_t, 2>, 4> kDirections = {
      {{0, 1}, {-1, 1}, {1, 0}, {1, 1}}};  // (dy, dx): horizontal, rising, vertical, falling
  const auto direction = kDirections[static_cast<std::size_t>(std::min(std::floor(4.0 * u), 3.0))];
  const auto half = static_cast<std::int64_t>(std::floor(10.0 * s + 0.5));
  const double samples = static_cast<double>(2 * half + 1);
  std::vector<float> result(static_cast<std::size_t>(x.plane()));
  for (std::int64_t c = 0; c < x.channels; ++c) {
    float* plane = x.channel(c);
    for (std::int64_t i = 0; i < x.height; ++i) {
      for (std::int64_t j = 0; j < x.width; ++j) {
        double sum = 0.0;
        for (std::int64_t t = -half; t <= half; ++t) {
          sum += double{
              replicated(plane, x.height, x.width, i + t * direction[0], j + t * direction[1])};
        }
        result[static_cast<std::size_t>(i * x.width + j)] = clip(sum / samples);
      }
    }
    std::copy(result.begin(), result.end(), plane);
  }
}

void occlusion(Planes x, double s, double u_top, double u_left, double fill) {
  const auto side = static_cast<std::int64_t>(std::floor(
      std::sqrt(s * static_cast<double>(x.height) * static_cast<double>(x.width)) + 0.5));
  const std::int64_t tall = std::min(side, x.height);
  const std::int64_t wide = std::min(side, x.width);
  const auto place = [](double u, std::int64_t free) {
    return std::min(static_cast<std::int64_t>(u * static_cast<double>(free + 1)), free);
  };
  const std::int64_t top = place(u_top, x.height - tall);
  const std::int64_t left = place(u_left, x.width - wide);
  for (std::int64_t c = 0; c < x.channels; ++c) {
    for (std::int64_t i = top; i < top + tall; ++i) {
      std::fill_n(x.channel(c) + i * x.width + left, wide, static_cast<float>(fill));
    }
  }
}

void contrast(Planes x, double s) {
  for (std::int64_t c = 0; c < x.channels; ++c) {
    const std::span<float> plane(x.channel(c), static_cast<std::size_t>(x.plane()));
    double mean = 0.0;
    for (const float value : plane) mean += double{value};
    mean /= static_cast<double>(x.plane());
    for (float& value : plane) value = clip(mean + (1.0 - s) * (double{value} - mean));
  }
}

void brightness(Planes x, double s) {
  for (float& value : x.values()) value = clip(double{value} + s);
}

void corrupt(Planes x, CorruptionLevel what, const RandomStream& stream, double fill) {
  const double s = what.level;
  FOVEA_CHECK(s > 0.0 && s < 1.0, ConfigError,
              fmt::format("{}: level {} is outside (0, 1)", name_of(what.type), s));
  const RandomStream draws = stream.fork(name_of(what.type)).fork(std::bit_cast<std::uint64_t>(s));
  const auto normals = [&] {
    std::vector<float> z(static_cast<std::size_t>(x.size()));
    for (std::size_t i = 0; i < z.size(); ++i) z[i] = static_cast<float>(draws.normal(i));
    return z;
  };
  const auto uniforms = [&](std::int64_t count) {
    std::vector<float> u(static_cast<std::size_t>(count));
    for (std::size_t i = 0; i < u.size(); ++i) u[i] = draws.uniform(i);
    return u;
  };
  switch (what.type) {
    case Corruption::kGaussian:
      return gaussian(x, s, normals());
    case Corruption::kSpeckle:
      return speckle(x, s, normals());
    case Corruption::kShot:
      return shot(x, s, uniforms(x.size()));
    case Corruption::kSaltPepper:
      return salt_pepper(x, s, uniforms(x.plane()));
    case Corruption::kImpulse:
      return impulse(x, s, uniforms(x.size()));
    case Corruption::kGaussianBlur:
      return gaussian_blur(x, s);
    case Corruption::kMotionBlur:
      return motion_blur(x, s, double{draws.uniform(0)});
    case Corruption::kOcclusion:
      return occlusion(x, s, double{draws.uniform(0)}, double{draws.uniform(1)}, fill);
    case Corruption::kContrast:
      return contrast(x, s);
    case Corruption::kBrightness:
      return brightness(x, s);
  }
}

void corrupt(Planes x, const NoiseLevel& what, const RandomStream& stream, double fill) {
  corrupt(x, CorruptionLevel{corruption_from_name(what.type), what.level}, stream, fill);
}

const NoiseKind& image_noise() {
  static const NoiseKind kind{
      {kNames.begin(), kNames.end()},
      {"gaussian", "salt_pepper", "speckle", "shot", "gaussian_blur", "occlusion"},
      "; what a level means is said at each type",
      true};
  return kind;
}

}  // namespace fovea::data
