// RetinaNet (Lin et al., Focal loss) over any backbone: one stage, a class and a box of every
// anchor. mala 4.5; names are mmdet's.

#include <algorithm>
#include <cmath>

#include "autograd/mode.h"
#include "models/detectors/anchor_grid.h"
#include "models/detectors/pyramid_detector.h"
#include "models/detectors/retina_head.h"
#include "models/detectors/truth.h"
#include "nn/sizes.h"
#include "ops/detection/nms.h"
#include "ops/detection/top_k.h"
#include "ops/elementwise.h"
#include "ops/losses/detection_loss.h"
#include "ops/reduce.h"
#include "ops/shape.h"

namespace {

using namespace fovea;
using models::AnchorGrid;
using models::DataShape;
using models::Detections;
using models::DetectionTruth;
using models::ImageSize;
using models::Outputs;

struct RetinaNetOptions : models::DetectorOptions {
  std::int64_t start_level = 1;
  std::int64_t feat_channels = 256, stacked_convs = 4;
  double octave_base_scale = 4;
  std::int64_t scales_per_octave = 3;
  std::vector<double> ratios = {0.5, 1, 2};
  double pos_iou_thr = 0.5, neg_iou_thr = 0.4, min_pos_iou = 0;
  double focal_alpha = 0.25, focal_gamma = 2;
  std::int64_t nms_pre = 1000;
  double score_thr = 0.05, nms_iou_thr = 0.5;
  std::int64_t max_per_img = 100;
};

ops::AnchorOptions anchors_of(const RetinaNetOptions& o) {
  ops::AnchorOptions anchors{.scales = {}, .ratios = o.ratios};
  for (std::int64_t i = 0; i < o.scales_per_octave; ++i) {
    const double octave = static_cast<double>(i) / static_cast<double>(o.scales_per_octave);
    anchors.scales.push_back(o.octave_base_scale * std::exp2(octave));
  }
  return anchors;
}

class RetinaNet final : public models::PyramidDetector {
 public:
  RetinaNet(const nn::Build& build, const RetinaNetOptions& o, const DataShape& data)
      : PyramidDetector(build, o, data, {o.start_level, 2, models::ExtraConvs::kOnInput}),
        o_(o),
        anchors_(anchors_of(o)),
        head_(
            child<models::RetinaHead>("bbox_head", build,
                                      models::RetinaHeadOptions{.in_channels = o.fpn_channels,
                                                                .feat_channels = o.feat_channels,
                                                                .stacked_convs = o.stacked_convs,
                                                                .num_anchors = anchors_.of_place(),
                                                                .num_classes = num_classes()})) {}
  std::string type() const override { return "RetinaNet"; }

 protected:
  Outputs forward(const models::Inputs& in, attention::Probe* probe) override {
    return {.maps = head_(pyramid(in.image, probe))};
  }

  // Focal loss of all anchors that count, and L1 of the deltas of positive ones; both over the
  // number of positive ones, of which each image counts at least one.
  Losses losses_of(const Outputs& out, const std::vector<ImageSize>& sizes,
                   const std::vector<DetectionTruth>& truth) override {
    const auto [scores, deltas] = halves(out.maps);
    const auto usable =
        models::usable_truth(truth, sizes, scores.front().size(0), num_classes(), false);
    const AnchorGrid grid(scores, strides(), anchors_);
    const Targets targets = targets_of(grid, sizes, usable);

    const Tensor found = grid.at(deltas, targets.positive, 4);
    const double each = 1.0 / static_cast<double>(targets.normaliser);
    Tensor focal;
    for (std::size_t level = 0; level < scores.size(); ++level) {
      const Tensor logits = grid.rows_of(scores[level], num_classes());
      const Tensor of =
          ops::sigmoid_focal_loss(logits, models::placed_as(targets.labels_of(grid, level), logits),
                                  o_.focal_alpha, o_.focal_gamma);
      focal = focal.defined() ? ops::add(focal, of) : of;
    }
    const Tensor off = ops::smooth_l1(
        found, models::placed_as(ops::concat(targets.deltas, 0), found), 0, ops::Reduction::kSum);
    return {{"loss_cls", ops::mul(focal, each)}, {"loss_bbox", ops::mul(off, each)}};
  }

