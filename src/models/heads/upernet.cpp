// UperNet over any backbone: pyramid pooling and a feature pyramid in one head, and an auxiliary
// head on the second coarsest level. mala 4.4.

#include "models/counting.h"
#include "models/dense.h"
#include "models/heads/scene_heads.h"
#include "nn/sizes.h"

namespace {

using namespace fovea;

struct UperNetOptions : models::ImageOptions {
  schema::Component backbone{"mavit_t", {}};
  std::int64_t channels = 512;
  std::vector<std::int64_t> pool_scales = {1, 2, 3, 6};
  bool auxiliary_head = true;
  std::int64_t auxiliary_channels = 256;
};

class UperNet final : public models::DenseNetwork {
 public:
  UperNet(const nn::Build& build, const UperNetOptions& o, const models::DataShape& data)
      : DenseNetwork(build, o, data),
        backbone_(add_backbone("backbone", build, o.backbone, in_chans())) {
    const std::vector<models::PyramidLevel>& levels = backbone_.levels();
    check_size(levels.back().stride);
    models::UperHeadOptions head{
        .pool_scales = o.pool_scales, .channels = o.channels, .num_classes = num_classes()};
    for (const models::PyramidLevel& level : levels) head.in_channels.push_back(level.channels);
    decode_head_ = &child<models::UperHead>("decode_head", build, head);
    if (o.auxiliary_head)
      auxiliary_head_ =
          &child<models::FcnHead>("auxiliary_head", build, levels[levels.size() - 2].channels,
                                  o.auxiliary_channels, std::int64_t{1}, num_classes());
  }
  std::string type() const override { return "UperNet"; }

  // Without the auxiliary head, which the paper's networks have in training only.
  std::optional<std::int64_t> paper_macs(
      const std::vector<autograd::Event>& events) const override {
    std::vector<autograd::Event> counted = events;
    std::erase_if(counted, [](const autograd::Event& event) {
      return event.module.starts_with("auxiliary_head");
    });
    return models::module_macs(counted, *this);
  }

 protected:
  std::vector<Tensor> maps(const Tensor& images, attention::Probe* probe) override {
    const std::vector<Tensor> levels = backbone_(images, probe);
    const Tensor logits = (*decode_head_)(levels);
    std::vector<Tensor> maps{
        ops::resize(logits, {images.size(2), images.size(3)}, ops::Interpolation::kLinear)};
    if (auxiliary_head_ != nullptr) maps.push_back((*auxiliary_head_)(levels[levels.size() - 2]));
    return maps;
  }

 private:
  models::Backbone& backbone_;
  models::UperHead* decode_head_ = nullptr;
  models::FcnHead* auxiliary_head_ = nullptr;
};

schema::Fields<UperNetOptions> upernet_fields() {
  using O = UperNetOptions;
  schema::Fields<O> fields{O{}};
  fields
      .add_component("backbone", &O::backbone, models::backbones().choices(),
                     "the network whose levels are read, two at least")
      .add("channels", &O::channels, nn::channel_count(), "channels of the head")
      .add("pool_scales", &O::pool_scales, nn::side_length(),
           "the coarsest level is averaged over so many parts of each side; in training a part "
           "that is the whole map needs two images a batch")
      .add("auxiliary_head", &O::auxiliary_head,
           "a second map of logits, from the second coarsest level and at its size; its loss has "
           "the second of loss.map_weights, in the paper [1, 0.4]")
      .add("auxiliary_channels", &O::auxiliary_channels, nn::channel_count(), "channels of that");
  return models::add_dense_fields(fields);
}

}  // namespace

FOVEA_MODEL(upernet, UperNet,
            "UperNet over any backbone (mala 4.4); logits at the stride of its finest level, "
            "resized",
            upernet_fields())
