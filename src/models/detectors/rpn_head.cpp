#include "models/detectors/rpn_head.h"

#include "autograd/mode.h"
#include "models/detectors/truth.h"
#include "nn/sizes.h"
#include "ops/activation.h"
#include "ops/detection/sample.h"
#include "ops/elementwise.h"
#include "ops/indexing.h"
#include "ops/losses/detection_loss.h"
#include "ops/losses/loss.h"
#include "ops/reduce.h"

namespace fovea::models {
namespace {

using Place = AnchorGrid::Place;

// The anchors of a batch that RPN learns from, and what they should say.
struct RpnTargets {
  std::vector<Place> sampled;  // positive and negative ones
  std::vector<float> labels;   // of these
  std::vector<Place> positive;
  std::vector<Tensor> deltas;  // of these, image by image
  std::int64_t normaliser = 0;
};

std::vector<Tensor> part(const std::vector<Tensor>& maps, std::size_t half) {
  const auto middle = maps.begin() + std::ssize(maps) / 2;
  return half == 0 ? std::vector<Tensor>(maps.begin(), middle)
                   : std::vector<Tensor>(middle, maps.end());
}

}  // namespace

schema::Fields<RpnOptions> rpn_fields() {
  using O = RpnOptions;
  using schema::at_least;
  using schema::in_range;
  return schema::Fields<O>()
      .add("feat_channels", &O::feat_channels, nn::channel_count(),
           "channels of its 3x3 convolution")
      .add("scales", &O::scales, schema::greater_than(0),
           "sides of square anchors over the stride of the level")
      .add("ratios", &O::ratios, schema::greater_than(0), "heights of anchors over their widths")
      .add("pos_iou_thr", &O::pos_iou_thr, in_range(0, 1),
           "anchors whose best overlap with an object is at least this are positive")
      .add("neg_iou_thr", &O::neg_iou_thr, in_range(0, 1), "and below this negative")
      .add("min_pos_iou", &O::min_pos_iou, in_range(0, 1),
           "the best anchors of an object are positive where their overlap is at least this")
      .add("inside_only", &O::inside_only,
           "anchors that cross the border of an image are not trained")
      .add("num_samples", &O::num_samples, at_least(1), "anchors of an image that are trained")
      .add("positive_fraction", &O::positive_fraction, in_range(0, 1), "of them at most positive")
      .add("smooth_l1_beta", &O::smooth_l1_beta, at_least(0),
           "differences of deltas below this count as squares; 0 = L1")
      .add("nms_pre_train", &O::nms_pre_train, at_least(1),
           "best anchors of each level before suppression, in training")
      .add("nms_pre", &O::nms_pre, at_least(1), "the same in tests")
      .add("max_per_img_train", &O::max_per_img_train, at_least(1),
           "proposals of an image, in training")
      .add("max_per_img", &O::max_per_img, at_least(1), "the same in tests")
      .add("nms_iou_thr", &O::nms_iou_thr, in_range(0, 1),
           "a proposal that overlaps a better one of its level by more is dropped");
}

RpnHead::RpnHead(const nn::Build& outer, std::int64_t in_channels,
                 std::vector<std::int64_t> strides, const RpnOptions& o)
    : o_(o), strides_(std::move(strides)) {
  nn::Build build = outer;
  build.init = nn::Init::kHead;
  const std::int64_t anchors = std::ssize(o.scales) * std::ssize(o.ratios);
  rpn_conv_ = &child<nn::Conv2d>("rpn_conv", build, in_channels, o.feat_channels, ops::Sizes{3},
                                 ops::ConvOptions{.padding = {1}});
  rpn_cls_ = &child<nn::Conv2d>("rpn_cls", build, o.feat_channels, anchors, ops::Sizes{1});
  rpn_reg_ = &child<nn::Conv2d>("rpn_reg", build, o.feat_channels, 4 * anchors, ops::Sizes{1});
}

std::vector<Tensor> RpnHead::operator()(const std::vector<Tensor>& levels) {
  const auto scope = enter();
  std::vector<Tensor> logits;
  std::vector<Tensor> deltas;
  for (const Tensor& level : levels) {
    const Tensor x = ops::activate({.kind = UnaryOp::kRelu}, (*rpn_conv_)(level));
    logits.push_back((*rpn_cls_)(x));
    deltas.push_back((*rpn_reg_)(x));
  }
  logits.insert(logits.end(), deltas.begin(), deltas.end());
  return logits;
}

AnchorGrid RpnHead::grid_of(const std::vector<Tensor>& maps) const {
  return {part(maps, 0), strides_, {.scales = o_.scales, .ratios = o_.ratios}};
}

Detector::Losses RpnHead::losses(const std::vector<Tensor>& maps,
                                 const std::vector<ImageSize>& sizes,
                                 const std::vector<DetectionTruth>& truth) {
  const auto scope = enter();
  const AnchorGrid grid = grid_of(maps);
  const RandomStream random = next_random();
  const ops::AssignOptions assigning{.positive = o_.pos_iou_thr,
                                     .negative = o_.neg_iou_thr,
                                     .min_positive = o_.min_pos_iou,
                                     .low_quality = true};
  RpnTargets targets;
  for (std::size_t i = 0; i < truth.size(); ++i) {
    const auto image = static_cast<std::int64_t>(i);
    const auto assigned = grid.assign(truth[i], sizes[i], assigning, o_.inside_only);
    const ops::Sampled sampled =
        ops::sample_boxes(assigned, o_.num_samples, o_.positive_fraction, random.fork(i));
    std::vector<std::int64_t> matched;
    for (const std::int64_t anchor : sampled.positive) {
      targets.positive.push_back({image, anchor});
      matched.push_back(assigned[static_cast<std::size_t>(anchor)] - 1);
    }
    for (const auto* anchors : {&sampled.positive, &sampled.negative}) {
      for (const std::int64_t anchor : *anchors) targets.sampled.push_back({image, anchor});
      targets.labels.insert(targets.labels.end(), anchors->size(),
                            anchors == &sampled.positive ? 1.0F : 0.0F);
      targets.normaliser += std::max<std::int64_t>(1, std::ssize(*anchors));
    }
    targets.deltas.push_back(ops::encode_boxes(take_rows(grid.boxes(), sampled.positive),
                                               take_rows(truth[i].boxes, matched), {}));
  }
  const Tensor logits = grid.at(part(maps, 0), targets.sampled, 1);
  const Tensor deltas = grid.at(part(maps, 1), targets.positive, 4);
  const Tensor labels = Tensor::from(targets.labels, logits.shape(), grid.boxes().device());
  const double each = 1.0 / static_cast<double>(targets.normaliser);
  return {{"loss_rpn_cls",
           ops::mul(ops::bce_with_logits(logits, placed_as(labels, logits), ops::Reduction::kSum),
                    each)},
          {"loss_rpn_bbox",
           ops::mul(ops::smooth_l1(deltas, placed_as(ops::concat(targets.deltas, 0), deltas),
                                   o_.smooth_l1_beta, ops::Reduction::kSum),
                    each)}};
}

std::vector<ops::Proposals> RpnHead::proposals(const std::vector<Tensor>& maps,
                                               const std::vector<ImageSize>& sizes,
                                               bool for_training) const {
  const autograd::NoGrad no_grad;
  const AnchorGrid grid = grid_of(maps);
  const Device& host = grid.boxes().device();
  const ops::ProposalOptions options{.nms_pre = for_training ? o_.nms_pre_train : o_.nms_pre,
                                     .iou_threshold = o_.nms_iou_thr,
                                     .most = for_training ? o_.max_per_img_train : o_.max_per_img};
  std::vector<std::vector<ops::ProposalLevel>> of_images(sizes.size());
  for (std::size_t level = 0; level < grid.levels(); ++level) {
    const std::int64_t count = grid.count(level);
    const Tensor anchors = grid.boxes().rows(grid.first(level), grid.first(level) + count);
    const Tensor logits = on_host(grid.rows_of(maps[level], 1), host);
    const Tensor deltas = on_host(grid.rows_of(maps[grid.levels() + level], 4), host);
    std::int64_t row = 0;
    for (std::vector<ops::ProposalLevel>& of_image : of_images) {
      of_image.push_back(
          {anchors, logits.rows(row, row + count).alias({count}), deltas.rows(row, row + count)});
      row += count;
    }
  }
  std::vector<ops::Proposals> proposals;
  for (std::size_t i = 0; i < sizes.size(); ++i)
    proposals.push_back(ops::rpn_proposals(of_images[i], sizes[i][0], sizes[i][1], options));
  return proposals;
}

}  // namespace fovea::models