  std::vector<Detections> detections(const Outputs& out,
                                     const std::vector<ImageSize>& sizes) override {
    const autograd::NoGrad no_grad;
    const auto [scores, deltas] = halves(out.maps);
    const AnchorGrid grid(scores, strides(), anchors_);
    std::vector<Best> best(sizes.size());
    for (std::size_t level = 0; level < grid.levels(); ++level)
      add_best(grid, level, scores[level], deltas[level], best);
    std::vector<Detections> found;
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      const Tensor boxes =
          ops::decode_boxes(ops::concat(best[i].anchors, 0), ops::concat(best[i].deltas, 0));
      const ops::Kept kept = ops::multiclass_nms(ops::clip_boxes(boxes, sizes[i][0], sizes[i][1]),
                                                 ops::sigmoid(ops::concat(best[i].logits, 0)),
                                                 o_.score_thr, o_.nms_iou_thr, o_.max_per_img);
      found.push_back({kept.boxes, kept.scores, kept.labels, {}});
      for (const std::int64_t row : kept.rows)
        found.back().strides.push_back(best[i].strides[static_cast<std::size_t>(row)]);
    }
    return found;
  }

 private:
  struct Targets {
    std::vector<std::vector<std::int64_t>> labels;  // of each image's anchors; -1 = not counted
    std::vector<AnchorGrid::Place> positive;
    std::vector<Tensor> deltas;  // of these, image by image
    std::int64_t normaliser = 0;

    // In the order of AnchorGrid::rows_of.
    Tensor labels_of(const AnchorGrid& grid, std::size_t level) const {
      std::vector<std::int64_t> all;
      for (const std::vector<std::int64_t>& of : labels)
        all.insert(all.end(), of.begin() + grid.first(level),
                   of.begin() + grid.first(level) + grid.count(level));
      return Tensor::from(all, {std::ssize(all)}, grid.boxes().device());
    }
  };

  // An image's anchors that may be detections, and what the head says of them, level by level.
  struct Best {
    std::vector<Tensor> anchors, logits, deltas;
    std::vector<std::int64_t> strides;  // of the level of each anchor
  };

  // Of a level the anchors whose best class has the highest score.
  void add_best(const AnchorGrid& grid, std::size_t level, const Tensor& scores,
                const Tensor& deltas, std::vector<Best>& to) const {
    const Device& host = grid.boxes().device();
    const std::int64_t count = grid.count(level);
    const Tensor anchors = grid.boxes().rows(grid.first(level), grid.first(level) + count);
    const Tensor logits = models::on_host(grid.rows_of(scores, num_classes()), host);
    const Tensor moves = models::on_host(grid.rows_of(deltas, 4), host);
    const Tensor best = ops::max(logits, {1});
    std::int64_t row = 0;
    for (Best& of : to) {
      const auto end = row + count;
      const std::vector<std::int64_t> rows =
          ops::top_k(best.rows(row, end).values<float>(), o_.nms_pre);
      of.anchors.push_back(models::take_rows(anchors, rows));
      of.logits.push_back(models::take_rows(logits.rows(row, end), rows));
      of.deltas.push_back(models::take_rows(moves.rows(row, end), rows));
      of.strides.insert(of.strides.end(), rows.size(), strides()[level]);
      row = end;
    }
  }

  static std::array<std::vector<Tensor>, 2> halves(const std::vector<Tensor>& maps) {
    const auto middle = maps.begin() + std::ssize(maps) / 2;
    return {std::vector<Tensor>(maps.begin(), middle), std::vector<Tensor>(middle, maps.end())};
  }

