// Feature pyramid network (Lin et al., 2017): a neck that gives every level of a pyramid the same
// channels and what the coarser levels know. mala 4.4, 4.5; names are mmdet's.
#pragma once

#include <vector>

#include "nn/convolution.h"

namespace fovea::models {

/// Levels beyond those of the backbone, each half the size of the one before.
enum class ExtraConvs {
  kNone,     // max pooling with a kernel of 1 and stride 2 of the coarsest map
  kOnInput,  // 3x3 convolutions of stride 2: of the backbone's last level, then of one another,
             // with no activation between them
};

struct FpnOptions {
  std::vector<std::int64_t> in_channels = {};  // of each level of the backbone, the finest first
  std::int64_t out_channels = 256;
  std::int64_t num_outs = 4;     // maps that are given
  std::int64_t start_level = 0;  // the finest level that is used
  ExtraConvs extra_convs = ExtraConvs::kNone;
};

/// Levels (b, in_channels[i], h_i, w_i), the finest first -> num_outs maps (b, out_channels, h, w):
/// one of the size of each level from start_level on, then the extra ones. A 1x1 convolution of
/// each level, the coarser sum added after nearest upsampling to the finer size, a 3x3 convolution.
/// Weights start as Xavier's uniform distribution has them, biases at 0.
/// Names: lateral_convs.{i}.conv, fpn_convs.{i}.conv, counted from start_level.
/// Throws ConfigError for a start_level beyond the levels, and for fewer maps than levels.
class Fpn final : public nn::Module {
 public:
  Fpn(const nn::Build& build, const FpnOptions& options);
  std::string type() const override { return "FPN"; }
  /// Throws ShapeError unless there is a map for each of in_channels.
  std::vector<Tensor> operator()(const std::vector<Tensor>& levels);

 private:
  std::size_t start_, inputs_, outputs_;
  std::vector<nn::Conv2d*> lateral_convs_;
  std::vector<nn::Conv2d*> fpn_convs_;  // those of extra levels behind the others
};

}  // namespace fovea::models
