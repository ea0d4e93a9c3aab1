// SemanticFPN over any backbone: a feature pyramid and the head that sums its maps. mala 4.4.

#include "models/counting.h"
#include "models/dense.h"
#include "models/heads/fpn.h"
#include "models/heads/scene_heads.h"
#include "nn/sizes.h"

namespace {

using namespace fovea;
using models::PyramidLevel;

struct SemanticFpnOptions : models::ImageOptions {
  schema::Component backbone{"mavit_t", {}};
  std::int64_t neck_channels = 256;
  std::int64_t channels = 128;
};

class SemanticFpn final : public models::DenseNetwork {
 public:
  SemanticFpn(const nn::Build& build, const SemanticFpnOptions& o, const models::DataShape& data)
      : DenseNetwork(build, o, data),
        backbone_(add_backbone("backbone", build, o.backbone, in_chans())) {
    std::vector<PyramidLevel> levels = backbone_.levels();
    check_size(levels.back().stride);
    models::FpnOptions neck{.out_channels = o.neck_channels, .num_outs = std::ssize(levels)};
    for (PyramidLevel& level : levels) {
      neck.in_channels.push_back(level.channels);
      level.channels = o.neck_channels;
    }
    neck_ = &child<models::Fpn>("neck", build, neck);
    decode_head_ =
        &child<models::SegFpnHead>("decode_head", build, levels, o.channels, num_classes());
  }
  std::string type() const override { return "SemanticFPN"; }

  std::optional<std::int64_t> paper_macs(
      const std::vector<autograd::Event>& events) const override {
    return models::module_macs(events, *this);
  }

 protected:
  std::vector<Tensor> maps(const Tensor& images, attention::Probe* probe) override {
    const Tensor logits = (*decode_head_)((*neck_)(backbone_(images, probe)));
    return {ops::resize(logits, {images.size(2), images.size(3)}, ops::Interpolation::kLinear)};
  }

 private:
  models::Backbone& backbone_;
  models::Fpn* neck_ = nullptr;
  models::SegFpnHead* decode_head_ = nullptr;
};

schema::Fields<SemanticFpnOptions> semantic_fpn_fields() {
  using O = SemanticFpnOptions;
  schema::Fields<O> fields{O{}};
  fields
      .add_component("backbone", &O::backbone, models::backbones().choices(),
                     "the network whose levels are read; each stride a power of 2 times the first")
      .add("neck_channels", &O::neck_channels, nn::channel_count(),
           "channels of the feature pyramid")
      .add("channels", &O::channels, nn::channel_count(), "channels of the head");
  return models::add_dense_fields(fields);
}

}  // namespace

FOVEA_MODEL(semantic_fpn, SemanticFpn,
            "SemanticFPN over any backbone (mala 4.4); logits at the stride of its finest level, "
            "resized",
            semantic_fpn_fields())
