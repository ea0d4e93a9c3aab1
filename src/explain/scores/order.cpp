#include "explain/scores/order.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/error.h"

namespace fovea::explain {
namespace {

template <class Before>
std::vector<std::int64_t> ordered(std::span<const double> relevance, Before before) {
  for (std::size_t i = 0; i < relevance.size(); ++i) {
    FOVEA_CHECK(
        !std::isnan(relevance[i]), NumericError,
        fmt::format("relevance of unit {} is NaN; expected numbers that can be ordered", i));
  }
  std::vector<std::int64_t> order(relevance.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, [&](std::int64_t a, std::int64_t b) {
    return before(relevance[static_cast<std::size_t>(a)], relevance[static_cast<std::size_t>(b)]);
  });
  return order;
}

}  // namespace

std::vector<std::int64_t> descending(std::span<const double> relevance) {
  return ordered(relevance, std::greater<>());
}

std::vector<std::int64_t> ascending(std::span<const double> relevance) {
  return ordered(relevance, std::less<>());
}

Replacement::Replacement(const Units& units, const Image& image)
    : pixels_(static_cast<std::size_t>(units.count())),
      size_(static_cast<std::size_t>(image.pixels())) {
  FOVEA_CHECK(units.height == image.height && units.width == image.width, ShapeError,
              fmt::format("units: of an image of {} x {} pixels; the image has {} x {}",
                          units.height, units.width, image.height, image.width));
  const std::vector<std::int64_t> unit = units.of_pixels();
  for (std::size_t p = 0; p < unit.size(); ++p)
    pixels_[static_cast<std::size_t>(unit[p])].push_back(p);
}

void Replacement::operator()(Image& image, const Image& other,
                             std::span<const std::int64_t> units) const {
  for (const std::int64_t unit : units) {
    for (const std::size_t pixel : pixels_[static_cast<std::size_t>(unit)]) {
      for (std::size_t at = pixel; at < image.values.size(); at += size_)
        image.values[at] = other.values[at];
    }
  }
}

std::vector<std::uint8_t> Replacement::mask(std::span<const std::int64_t> units) const {
  std::vector<std::uint8_t> result(size_, 0);
  for (const std::int64_t unit : units) {
    for (const std::size_t pixel : pixels_[static_cast<std::size_t>(unit)]) result[pixel] = 1;
  }
  return result;
}

}  // namespace fovea::explain