  Targets targets_of(const AnchorGrid& grid, const std::vector<ImageSize>& sizes,
                     const std::vector<DetectionTruth>& truth) const {
    const ops::AssignOptions assigning{.positive = o_.pos_iou_thr,
                                       .negative = o_.neg_iou_thr,
                                       .min_positive = o_.min_pos_iou,
                                       .low_quality = true};
    Targets targets;
    for (std::size_t i = 0; i < truth.size(); ++i) {
      const auto classes = truth[i].labels.host_values<std::int64_t>();
      std::vector<std::int64_t> labels = grid.assign(truth[i], sizes[i], assigning, false);
      std::vector<std::int64_t> anchors;
      std::vector<std::int64_t> matched;
      for (std::size_t anchor = 0; anchor < labels.size(); ++anchor) {
        const std::int64_t object = labels[anchor] - 1;
        if (object == -1) labels[anchor] = num_classes();
        if (object < 0) continue;
        labels[anchor] = classes[static_cast<std::size_t>(object)];
        anchors.push_back(static_cast<std::int64_t>(anchor));
        matched.push_back(object);
        targets.positive.push_back({static_cast<std::int64_t>(i), anchors.back()});
      }
      targets.labels.push_back(std::move(labels));
      targets.deltas.push_back(ops::encode_boxes(models::take_rows(grid.boxes(), anchors),
                                                 models::take_rows(truth[i].boxes, matched)));
      targets.normaliser += std::max<std::int64_t>(1, std::ssize(anchors));
    }
    return targets;
  }

  RetinaNetOptions o_;
  ops::AnchorOptions anchors_;
  models::RetinaHead& head_;
};

schema::Fields<RetinaNetOptions> retinanet_fields() {
  using O = RetinaNetOptions;
  using schema::at_least;
  using schema::greater_than;
  using schema::in_range;
  schema::Fields<O> fields;
  fields
      .add("start_level", &O::start_level, at_least(0),
           "the finest level of the backbone that is used, from 0")
      .add("feat_channels", &O::feat_channels, nn::channel_count(),
           "channels of the head's convolutions")
      .add("stacked_convs", &O::stacked_convs, nn::block_count(0),
           "convolutions before the last one, for classes and for boxes")
      .add("octave_base_scale", &O::octave_base_scale, greater_than(0),
           "side of the smallest square anchor over the stride of the level")
      .add("scales_per_octave", &O::scales_per_octave, schema::in_range(1, 64),
           "sizes of anchors from one level to the next")
      .add("ratios", &O::ratios, greater_than(0), "heights of anchors over their widths")
      .add("pos_iou_thr", &O::pos_iou_thr, in_range(0, 1),
           "anchors whose best overlap with an object is at least this are positive")
      .add("neg_iou_thr", &O::neg_iou_thr, in_range(0, 1), "and below this negative")
      .add("min_pos_iou", &O::min_pos_iou, in_range(0, 1),
           "the best anchors of an object are positive where their overlap is at least this")
      .add("focal_alpha", &O::focal_alpha, in_range(0, 1), "weight of positive anchors")
      .add("focal_gamma", &O::focal_gamma, at_least(0), "power by which easy anchors count less")
      .add("nms_pre", &O::nms_pre, at_least(1), "best anchors of each level before suppression")
      .add("score_thr", &O::score_thr, in_range(0, 1), "detections have at least this score")
      .add("nms_iou_thr", &O::nms_iou_thr, in_range(0, 1),
           "a detection that overlaps a better one of its class by more is dropped")
      .add("max_per_img", &O::max_per_img, at_least(1), "detections of an image");
  return models::add_detector_fields(fields);
}

}  // namespace

FOVEA_MODEL(retinanet, RetinaNet, "RetinaNet over any backbone: boxes in one stage (mala 4.5)",
            retinanet_fields())
