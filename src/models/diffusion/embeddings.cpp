#include "models/diffusion/embeddings.h"

#include <fmt/format.h>

#include <cmath>
#include <vector>

#include "base/error.h"
#include "nn/init.h"
#include "ops/create.h"
#include "ops/elementwise.h"
#include "ops/in_place.h"
#include "ops/indexing.h"
#include "ops/shape.h"
#include "tensor/host.h"

namespace fovea::models {

Tensor timestep_table(const Tensor& t, std::int64_t dim, DType dtype) {
  const std::int64_t half = dim / 2;
  std::vector<double> rates;
  for (std::int64_t r = 0; r < half; ++r)
    rates.push_back(
        std::exp(-std::log(10000.0) * static_cast<double>(r) / static_cast<double>(half)));
  const Tensor places = ops::reshape(ops::cast(t, dtype), {-1, 1});
  const Tensor angles = ops::mul(places, from_doubles(rates, {1, half}, dtype, t.device()));
  return ops::concat({ops::cos(angles), ops::sin(angles)}, 1);
}

Tensor sincos_positions(std::int64_t dim, std::int64_t h, std::int64_t w, DType dtype,
                        const Device& device) {
  FOVEA_CHECK(
      dim % 4 == 0, ConfigError,
      fmt::format("model.embed_dim: {}; expected a multiple of 4, for positions of a grid", dim));
  const std::int64_t quarter = dim / 4;
  std::vector<double> values;
  values.reserve(static_cast<std::size_t>(h * w * dim));
  const auto of_place = [&](std::int64_t place) {
    const auto angle = [&](std::int64_t r) {
      return static_cast<double>(place) *
             std::pow(10000.0, -static_cast<double>(r) / static_cast<double>(quarter));
    };
    for (std::int64_t r = 0; r < quarter; ++r) values.push_back(std::sin(angle(r)));
    for (std::int64_t r = 0; r < quarter; ++r) values.push_back(std::cos(angle(r)));
  };
  for (std::int64_t row = 0; row < h; ++row) {
    for (std::int64_t column = 0; column < w; ++column) {
      of_place(column);
      of_place(row);
    }
  }
  return from_doubles(values, {1, h * w, dim}, dtype, device);
}

TimestepEmbedder::TimestepEmbedder(const nn::Build& build, std::int64_t dim)
    : first_(child<nn::Linear>("mlp.0", build, kSinusoids, dim)),
      second_(child<nn::Linear>("mlp.2", build, dim, dim)) {
  for (const auto& [name, layer] : {std::pair{"mlp.0", &first_}, std::pair{"mlp.2", &second_}})
    ops::copy_into(nn::init_normal(build.at(name).at("weight"), layer->weight().shape(), 0.02),
                   layer->weight());
}

Tensor TimestepEmbedder::operator()(const Tensor& t) {
  const auto scope = enter();
  return second_(ops::silu(first_(timestep_table(t, kSinusoids, first_.weight().dtype()))));
}

LabelEmbedder::LabelEmbedder(const nn::Build& build, std::int64_t classes, std::int64_t dim,
                             double dropout)
    : classes_(classes),
      dropout_(dropout),
      table_(parameter("embedding_table.weight",
                       nn::init_normal(build.at("embedding_table").at("weight"),
                                       {classes + (dropout > 0 ? 1 : 0), dim}, 0.02))) {}

Tensor LabelEmbedder::operator()(const Tensor& labels) {
  const auto scope = enter();
  const Tensor own = ops::embedding(table_, labels);
  if (!training() || dropout_ == 0) return own;
  const Tensor draws = ops::random_uniform({labels.size(0), 1}, 0, 1, next_random(),
                                           DType::kFloat32, labels.device());
  const Tensor limit = ops::full({1}, dropout_, DType::kFloat32, labels.device());
  return ops::where(ops::less(draws, limit), ops::slice(table_, 0, classes_, 1), own);
}

}  // namespace fovea::models
