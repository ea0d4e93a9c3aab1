// ResNets with recurrent layer aggregation (RLA_g, NeurIPS 2021) without their head: a map of few
// channels runs through all blocks. kcla 2.7.
#pragma once

#include <array>
#include <optional>
#include <vector>

#include "layer_attention/rla.h"
#include "models/backbone.h"
#include "models/resnet/residual_block.h"

namespace fovea::models {

struct RlaOptions {
  std::vector<std::int64_t> depths;
  std::vector<std::int64_t> planes = {64, 128, 256, 512};
  std::optional<std::int64_t> stem_width;
  std::int64_t rla_channels = 32;
  bool zero_init_last = true;
};
schema::Fields<RlaOptions> rla_fields(const RlaOptions& defaults);
/// Options of the network with so many blocks in its stages.
RlaOptions rla_resnet(std::vector<std::int64_t> depths);

/// Stem and stages of bottlenecks. Levels: the end of every stage, without the hidden map, as in
/// the detectors of the public code. Names are that code's: conv1, bn1, stages.<s>.<i>,
/// stage_bns.<s>.<i>, conv_outs.<s>, recurrent_convs.<s>. Where a stage halves an odd side, the
/// hidden map's last pixels are means of those that there are (that code wants even sides).
class RlaBackbone final : public Backbone {
 public:
  static constexpr std::array<const char*, 2> kHead = {"bn2.*", "fc.*"};

  /// `place` is where the options stand, for messages. Throws ConfigError unless `planes` has a
  /// number for every stage.
  RlaBackbone(const nn::Build& build, const RlaOptions& options, std::int64_t in_chans,
              const char* place = "model.backbone");
  std::string type() const override { return "RlaBackbone"; }

  struct End {
    Tensor x;       // (b, channels of the last level, h, w)
    Tensor hidden;  // (b, rla_channels, h, w)
  };
  /// What a classifier reads: both maps behind the last block.
  End last_maps(const Tensor& image, attention::Probe* probe);

 protected:
  std::vector<Tensor> forward(const Tensor& image, attention::Probe* probe) override;
  std::vector<std::string> parts_of(std::int64_t stage) const override;

 private:
  struct Stage {
    std::vector<ResidualBlock*> blocks;
    std::vector<nn::BatchNorm2d*> bns;
    layer_attention::Aggregation* aggregation = nullptr;
    bool halves = false;
  };

  std::int64_t add_stage(const nn::Build& build, std::size_t s, std::int64_t width);
  End stem(const Tensor& image);
  // One stage; `update_last`: the hidden map also takes up the last block.
  void run(std::size_t s, End& maps, bool update_last, attention::Probe* probe);

  RlaOptions o_;
  DType activations_ = DType::kFloat32;
  nn::Conv2d* conv1_ = nullptr;
  nn::BatchNorm2d* bn1_ = nullptr;
  std::vector<Stage> stages_;
};

}  // namespace fovea::models
