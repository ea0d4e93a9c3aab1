#include "models/detectors/roi_head.h"

#include <fmt/format.h>

#include "autograd/mode.h"
#include "base/error.h"
#include "models/detectors/truth.h"
#include "nn/sizes.h"
#include "ops/detection/masks.h"
#include "ops/detection/nms.h"
#include "ops/detection/roi_align.h"
#include "ops/elementwise.h"
#include "ops/indexing.h"
#include "ops/losses/detection_loss.h"
#include "ops/losses/loss.h"
#include "ops/reduce.h"
#include "ops/shape.h"

namespace fovea::models {
namespace {

constexpr double kGiouWeight = 10;
constexpr double kGiouEps = 1e-6;

// Of a batch side by side.
template <class T, class Member>
std::vector<T> joined(const std::vector<RoiSamples>& samples, const Member& member) {
  std::vector<T> all;
  for (const RoiSamples& of : samples) {
    const auto part = member(of);
    all.insert(all.end(), part.begin(), part.end());
  }
  return all;
}

std::vector<Tensor> boxes_of(const std::vector<RoiSamples>& samples) {
  std::vector<Tensor> boxes;
  for (const RoiSamples& of : samples) boxes.push_back(of.boxes);
  return boxes;
}

// Rows of the positive regions of a batch.
std::vector<std::int64_t> positive_rows(const std::vector<RoiSamples>& samples) {
  std::vector<std::int64_t> rows;
  std::int64_t first = 0;
  for (const RoiSamples& of : samples) {
    for (std::int64_t i = 0; i < of.positive(); ++i) rows.push_back(first + i);
    first += of.boxes.size(0);
  }
  return rows;
}

std::vector<std::int64_t> positive_labels(const std::vector<RoiSamples>& samples) {
  return joined<std::int64_t>(samples, [](const RoiSamples& of) {
    return std::vector<std::int64_t>(of.labels.begin(), of.labels.begin() + of.positive());
  });
}

Tensor indices(const std::vector<std::int64_t>& values, const Device& device) {
  return Tensor::from(values, {std::ssize(values)}, device);
}

// The deltas of one class of each of these rows: (n, 4 k) -> (rows, 4), with gradient.
Tensor deltas_of_class(const Tensor& deltas, const std::vector<std::int64_t>& rows,
                       const std::vector<std::int64_t>& classes) {
  std::vector<std::int64_t> index;
  index.reserve(4 * rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    for (std::int64_t c = 0; c < 4; ++c)
      index.push_back(rows[i] * deltas.size(1) + 4 * classes[i] + c);
  }
  const Tensor flat = ops::reshape(deltas, {deltas.numel()});
  return ops::reshape(ops::gather(flat, 0, indices(index, deltas.device())), {std::ssize(rows), 4});
}

// The class with the highest logit that is not the background: (n, k + 1) -> n.
std::vector<std::int64_t> best_classes(const Tensor& logits) {
  const Tensor classes = ops::argmax(ops::slice(logits.detach(), 1, 0, logits.size(1) - 1));
  const auto values = classes.host_values<std::int64_t>();
  return {values.begin(), values.end()};
}

// Boxes (n, 4) moved by the deltas (n, 4 k) of one class each.
Tensor moved(const Tensor& boxes, const Tensor& deltas, const std::vector<std::int64_t>& classes,
             const ops::BoxCoder& coder, const ImageSize& size) {
  std::vector<std::int64_t> rows;
  for (std::int64_t i = 0; i < boxes.size(0); ++i) rows.push_back(i);
  const Tensor by = on_host(deltas_of_class(deltas, rows, classes), boxes.device());
  return ops::clip_boxes(ops::decode_boxes(boxes, by, coder), size[0], size[1]);
}

// The same for every class: (n, 4 k).
Tensor moved_by_all(const Tensor& boxes, const Tensor& deltas, const ops::BoxCoder& coder,
                    const ImageSize& size) {
  const std::int64_t n = boxes.size(0);
  const std::int64_t classes = deltas.size(1) / 4;
  const Tensor each =
      ops::reshape(ops::expand(ops::reshape(boxes, {n, 1, 4}), {n, classes, 4}), {n * classes, 4});
  const Tensor by = ops::reshape(on_host(deltas, boxes.device()), {n * classes, 4});
  const Tensor found = ops::clip_boxes(ops::decode_boxes(each, by, coder), size[0], size[1]);
  return ops::reshape(found, {n, 4 * classes});
}

// One map of the class of each region: (n, k, side, side) -> (n, side, side).
Tensor of_label(const Tensor& maps, const std::vector<std::int64_t>& labels) {
  const std::int64_t classes = maps.size(1);
  const std::int64_t side = maps.size(2);
  std::vector<std::int64_t> rows;
  for (std::size_t i = 0; i < labels.size(); ++i)
    rows.push_back(static_cast<std::int64_t>(i) * classes + labels[i]);
  const Tensor flat = ops::reshape(maps, {maps.size(0) * classes, side * side});
  return ops::reshape(ops::embedding(flat, indices(rows, maps.device())),
                      {std::ssize(rows), side, side});
}

std::array<double, 4> stds_of(std::size_t stage) {
  static constexpr std::array<std::array<double, 4>, 3> kStds = {
      {{0.1, 0.1, 0.2, 0.2}, {0.05, 0.05, 0.1, 0.1}, {0.033, 0.033, 0.067, 0.067}}};
  return kStds.at(std::min<std::size_t>(stage, 2));
}

}  // namespace

schema::Fields<RoiHeadOptions> roi_head_fields(const RoiHeadOptions& defaults) {
  using O = RoiHeadOptions;
  using schema::at_least;
  using schema::in_range;
  return schema::Fields<O>(defaults)
      .add("iou_thrs", &O::iou_thrs, in_range(0, 1),
           "regions whose overlap with an object is at least this are positive, others negative; "
           "one number a stage")
      .add("stage_weights", &O::stage_weights, at_least(0), "weights of the losses of each stage")
      .add("low_quality", &O::low_quality,
           "the best regions of an object are positive from the same overlap on, whatever other "
           "objects they overlap more")
      .add("num_samples", &O::num_samples, at_least(1), "regions of an image that are trained")
      .add("positive_fraction", &O::positive_fraction, in_range(0, 1), "of them at most positive")
      .add("finest_scale", &O::finest_scale, schema::greater_than(0),
           "regions with sqrt(w h) below twice this are cut out of the finest level, up to twice "
           "as large ones of the next, and so on")
      .add("fc_channels", &O::fc_channels, nn::channel_count(), "width of fully connected layers")
      .add("head_conv_channels", &O::head_conv_channels, nn::channel_count(),
           "channels of convolutions of regions")
      .add("bbox_side", &O::bbox_side, nn::side_length(),
           "side of a region's map for class and box")
      .add("mask_side", &O::mask_side, nn::side_length(),
           "side of a region's map for the mask, which is twice as large")
      .add("score_thr", &O::score_thr, in_range(0, 1), "detections have at least this score")
      .add("nms_iou_thr", &O::nms_iou_thr, in_range(0, 1),
           "a detection that overlaps a better one of its class by more is dropped")
      .add("max_per_img", &O::max_per_img, at_least(1), "detections of an image");
}

RoiHead::RoiHead(const nn::Build& build, std::int64_t in_channels, std::int64_t num_classes,
                 const std::vector<std::int64_t>& strides, const RoiHeadOptions& o)
    : o_(o), num_classes_(num_classes), strides_(strides.begin(), strides.end()) {
  const std::size_t stages = o.iou_thrs.size();
  FOVEA_CHECK(
      stages > 0 && stages == o.stage_weights.size() && (o.cascade || stages == 1), ConfigError,
      fmt::format("model.rcnn: {} iou_thrs and {} stage_weights; expected one of each for "
                  "{}",
                  stages, o.stage_weights.size(), o.cascade ? "each stage" : "the only stage"));
  for (std::size_t s = 0; s < stages; ++s) {
    const auto named = [&](const char* head) {
      return o.cascade ? fmt::format("{}.{}", head, s) : std::string(head);
    };
    BBoxHead& bbox = child<BBoxHead>(named("bbox_head"), build,
                                     BBoxHeadOptions{.in_channels = in_channels,
                                                     .side = o.bbox_side,
                                                     .num_classes = num_classes,
                                                     .num_shared_convs = o.cascade ? 4 : 0,
                                                     .conv_channels = o.head_conv_channels,
                                                     .num_shared_fcs = o.cascade ? 1 : 2,
                                                     .fc_channels = o.fc_channels});
    MaskHead* mask = nullptr;
    if (o.masks)
      mask = &child<MaskHead>(named("mask_head"), build,
                              MaskHeadOptions{.in_channels = in_channels,
                                              .num_classes = num_classes,
                                              .conv_channels = o.head_conv_channels});
    const double iou = o.iou_thrs[s];
    const RoiSamplingOptions sampling{.assigning = {.positive = iou,
                                                    .negative = iou,
                                                    .min_positive = iou,
                                                    .low_quality = o.low_quality},
                                      .num_samples = o.num_samples,
                                      .positive_fraction = o.positive_fraction,
                                      .num_classes = num_classes};
    stages_.push_back({bbox, mask, {.stds = stds_of(s)}, sampling, o.stage_weights[s]});
  }
}

Detector::Losses RoiHead::losses(const std::vector<Tensor>& levels,
                                 const std::vector<ImageSize>& sizes,
                                 const std::vector<DetectionTruth>& truth,
                                 std::vector<Tensor> proposals) {
  const auto scope = enter();
  const RandomStream random = next_random();
  Detector::Losses losses;
  for (std::size_t s = 0; s < stages_.size(); ++s) {
    const Stage& stage = stages_[s];
    Batch batch;
    for (std::size_t i = 0; i < truth.size(); ++i)
      batch.samples.push_back(
          sample_rois(proposals[i], truth[i], stage.sampling, random.fork(s).fork(i)));
    batch.out = stage.bbox(cut_out(levels, rois_of(boxes_of(batch.samples)), o_.bbox_side));
    const auto labels =
        joined<std::int64_t>(batch.samples, [](const RoiSamples& of) { return of.labels; });
    const auto add = [&](const char* name, const Tensor& loss) {
      losses.emplace_back(o_.cascade ? fmt::format("s{}.{}", s, name) : name,
                          ops::mul(loss, stage.weight));
    };
    add("loss_cls",
        ops::cross_entropy(batch.out.logits, indices(labels, batch.out.logits.device())));
    add("loss_bbox", bbox_loss(stage, batch, truth));
    if (stage.mask != nullptr) add("loss_mask", mask_loss(stage, levels, batch, truth));
    if (s + 1 < stages_.size()) proposals = refined(stage, batch, sizes);
  }
  return losses;
}

Tensor RoiHead::cut_out(const std::vector<Tensor>& levels, const Tensor& rois,
                        std::int64_t side) const {
  return ops::extract_rois(levels, strides_, rois, side, {.finest_scale = o_.finest_scale});
}

Tensor RoiHead::bbox_loss(const Stage& stage, const Batch& batch,
                          const std::vector<DetectionTruth>& truth) const {
  std::vector<Tensor> regions;
  std::vector<Tensor> objects;
  for (std::size_t i = 0; i < truth.size(); ++i) {
    regions.push_back(batch.samples[i].boxes.rows(0, batch.samples[i].positive()));
    objects.push_back(take_rows(truth[i].boxes, batch.samples[i].matched));
  }
  const Tensor from = ops::concat(regions, 0);
  const Tensor to = ops::concat(objects, 0);
  const Tensor deltas = deltas_of_class(batch.out.deltas, positive_rows(batch.samples),
                                        positive_labels(batch.samples));
  const auto sampled = std::max<std::int64_t>(1, batch.out.deltas.size(0));
  if (!o_.cascade) {
    const Tensor target = placed_as(ops::encode_boxes(from, to, stage.coder), deltas);
    return ops::mul(ops::smooth_l1(deltas, target, 0, ops::Reduction::kSum),
                    1.0 / static_cast<double>(sampled));
  }
  const Tensor found = ops::decode_boxes(placed_as(from, deltas), deltas, stage.coder);
  return ops::mul(ops::sum(ops::giou_loss(found, placed_as(to, deltas), kGiouEps)),
                  kGiouWeight / static_cast<double>(sampled));
}

Tensor RoiHead::mask_loss(const Stage& stage, const std::vector<Tensor>& levels, const Batch& batch,
                          const std::vector<DetectionTruth>& truth) const {
  std::vector<Tensor> regions;
  std::vector<Tensor> targets;
  for (std::size_t i = 0; i < truth.size(); ++i) {
    const RoiSamples& samples = batch.samples[i];
    regions.push_back(samples.boxes.rows(0, samples.positive()));
    targets.push_back(
        ops::mask_targets(truth[i].masks, regions.back(), samples.matched, 2 * o_.mask_side));
  }
  const Tensor logits = (*stage.mask)(cut_out(levels, rois_of(regions), o_.mask_side));
  return ops::mask_bce(logits, indices(positive_labels(batch.samples), logits.device()),
                       placed_as(ops::concat(targets, 0), logits));
}

std::vector<Tensor> RoiHead::refined(const Stage& stage, const Batch& batch,
                                     const std::vector<ImageSize>& sizes) const {
  const autograd::NoGrad no_grad;
  const std::vector<std::int64_t> best = best_classes(batch.out.logits);
  std::vector<Tensor> regions;
  std::int64_t first = 0;
  for (std::size_t i = 0; i < batch.samples.size(); ++i) {
    const RoiSamples& samples = batch.samples[i];
    const std::int64_t count = samples.boxes.size(0);
    std::vector<std::int64_t> classes = samples.labels;
    std::vector<std::int64_t> proposed;  // rows
    for (std::int64_t row = 0; row < count; ++row) {
      const auto at = static_cast<std::size_t>(row);
      if (classes[at] == num_classes_) classes[at] = best[static_cast<std::size_t>(first + row)];
      if (!samples.from_truth[at]) proposed.push_back(row);
    }
    const Tensor all = moved(samples.boxes, batch.out.deltas.detach().rows(first, first + count),
                             classes, stage.coder, sizes[i]);
    regions.push_back(take_rows(all, proposed));
    first += count;
  }
  return regions;
}

Detections RoiHead::detections(const std::vector<Tensor>& levels, std::int64_t image,
                               const ImageSize& size, const Tensor& proposals) {
  const auto scope = enter();
  const autograd::NoGrad no_grad;
  const Device& host = proposals.device();
  Tensor boxes = proposals;
  Tensor logits;
  Tensor all;
  for (std::size_t s = 0; s < stages_.size(); ++s) {
    const Stage& stage = stages_[s];
    const BBoxHead::Outputs out =
        stage.bbox(cut_out(levels, rois_of({boxes}, image), o_.bbox_side));
    logits = logits.defined() ? ops::add(logits, out.logits) : out.logits;
    if (s + 1 < stages_.size()) {
      boxes = moved(boxes, out.deltas, best_classes(out.logits), stage.coder, size);
    } else {
      all = moved_by_all(boxes, out.deltas, stage.coder, size);
    }
  }
  const Tensor mean = ops::mul(logits, 1.0 / static_cast<double>(stages_.size()));
  const Tensor scores = ops::slice(on_host(ops::softmax(mean), host), 1, 0, num_classes_);
  const ops::Kept kept =
      ops::multiclass_nms(all, scores, o_.score_thr, o_.nms_iou_thr, o_.max_per_img);
  Detections found{kept.boxes, kept.scores, kept.labels, {}};
  // The regions that the last stage moved.
  const std::vector<std::int64_t> read =
      ops::roi_levels(rois_of({boxes}, image), std::ssize(strides_), o_.finest_scale);
  for (const std::int64_t row : kept.rows) {
    const std::int64_t level = read[static_cast<std::size_t>(row)];
    found.strides.push_back(static_cast<std::int64_t>(strides_[static_cast<std::size_t>(level)]));
  }
  if (o_.masks) found.masks = masks_of(levels, rois_of({kept.boxes}, image), kept.labels);
  return found;
}

std::vector<Tensor> RoiHead::forward_dummy(const std::vector<Tensor>& levels,
                                           std::int64_t proposals) {
  const auto scope = enter();
  const Tensor& finest = levels.front();
  const auto positive =
      static_cast<std::int64_t>(o_.positive_fraction * static_cast<double>(o_.num_samples));
  const std::int64_t boxes = training() ? o_.num_samples : proposals;
  const std::int64_t masks = training() ? positive : o_.max_per_img;
  const auto regions = [&](std::int64_t of_image, std::int64_t side) {
    return Tensor::empty({finest.size(0) * of_image, finest.size(1), side, side}, finest.dtype(),
                         finest.device());
  };
  std::vector<Tensor> outputs;
  for (const Stage& stage : stages_) {
    const BBoxHead::Outputs out = stage.bbox(regions(boxes, o_.bbox_side));
    outputs.push_back(out.logits);
    outputs.push_back(out.deltas);
    if (stage.mask != nullptr && masks > 0)
      outputs.push_back((*stage.mask)(regions(masks, o_.mask_side)));
  }
  return outputs;
}

Tensor RoiHead::masks_of(const std::vector<Tensor>& levels, const Tensor& rois,
                         const Tensor& labels) {
  const std::int64_t side = 2 * o_.mask_side;
  if (rois.size(0) == 0) return Tensor::empty({0, side, side}, DType::kFloat32, rois.device());
  const auto values = labels.host_values<std::int64_t>();
  const std::vector<std::int64_t> classes(values.begin(), values.end());
  Tensor sum;
  const Tensor regions = cut_out(levels, rois, o_.mask_side);
  for (const Stage& stage : stages_) {
    const Tensor probabilities = ops::sigmoid(of_label((*stage.mask)(regions), classes));
    sum = sum.defined() ? ops::add(sum, probabilities) : probabilities;
  }
  return on_host(ops::mul(sum, 1.0 / static_cast<double>(stages_.size())), rois.device());
}

}  // namespace fovea::models
