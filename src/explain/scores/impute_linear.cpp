#include "explain/scores/impute_linear.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "base/error.h"

namespace fovea::explain {
namespace {

using Values = std::vector<double>;

// Channels are solved side by side, as many as fill registers; those that are not there are 0.
constexpr std::size_t kLanes = 4;
using Lanes = std::array<double, kLanes>;
using LaneValues = std::vector<Lanes>;

// The system A u = b of the removed pixels; A is symmetric and, where a pixel is kept, positive
// definite. Rows hold at most eight neighbours.
struct NeighbourSystem {
  std::vector<std::size_t> pixels;  // of the unknowns
  Values diagonal;
  std::vector<std::size_t> begin;   // of the row in the two lists below; one more than rows
  std::vector<std::size_t> column;  // unknowns
  Values weight;
  std::vector<std::size_t> known_begin, known;  // kept pixels beside the unknown
  Values known_weight;

  std::size_t size() const { return pixels.size(); }
  LaneValues times(const LaneValues& u) const {
    LaneValues result(size());
    for (std::size_t i = 0; i < size(); ++i) {
      Lanes sum;
      for (std::size_t c = 0; c < kLanes; ++c) sum[c] = diagonal[i] * u[i][c];
      for (std::size_t k = begin[i]; k < begin[i + 1]; ++k) {
        for (std::size_t c = 0; c < kLanes; ++c) sum[c] -= weight[k] * u[column[k]][c];
      }
      result[i] = sum;
    }
    return result;
  }
};

NeighbourSystem system_of(std::span<const std::uint8_t> removed, std::int64_t height,
                          std::int64_t width) {
  NeighbourSystem s;
  std::vector<std::size_t> unknown(removed.size(), 0);
  for (std::size_t p = 0; p < removed.size(); ++p) {
    if (removed[p] == 0) continue;
    unknown[p] = s.pixels.size();
    s.pixels.push_back(p);
  }
  s.begin.push_back(0);
  s.known_begin.push_back(0);
  for (const std::size_t p : s.pixels) {
    const auto y = static_cast<std::int64_t>(p) / width, x = static_cast<std::int64_t>(p) % width;
    double sum = 0;
    for (std::int64_t dy = -1; dy <= 1; ++dy) {
      for (std::int64_t dx = -1; dx <= 1; ++dx) {
        const bool inside = y + dy >= 0 && y + dy < height && x + dx >= 0 && x + dx < width;
        if (!inside || (dy == 0 && dx == 0)) continue;
        const double w = dy == 0 || dx == 0 ? 1.0 / 6 : 1.0 / 12;
        const auto other = static_cast<std::size_t>((y + dy) * width + x + dx);
        sum += w;
        if (removed[other] != 0) {
          s.column.push_back(unknown[other]);
          s.weight.push_back(w);
        } else {
          s.known.push_back(other);
          s.known_weight.push_back(w);
        }
      }
    }
    s.diagonal.push_back(sum);
    s.begin.push_back(s.column.size());
    s.known_begin.push_back(s.known.size());
  }
  return s;
}

Lanes product(const LaneValues& a, const LaneValues& b) {
  Lanes sum{};
  for (std::size_t i = 0; i < a.size(); ++i) {
    for (std::size_t c = 0; c < kLanes; ++c) sum[c] += a[i][c] * b[i][c];
  }
  return sum;
}

// Conjugate gradients with the diagonal as preconditioner, to 1e-12 of the right side. A channel
// that has come there stays as it is while others go on.
LaneValues solved(const NeighbourSystem& s, const LaneValues& right) {
  LaneValues u(s.size(), Lanes{}), residual = right, direction(s.size(), Lanes{}), scaled(s.size());
  const Lanes size = product(right, right);
  Lanes before{};
  // In exact arithmetic as many steps as unknowns are enough; rounding may ask for more.
  for (std::size_t step = 0; step < 2 * s.size() + 20; ++step) {
    const Lanes left = product(residual, residual);
    std::array<bool, kLanes> moves;
    for (std::size_t c = 0; c < kLanes; ++c) moves[c] = left[c] > 1e-24 * size[c];
    if (std::ranges::none_of(moves, [](bool one) { return one; })) break;
    for (std::size_t i = 0; i < s.size(); ++i) {
      for (std::size_t c = 0; c < kLanes; ++c) scaled[i][c] = residual[i][c] / s.diagonal[i];
    }
    const Lanes now = product(residual, scaled);
    Lanes back{};
    for (std::size_t c = 0; c < kLanes; ++c)
      back[c] = step > 0 && moves[c] ? now[c] / before[c] : 0;
    for (std::size_t i = 0; i < s.size(); ++i) {
      for (std::size_t c = 0; c < kLanes; ++c)
        direction[i][c] = scaled[i][c] + back[c] * direction[i][c];
    }
    const LaneValues image = s.times(direction);
    const Lanes against = product(direction, image);
    Lanes along{};
    for (std::size_t c = 0; c < kLanes; ++c) along[c] = moves[c] ? now[c] / against[c] : 0;
    for (std::size_t i = 0; i < s.size(); ++i) {
      for (std::size_t c = 0; c < kLanes; ++c) {
        u[i][c] += along[c] * direction[i][c];
        residual[i][c] -= along[c] * image[i][c];
      }
    }
    before = now;
  }
  return u;
}

// From where kept pixels count: their mean, so that a constant image has a right side of 0 and
// comes back exactly.
double middle_of(const NeighbourSystem& s, std::span<const float> channel) {
  const float first = channel[s.known.front()];
  if (std::ranges::all_of(s.known, [&](std::size_t p) { return channel[p] == first; }))
    return first;
  double sum = 0;
  for (const std::size_t p : s.known) sum += channel[p];
  return sum / static_cast<double>(s.known.size());
}

// Up to kLanes channels.
void impute_channels(const NeighbourSystem& s, std::span<const std::span<float>> channels) {
  LaneValues right(s.size(), Lanes{});
  Lanes middle{};
  for (std::size_t c = 0; c < channels.size(); ++c) {
    middle[c] = middle_of(s, channels[c]);
    for (std::size_t i = 0; i < s.size(); ++i) {
      for (std::size_t k = s.known_begin[i]; k < s.known_begin[i + 1]; ++k)
        right[i][c] += s.known_weight[k] * (channels[c][s.known[k]] - middle[c]);
    }
  }
  const LaneValues u = solved(s, right);
  for (std::size_t c = 0; c < channels.size(); ++c) {
    for (std::size_t i = 0; i < s.size(); ++i)
      channels[c][s.pixels[i]] = static_cast<float>(u[i][c] + middle[c]);
  }
}

void check_removed(const Image& image, std::size_t count) {
  FOVEA_CHECK(static_cast<std::int64_t>(count) == image.pixels(), ShapeError,
              fmt::format("linear imputation: a mask of {} pixels; expected {} x {}", count,
                          image.height, image.width));
}

}  // namespace

void impute_linear(Image& image, std::span<const std::uint8_t> removed) {
  check_removed(image, removed.size());
  const NeighbourSystem system = system_of(removed, image.height, image.width);
  if (system.size() == 0) return;
  std::vector<std::span<float>> channels;
  for (std::size_t c = 0; c < static_cast<std::size_t>(image.channels); ++c)
    channels.push_back(std::span(image.values).subspan(c * removed.size(), removed.size()));
  if (system.known.empty()) {
    for (const std::span<float> channel : channels) std::ranges::fill(channel, 0.0F);
    return;
  }
  for (std::size_t first = 0; first < channels.size(); first += kLanes) {
    const std::size_t count = std::min(kLanes, channels.size() - first);
    impute_channels(system, std::span(channels).subspan(first, count));
  }
}

void add_noise(Image& image, std::span<const std::uint8_t> removed, std::span<const double> noise,
               double scale) {
  check_removed(image, removed.size());
  FOVEA_CHECK(noise.size() == image.values.size(), ShapeError,
              fmt::format("linear imputation: {} values of noise; expected {}", noise.size(),
                          image.values.size()));
  for (std::size_t i = 0; i < noise.size(); ++i) {
    if (removed[i % removed.size()] != 0)
      image.values[i] = static_cast<float>(image.values[i] + scale * noise[i]);
  }
}

}  // namespace fovea::explain
