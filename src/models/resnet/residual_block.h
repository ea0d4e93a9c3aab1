// The residual blocks of ResNets and their shortcuts. kcla 3.1, 3.3.
#pragma once

#include <memory>
#include <vector>

#include "layer_attention/residual.h"
#include "nn/convolution.h"
#include "nn/norm.h"

namespace fovea::models {

enum class BlockKind { kBasic, kBottleneck };

/// The shortcut of a block.
enum class ShortcutKind {
  kZeroPad,        // the input itself, every stride-th pixel, new channels zero; no parameters
  kProjection,     // 1x1 convolution and BN where stride or width change, else the input itself
  kProjectionAll,  // 1x1 convolution and BN in every block
};

/// Output channels of a block of `planes`: planes (basic) or 4 planes (bottleneck).
std::int64_t block_width(BlockKind kind, std::int64_t planes);
/// Channels of the maps between its convolutions.
std::vector<std::int64_t> inner_widths(BlockKind kind, std::int64_t planes);

struct BlockOptions {
  BlockKind kind = BlockKind::kBottleneck;
  ShortcutKind shortcut = ShortcutKind::kProjection;
  bool zero_init_last = false;  // the last BN of the branch starts with weight 0
  std::int64_t in = 0;          // channels of the input
  std::int64_t extra = 0;       // further channels that the branch reads
  std::int64_t planes = 0;
  std::int64_t stride = 1;
};

/// What a block reads besides its input.
struct BlockContext {
  Tensor extra = {};                        // (b, extra, h, w): the branch sees it behind x
  layer_attention::State* state = nullptr;  // of the block's layer attention
  attention::Probe* probe = nullptr;
};

/// ReLU(branch(x) + shortcut(x)): (b, in, h, w) -> (b, block_width, h / stride, w / stride), sizes
/// rounded up. Convolutions have no bias; the stride is in the first 3x3.
///   basic:      3x3 BN ReLU 3x3 BN             conv1 bn1 conv2 bn2
///   bottleneck: 1x1 BN ReLU 3x3 BN ReLU 1x1 BN conv1 bn1 conv2 bn2 conv3 bn3
///   projection: 1x1 BN                         downsample.0 downsample.1
/// A layer attention sees the branch before the sum, or the result (layer_attention::Join).
class ResidualBlock final : public nn::Module {
 public:
  ResidualBlock(const nn::Build& build, const BlockOptions& options);
  std::string type() const override;
  bool is_block() const override { return true; }

  /// Gives the block its layer attention, whose names then begin in the block, or which is a child
  /// of the stage.
  void own(std::unique_ptr<layer_attention::Attached> attention);
  void use(layer_attention::Attached& attention) { attention_ = &attention; }

  Tensor operator()(const Tensor& x, const BlockContext& context = {}) {
    const auto scope = enter();
    return forward(x, context);
  }

 private:
  Tensor forward(const Tensor& x, const BlockContext& context);
  struct Layer {
    nn::Conv2d& conv;
    nn::BatchNorm2d& bn;
  };
  void add_layer(const nn::Build& build, std::int64_t in, std::int64_t out, std::int64_t kernel,
                 std::int64_t stride, bool last);
  Tensor shortcut(const Tensor& x);

  BlockOptions options_;
  std::vector<Layer> layers_;
  nn::UnaryModule* downsample_ = nullptr;
  layer_attention::Attached* attention_ = nullptr;
};

}  // namespace fovea::models
