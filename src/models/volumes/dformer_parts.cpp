#include "models/volumes/dformer_parts.h"

#include <fmt/format.h>

#include <cmath>

#include "base/error.h"
#include "nn/init.h"
#include "ops/elementwise.h"
#include "ops/linear.h"
#include "ops/shape.h"
#include "tensor/host.h"

namespace fovea::models {
namespace {

// Zeros behind the ends of the axes from `first` on, up to multiples of `patch`.
Tensor filled_up(const Tensor& x, int first, const Size3& patch) {
  std::vector<std::pair<std::int64_t, std::int64_t>> amounts(static_cast<std::size_t>(x.rank()));
  bool fits = true;
  for (int axis = 0; axis < 3; ++axis) {
    const std::int64_t side = patch[static_cast<std::size_t>(axis)];
    const std::int64_t rest = x.size(first + axis) % side;
    if (rest == 0) continue;
    amounts[static_cast<std::size_t>(first + axis)].second = side - rest;
    fits = false;
  }
  return fits ? x : ops::pad(x, amounts);
}

}  // namespace

Tensor TokenVolume::as_grid() const {
  return ops::reshape(x, {x.size(0), grid[0], grid[1], grid[2], x.size(2)});
}

TokenVolume TokenVolume::from_grid(const Tensor& volume) {
  const Size3 grid{volume.size(1), volume.size(2), volume.size(3)};
  return {ops::reshape(volume, {volume.size(0), grid[0] * grid[1] * grid[2], volume.size(4)}),
          grid};
}

PatchEmbed3d::PatchEmbed3d(const nn::Build& build, const Size3& patch, std::int64_t in,
                           std::int64_t dim, bool norm)
    : patch_(patch) {
  const std::int64_t fan_in = in * patch[0] * patch[1] * patch[2];
  weight_ = parameter("proj.weight", nn::init_conv_weight(build.at("proj").at("weight"),
                                                          {dim, in, patch[0], patch[1], patch[2]}));
  bias_ = parameter("proj.bias", nn::init_bias(build.at("proj").at("bias"), dim, fan_in));
  if (norm) norm_ = &child<nn::LayerNorm>("norm", build, dim, kVolumeNormEps);
}

TokenVolume PatchEmbed3d::operator()(const Tensor& volume) {
  const auto scope = enter();
  const Tensor x = filled_up(volume, 2, patch_);
  const auto [pd, ph, pw] = patch_;
  const Size3 grid{x.size(2) / pd, x.size(3) / ph, x.size(4) / pw};
  const std::int64_t b = x.size(0), c = x.size(1);
  const Tensor patches = ops::permute(
      ops::reshape(x, {b, c, grid[0], pd, grid[1], ph, grid[2], pw}), {0, 2, 4, 6, 1, 3, 5, 7});
  const std::int64_t inputs = c * pd * ph * pw;
  const Tensor rows = ops::reshape(patches, {b, grid[0] * grid[1] * grid[2], inputs});
  const Tensor y = ops::linear(rows, ops::reshape(weight_, {weight_.size(0), inputs}), bias_);
  return {norm_ != nullptr ? (*norm_)(y) : y, grid};
}

PatchMerging3d::PatchMerging3d(const nn::Build& build, std::int64_t dim)
    : norm_(child<nn::LayerNorm>("norm", build, 8 * dim, kVolumeNormEps)),
      reduction_(child<nn::Linear>("reduction", build, 8 * dim, 2 * dim, false)) {}

TokenVolume PatchMerging3d::operator()(const TokenVolume& tokens) {
  const auto scope = enter();
  const Tensor x = filled_up(tokens.as_grid(), 1, {2, 2, 2});
  const Size3 grid{x.size(1) / 2, x.size(2) / 2, x.size(3) / 2};
  const std::int64_t b = x.size(0), c = x.size(4);
  const Tensor neighbours = ops::permute(
      ops::reshape(x, {b, grid[0], 2, grid[1], 2, grid[2], 2, c}), {0, 1, 3, 5, 2, 4, 6, 7});
  const Tensor rows = ops::reshape(neighbours, {b, grid[0] * grid[1] * grid[2], 8 * c});
  return {reduction_(norm_(rows)), grid};
}

PatchExpand3d::PatchExpand3d(const nn::Build& build, std::int64_t dim)
    : expand_(child<nn::Linear>("expand", build, dim, 4 * dim, false)),
      norm_(child<nn::LayerNorm>("norm", build, dim / 2, kVolumeNormEps)) {
  FOVEA_CHECK(dim % 2 == 0, ConfigError,
              fmt::format("PatchExpand3d: {} channels; expected an even number", dim));
}

TokenVolume PatchExpand3d::operator()(const TokenVolume& tokens) {
  const auto scope = enter();
  const auto [d, h, w] = tokens.grid;
  const std::int64_t b = tokens.x.size(0), c = tokens.channels() / 2;
  const Tensor wide = ops::reshape(expand_(tokens.x), {b, d, h, w, 2, 2, 2, c});
  const Tensor fine = ops::permute(wide, {0, 1, 4, 2, 5, 3, 6, 7});
  return {norm_(ops::reshape(fine, {b, 8 * d * h * w, c})), {2 * d, 2 * h, 2 * w}};
}

VolumeHead::VolumeHead(const nn::Build& build, std::int64_t dim, const Size3& patch,
                       std::int64_t classes)
    : patch_(patch) {
  const std::int64_t places = patch[0] * patch[1] * patch[2];
  expand_ = parameter("0.expand.weight", nn::init_weight(build.at("0").at("expand").at("weight"),
                                                         {places * dim, dim}, dim));
  norm_weight_ = parameter("0.norm.weight", nn::init_constant(build, {dim}, 1));
  norm_bias_ = parameter("0.norm.bias", nn::init_constant(build, {dim}, 0));
  classes_ = parameter("1.weight",
                       nn::init_conv_weight(build.at("1").at("weight"), {classes, dim, 1, 1, 1}));
}

Tensor VolumeHead::operator()(const TokenVolume& tokens) {
  const auto scope = enter();
  return ops::patch_logits(tokens.as_grid(),
                           {.expand = expand_,
                            .weight = norm_weight_,
                            .bias = norm_bias_,
                            .classes = ops::reshape(classes_, {classes_.size(0), classes_.size(1)}),
                            .eps = kVolumeNormEps},
                           sizes_of(patch_));
}

std::int64_t VolumeHead::macs(std::int64_t tokens) const {
  const std::int64_t dim = classes_.size(1);
  return tokens * expand_.size(0) * (dim + classes_.size(0));
}

SkipFusion::SkipFusion(const nn::Build& build, std::int64_t dim)
    : linear_(child<nn::Linear>("", build, 2 * dim, dim)) {}

TokenVolume SkipFusion::operator()(const TokenVolume& decoder, const TokenVolume& encoder) {
  const auto scope = enter();
  FOVEA_CHECK(
      decoder.grid == encoder.grid, ShapeError,
      fmt::format("dformer: a skip connection joins {} and {} tokens; expected equal grids: "
                  "the volume's sides must be divisible by the patch times 2 for every "
                  "merging",
                  decoder.x.size(1), encoder.x.size(1)));
  return {linear_(ops::concat({decoder.x, encoder.x}, -1)), decoder.grid};
}

Tensor sinusoidal_volume(const Size3& grid, std::int64_t dim, DType dtype, const Device& device) {
  const std::int64_t n = grid[0] * grid[1] * grid[2];
  const std::int64_t each = 2 * (dim / 6);  // channels of an axis
  std::vector<double> values(static_cast<std::size_t>(n * dim), 0.0);
  for (std::int64_t token = 0; token < n; ++token) {
    const Size3 place{token / (grid[1] * grid[2]), token / grid[2] % grid[1], token % grid[2]};
    for (std::int64_t c = 0; c < 3 * each; ++c) {
      const std::int64_t i = c % each / 2;
      const double rate =
          std::pow(10000.0, -2 * static_cast<double>(i) / static_cast<double>(each));
      const double angle = static_cast<double>(place[static_cast<std::size_t>(c / each)]) * rate;
      values[static_cast<std::size_t>(token * dim + c)] =
          c % 2 == 0 ? std::sin(angle) : std::cos(angle);
    }
  }
  return from_doubles(values, {1, n, dim}, dtype, device);
}

}  // namespace fovea::models
