// The class and the box of a region of interest. mala 4.5; names are mmdet's.
#pragma once

#include <vector>

#include "models/heads/conv_module.h"
#include "nn/linear.h"

namespace fovea::models {

struct BBoxHeadOptions {
  std::int64_t in_channels = 256;
  std::int64_t side = 7;  // of a region's map
  std::int64_t num_classes = 80;
  std::int64_t num_shared_convs = 0;  // 3x3, with a batch norm and ReLU
  std::int64_t conv_channels = 256;
  std::int64_t num_shared_fcs = 2;
  std::int64_t fc_channels = 1024;
};

/// Regions (n, in, side, side) -> logits (n, num_classes + 1), the background last, and deltas (n,
/// 4 num_classes), those of a class side by side; in the type of losses, also in mixed precision.
/// Names: shared_convs.{i}.conv, shared_convs.{i}.bn, shared_fcs.{i}, fc_cls, fc_reg.
class BBoxHead final : public nn::Module {
 public:
  struct Outputs {
    Tensor logits, deltas;
  };
  BBoxHead(const nn::Build& build, const BBoxHeadOptions& options);
  std::string type() const override { return "BBoxHead"; }
  Outputs operator()(const Tensor& regions);

 private:
  std::vector<ConvModule*> shared_convs_;
  std::vector<nn::Linear*> shared_fcs_;
  nn::Linear* fc_cls_ = nullptr;
  nn::Linear* fc_reg_ = nullptr;
};

}  // namespace fovea::models
