#include "nn/embedding.h"

#include <fmt/format.h>

#include <cmath>
#include <vector>

#include "nn/init.h"
#include "ops/elementwise.h"
#include "ops/in_place.h"
#include "ops/indexing.h"
#include "ops/shape.h"
#include "tensor/host.h"

namespace fovea::nn {

PatchEmbed::PatchEmbed(const Build& build, std::int64_t patch_size, std::int64_t in_chans,
                       std::int64_t dim, const PatchEmbedOptions& o)
    : proj_(child<Conv2d>("proj", build, in_chans, dim, ops::Sizes{patch_size},
                          ops::ConvOptions{.stride = {patch_size}}, o.bias)) {
  if (o.norm) norm_ = &child("norm", make_norm(*o.norm, build.at("norm"), dim, o.norm_eps));
}

Tensor PatchEmbed::forward(const Tensor& x) {
  const Tensor grid = proj_(x);  // (b, dim, h / p, w / p)
  const Tensor rows = ops::reshape(grid, {grid.size(0), grid.size(1), -1});
  const Tensor tokens = ops::transpose(rows, 1, 2);
  return norm_ != nullptr ? (*norm_)(tokens) : tokens;
}

Embedding::Embedding(const Build& build, std::int64_t rows, std::int64_t dim,
                     const EmbeddingOptions& o)
    : padding_(o.padding),
      weight_(parameter("weight",
                        init_normal(build.at("weight"), {rows, dim},
                                    o.init_stddev > 0 ? o.init_stddev
                                                      : 1 / std::sqrt(static_cast<double>(dim))))) {
  if (padding_) ops::fill(weight_.rows(0, 1), 0);
}

Tensor Embedding::forward(const Tensor& ids) {
  return ops::embedding(weight_, ids, padding_ ? 0 : -1);
}

Tensor sinusoidal_positions(std::int64_t n, std::int64_t dim, DType dtype, const Device& device) {
  std::vector<double> values(static_cast<std::size_t>(n * dim));
  for (std::int64_t pos = 0; pos < n; ++pos) {
    for (std::int64_t c = 0; c < dim; ++c) {
      const double rate =
          std::pow(10000.0, -static_cast<double>(c / 2 * 2) / static_cast<double>(dim));
      const double angle = static_cast<double>(pos) * rate;
      values[static_cast<std::size_t>(pos * dim + c)] =
          c % 2 == 0 ? std::sin(angle) : std::cos(angle);
    }
  }
  return from_doubles(values, {1, n, dim}, dtype, device);
}

}  // namespace fovea::nn
