#include "models/detectors/retina_head.h"

#include <fmt/format.h>

#include <cmath>

#include "ops/activation.h"
#include "ops/in_place.h"

namespace fovea::models {

RetinaHead::RetinaHead(const nn::Build& outer, const RetinaHeadOptions& o) {
  nn::Build build = outer;
  build.init = nn::Init::kHead;
  const auto add = [&](const std::string& name, std::int64_t in, std::int64_t out) {
    return &child<nn::Conv2d>(name, build, in, out, ops::Sizes{3},
                              ops::ConvOptions{.padding = {1}});
  };
  for (std::int64_t i = 0; i < o.stacked_convs; ++i) {
    const std::int64_t in = i == 0 ? o.in_channels : o.feat_channels;
    cls_convs_.push_back(add(fmt::format("cls_convs.{}.conv", i), in, o.feat_channels));
    reg_convs_.push_back(add(fmt::format("reg_convs.{}.conv", i), in, o.feat_channels));
  }
  const std::int64_t width = o.stacked_convs == 0 ? o.in_channels : o.feat_channels;
  retina_cls_ = add("retina_cls", width, o.num_anchors * o.num_classes);
  retina_reg_ = add("retina_reg", width, 4 * o.num_anchors);
  // Every anchor begins with a probability of 0.01 for each class, so that the many that hold
  // nothing do not drown the others (Lin et al., Focal loss, 4.1).
  for (const auto& [name, tensor] : retina_cls_->parameters()) {
    if (name == "bias") ops::fill(tensor, -std::log(99.0));
  }
}

std::vector<Tensor> RetinaHead::operator()(const std::vector<Tensor>& levels) {
  const auto scope = enter();
  const auto run = [](const std::vector<nn::Conv2d*>& convs, Tensor x) {
    for (nn::Conv2d* conv : convs) x = ops::activate({.kind = UnaryOp::kRelu}, (*conv)(x));
    return x;
  };
  std::vector<Tensor> logits;
  std::vector<Tensor> deltas;
  for (const Tensor& level : levels) {
    logits.push_back((*retina_cls_)(run(cls_convs_, level)));
    deltas.push_back((*retina_reg_)(run(reg_convs_, level)));
  }
  logits.insert(logits.end(), deltas.begin(), deltas.end());
  return logits;
}

}  // namespace fovea::models
