#include "data/augment/mix.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace fovea::data {
namespace {

// Gamma(alpha, 1) by Marsaglia and Tsang ("A simple method for generating gamma variables", TOMS
// 2000); below 1 from the next one. One attempt in twenty fails at most.
double draw_gamma(double alpha, const RandomStream& stream) {
  if (alpha < 1) {
    const double u = 1 - double{stream.fork("below one").uniform(0)};  // in (0, 1]
    return draw_gamma(alpha + 1, stream) * std::pow(u, 1 / alpha);
  }
  const double d = alpha - 1.0 / 3.0;
  const double c = 1 / std::sqrt(9 * d);
  for (std::uint64_t attempt = 0;; ++attempt) {
    const RandomStream draws = stream.fork(attempt);
    const double x = draws.normal(0);
    const double root = 1 + c * x;
    if (root <= 0) continue;
    const double v = root * root * root;
    const double u = 1 - double{draws.uniform(2)};
    if (std::log(u) < 0.5 * x * x + d - d * v + d * std::log(v)) return d * v;
  }
}

double draw_beta(double alpha, const RandomStream& stream) {
  const double a = draw_gamma(alpha, stream.fork("a"));
  const double b = draw_gamma(alpha, stream.fork("b"));
  return a + b > 0 ? a / (a + b) : 0.5;  // both can vanish for a very small alpha
}

}  // namespace

const schema::Fields<MixOptions>& mix_fields() {
  using O = MixOptions;
  static const auto fields =
      schema::Fields<O>{}
          .add("mixup", &O::mixup, schema::at_least(0),
               "alpha of mixup: two images are blended, the share of one is drawn from "
               "Beta(alpha, alpha); 0 = off")
          .add("cutmix", &O::cutmix, schema::at_least(0),
               "alpha of CutMix: a box with a share drawn from Beta(alpha, alpha) comes from the "
               "other image; 0 = off")
          .add("prob", &O::prob, schema::in_range(0, 1), "probability that a batch is mixed")
          .add("switch_prob", &O::switch_prob, schema::in_range(0, 1),
               "probability of CutMix where both are on");
  return fields;
}

Mix draw_mix(const MixOptions& options, std::int64_t height, std::int64_t width,
             const RandomStream& stream) {
  if (!options.is_on() || double{stream.uniform(0)} >= options.prob) return {};
  const bool both = options.mixup > 0 && options.cutmix > 0;
  const bool cut = both ? double{stream.uniform(1)} < options.switch_prob : options.cutmix > 0;
  const double share = draw_beta(cut ? options.cutmix : options.mixup, stream.fork("share"));
  if (!cut) return {share, std::nullopt};
  const RandomStream place = stream.fork("box");
  const Box box = cutmix_box(height, width, share, place.below(height, 0), place.below(width, 1));
  const auto pixels = static_cast<double>(height * width);
  return {1 - static_cast<double>(box.height * box.width) / pixels, box};
}

Box cutmix_box(std::int64_t height, std::int64_t width, double share, std::int64_t row,
               std::int64_t column) {
  const double ratio = std::sqrt(1 - share);
  const auto part = [&](std::int64_t size, std::int64_t centre) {
    const auto cut = static_cast<std::int64_t>(static_cast<double>(size) * ratio);
    const std::int64_t first = std::clamp<std::int64_t>(centre - cut / 2, 0, size);
    return std::pair{first, std::clamp<std::int64_t>(centre + (cut + 1) / 2, 0, size) - first};
  };
  const auto [top, tall] = part(height, row);
  const auto [left, wide] = part(width, column);
  return {top, left, tall, wide};
}

void mix_images(const Tensor& images, const Mix& mix) {
  if (mix.share == 1) return;
  const std::int64_t b = images.size(0);
  const std::int64_t rows = images.size(1) * images.size(2), width = images.size(3);
  const Box box = mix.box.value_or(Box{0, 0, images.size(2), width});
  const auto own = static_cast<float>(mix.share);
  const auto others = static_cast<float>(1 - mix.share);
  for (std::int64_t i = 0; i < b / 2; ++i) {
    float* one = images.data<float>() + i * rows * width;
    float* two = images.data<float>() + (b - 1 - i) * rows * width;
    for (std::int64_t row = 0; row < rows; ++row) {
      const std::int64_t y = row % images.size(2);
      if (y < box.top || y >= box.top + box.height) continue;
      float* x = one + row * width + box.left;
      float* z = two + row * width + box.left;
      if (mix.box) {
        std::swap_ranges(x, x + box.width, z);
        continue;
      }
      for (std::int64_t k = 0; k < width; ++k) {
        const float a = x[k], c = z[k];
        x[k] = a * own + c * others;
        z[k] = c * own + a * others;
      }
    }
  }
}

Tensor mixed_targets(const Tensor& labels, std::int64_t classes, double share) {
  const std::int64_t b = labels.size(0);
  const Tensor targets = Tensor::empty({b, classes}, DType::kFloat32, labels.device());
  float* row = targets.data<float>();
  std::fill(row, row + targets.numel(), 0.0f);
  const auto* label = labels.data<std::int64_t>();
  for (std::int64_t i = 0; i < b; ++i, row += classes) {
    row[label[i]] += static_cast<float>(share);
    row[label[b - 1 - i]] += static_cast<float>(1 - share);
  }
  return targets;
}

}  // namespace fovea::data
