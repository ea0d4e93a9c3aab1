// From images and words to tokens, and positions.
#pragma once

#include <optional>

#include "nn/convolution.h"
#include "nn/norm.h"

namespace fovea::nn {

struct PatchEmbedOptions {
  bool bias = true;
  std::optional<NormKind> norm = std::nullopt;  // of the tokens
  double norm_eps = 1e-6;
};

/// A convolution whose kernel is its stride. x (b, c, h, w) -> (b, (h / p) (w / p), dim), row by
/// row. Parameters proj.weight (dim, c, p, p), proj.bias, norm.weight, norm.bias. dgsa 2.7.
class PatchEmbed final : public UnaryModule {
 public:
  PatchEmbed(const Build& build, std::int64_t patch_size, std::int64_t in_chans, std::int64_t dim,
             const PatchEmbedOptions& options = {});
  std::string type() const override { return "PatchEmbed"; }

 protected:
  Tensor forward(const Tensor& x) override;

 private:
  Conv2d& proj_;
  UnaryModule* norm_ = nullptr;
};

struct EmbeddingOptions {
  bool padding = true;     // row 0 stands for padding: it is zero and gets no gradient
  double init_stddev = 0;  // of the normal distribution that rows start as; 0: dim^-0.5
};

/// Vectors of words: ids int64 (b, n) in [0, rows) -> (b, n, dim). Parameter weight (rows, dim).
/// dgsa 2.7, 2.8.
class Embedding final : public UnaryModule {
 public:
  Embedding(const Build& build, std::int64_t rows, std::int64_t dim,
            const EmbeddingOptions& options = {});
  std::string type() const override { return "Embedding"; }
  /// For a head that shares it.
  const Tensor& weight() const { return weight_; }

 protected:
  Tensor forward(const Tensor& ids) override;

 private:
  bool padding_;
  Tensor weight_;
};

/// sin and cos of pos * 10000^(-2 i / dim), interleaved: (1, n, dim). dgsa 2.7.
Tensor sinusoidal_positions(std::int64_t n, std::int64_t dim, DType dtype, const Device& device);

}  // namespace fovea::nn
