// What a diffusion transformer is told beside the image, as vectors. mala 4.7.
#pragma once

#include "nn/linear.h"
#include "nn/module.h"

namespace fovea::models {

/// cos and sin of t exp(-ln(10000) r / (dim / 2)), beside each other: t (b) int64 -> (b, dim) in
/// `dtype`. dim is even.
Tensor timestep_table(const Tensor& t, std::int64_t dim, DType dtype);

/// Fixed positions on a grid, row by row: (1, h w, dim). The first half of the channels is of the
/// column, the second of the row; each [sin | cos] of place x 10000^(-4 r / dim). Throws
/// ConfigError unless 4 divides dim.
Tensor sincos_positions(std::int64_t dim, std::int64_t h, std::int64_t w, DType dtype,
                        const Device& device);

/// (b) int64 -> (b, dim): two linear layers with SiLU between, of 256 sinusoids. Parameters
/// mlp.{0,2}.
class TimestepEmbedder final : public nn::Module {
 public:
  TimestepEmbedder(const nn::Build& build, std::int64_t dim);
  std::string type() const override { return "TimestepEmbedder"; }
  Tensor operator()(const Tensor& t);

 private:
  static constexpr std::int64_t kSinusoids = 256;
  nn::Linear& first_;
  nn::Linear& second_;
};

/// Labels (b) int64 -> (b, dim). With dropout > 0 there is a row more, that of no class, which a
/// label's takes the place of in training with this probability. Parameter embedding_table.weight.
class LabelEmbedder final : public nn::Module {
 public:
  LabelEmbedder(const nn::Build& build, std::int64_t classes, std::int64_t dim, double dropout);
  std::string type() const override { return "LabelEmbedder"; }
  Tensor operator()(const Tensor& labels);

 private:
  std::int64_t classes_;
  double dropout_;
  Tensor table_;
};

}  // namespace fovea::models
