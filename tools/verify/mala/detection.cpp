// What the mala paper's detectors are made of: boxes and masks on the host, RoIAlign, losses.

#include <fmt/format.h>

#include "backend/devices.h"
#include "ops/create.h"
#include "ops/detection/anchors.h"
#include "ops/detection/assign.h"
#include "ops/detection/boxes.h"
#include "ops/detection/masks.h"
#include "ops/detection/nms.h"
#include "ops/detection/proposals.h"
#include "ops/detection/roi_align.h"
#include "ops/elementwise.h"
#include "ops/losses/detection_loss.h"
#include "ops/reduce.h"
#include "ops/shape.h"
#include "verify/module_case.h"
#include "verify/runners.h"

namespace fovea::verify {
namespace {

using schema::Value;
using Tensors = std::map<std::string, Tensor>;

// Boxes are the host's.
Tensor on_host(const Tensor& x) { return x.device().is_host() ? x : x.copy_on(make_cpu(1)); }

Tensor integers(const std::vector<std::int64_t>& values) {
  return Tensor::from(values, {std::ssize(values)}, make_cpu(1));
}

std::vector<std::int64_t> numbers_in(const Tensor& x) {
  const auto values = x.host_values<std::int64_t>();
  return {values.begin(), values.end()};
}

ops::AnchorOptions anchors_of(const Case& c) {
  return {.scales = c.config().numbers("scales"),
          .ratios = c.config().numbers("ratios"),
          .center_offset = c.number("center_offset", 0)};
}

void run_anchors(const Case& c, Checker& check) {
  const ops::AnchorOptions options = anchors_of(c);
  const std::vector<double> strides = c.config().numbers("strides");
  const Value& sizes = c.value("featmap_sizes");
  run_operation(
      c,
      [&](const Inputs&) {
        Tensors outputs;
        for (std::size_t i = 0; i < strides.size(); ++i) {
          const Value& size = sizes.at(i);
          outputs[fmt::format("base_{}", i)] = ops::grid_anchors(1, 1, strides[i], options);
          outputs[fmt::format("grid_{}", i)] =
              ops::grid_anchors(size.at(std::size_t{0}).as_int(), size.at(std::size_t{1}).as_int(),
                                strides[i], options);
        }
        return outputs;
      },
      check);
}

// Of every box, 0 without truth.
Tensor largest_overlaps(const Tensor& boxes, const Tensor& truth) {
  if (truth.size(0) == 0) return ops::zeros({boxes.size(0)}, DType::kFloat32, boxes.device());
  return ops::max(ops::box_iou(boxes, truth), {1});
}

void run_assigner(const Case& c, Checker& check) {
  const ops::AssignOptions options{.positive = c.number("pos_iou_thr"),
                                   .negative = c.number("neg_iou_thr"),
                                   .min_positive = c.number("min_pos_iou", 0),
                                   .low_quality = c.flag("match_low_quality", true)};
  c.config().only("gt_max_assign_all", true);
  run_operation(
      c,
      [&](const Inputs& inputs) -> Tensors {
        const Tensor boxes = on_host(inputs.at("boxes")), truth = on_host(inputs.at("gt"));
        const std::vector<std::int64_t> of_truth = numbers_in(inputs.at("gt_labels"));
        const std::vector<std::int64_t> assigned = ops::assign_boxes(boxes, truth, options);
        std::vector<std::int64_t> labels;
        for (const std::int64_t to : assigned)
          labels.push_back(to > 0 ? of_truth[static_cast<std::size_t>(to - 1)] : -1);
        return {{"gt_inds", integers(assigned)},
                {"labels", integers(labels)},
                {"max_overlaps", largest_overlaps(boxes, truth)}};
      },
      check);
}

// Deltas of several classes lie side by side.
void run_coder(const Case& c, Checker& check) {
  ops::BoxCoder coder{.wh_ratio_clip = c.number("wh_ratio_clip", ops::BoxCoder{}.wh_ratio_clip)};
  const std::vector<double> stds = c.config().numbers("stds");
  if (stds.size() != coder.stds.size()) c.config().refuse("stds");
  std::copy(stds.begin(), stds.end(), coder.stds.begin());
  if (c.given("means")) {
    for (const double mean : c.config().numbers("means")) {
      if (mean != 0) c.config().refuse("means");
    }
  }
  const std::vector<std::int64_t> size = c.config().integers("max_shape");
  if (size.size() != 2) c.config().refuse("max_shape");
  run_operation(
      c,
      [&](const Inputs& inputs) -> Tensors {
        const Tensor& proposals = inputs.at("proposals");
        const Tensor& deltas = inputs.at("deltas");
        std::vector<Tensor> decoded, clipped;
        for (std::int64_t first = 0; first < deltas.size(1); first += 4) {
          decoded.push_back(ops::decode_boxes(proposals, ops::slice(deltas, 1, first, 4), coder));
          clipped.push_back(ops::clip_boxes(on_host(decoded.back().detach()), size[0], size[1]));
        }
        return {
            {"decoded_noclip", ops::concat(decoded, 1)},
            {"decoded", ops::concat(clipped, 1)},
            {"encoded", ops::encode_boxes(on_host(proposals), on_host(inputs.at("gt")), coder)}};
      },
      check);
}

// 1 - the loss, of every pair or row by row.
Tensor giou(const Tensor& a, const Tensor& b) { return ops::affine(ops::giou_loss(a, b), -1, 1); }
Tensor giou_of_pairs(const Tensor& a, const Tensor& b) {
  const std::int64_t n = a.size(0), m = b.size(0);
  const Tensor left = ops::expand(ops::reshape(a, {n, 1, 4}), {n, m, 4});
  const Tensor right = ops::expand(ops::reshape(b, {1, m, 4}), {n, m, 4});
  return ops::reshape(giou(ops::reshape(left, {n * m, 4}), ops::reshape(right, {n * m, 4})),
                      {n, m});
}

void run_overlaps(const Case& c, Checker& check) {
  c.config().only("eps", 1e-6);
  run_operation(
      c,
      [&](const Inputs& inputs) -> Tensors {
        const Tensor &a = inputs.at("a"), &b = inputs.at("b");
        return {{"iou", ops::box_iou(on_host(a), on_host(b))},
                {"iof", ops::box_iof(on_host(a), on_host(b))},
                {"giou", giou_of_pairs(a, b)},
                {"giou_aligned", giou(a, inputs.at("c"))}};
      },
      check);
}

void run_nms(const Case& c, Checker& check) {
  const double threshold = c.number("iou_threshold");
  run_operation(
      c,
      [&](const Inputs& inputs) -> Tensors {
        const Tensor boxes = on_host(inputs.at("boxes")), scores = on_host(inputs.at("scores"));
        return {{"keep", integers(ops::nms(boxes, scores, threshold))},
                {"keep_batched", integers(ops::batched_nms(
                                     boxes, scores, numbers_in(inputs.at("ids")), threshold))}};
      },
      check);
}

// Boxes with their scores as a fifth column.
Tensor with_scores(const Tensor& boxes, const Tensor& scores) {
  return ops::concat({boxes, ops::reshape(scores, {scores.numel(), 1})}, 1);
}

// The last column of the scores is that of background.
void run_multiclass_nms(const Case& c, Checker& check) {
  const double score_threshold = c.number("score_thr"), threshold = c.number("iou_threshold");
  const std::int64_t most = c.integer("max_per_img", -1);
  run_operation(
      c,
      [&](const Inputs& inputs) -> Tensors {
        const Tensor scores = on_host(inputs.at("scores"));
        const ops::Kept kept = ops::multiclass_nms(on_host(inputs.at("boxes")),
                                                   ops::slice(scores, 1, 0, scores.size(1) - 1),
                                                   score_threshold, threshold, most);
        return {{"dets", with_scores(kept.boxes, kept.scores)}, {"labels", kept.labels}};
      },
      check);
}

// Maps of a level: values of an anchor are neighbouring channels.
Tensor by_place(const Tensor& map, std::int64_t values) {
  const Tensor rows = ops::permute(map, {0, 2, 3, 1});
  return ops::reshape(rows, {rows.numel() / values, values});
}

void run_proposals(const Case& c, Checker& check) {
  const ops::AnchorOptions anchors = anchors_of(c);
  const std::vector<double> strides = c.config().numbers("strides");
  const std::vector<std::int64_t> size = c.config().integers("img_shape");
  if (size.size() != 2) c.config().refuse("img_shape");
  const ops::ProposalOptions options{.nms_pre = c.integer("nms_pre"),
                                     .iou_threshold = c.number("iou_threshold"),
                                     .most = c.integer("max_per_img")};
  run_operation(
      c,
      [&](const Inputs& inputs) -> Tensors {
        std::vector<ops::ProposalLevel> levels;
        for (std::size_t i = 0; i < strides.size(); ++i) {
          const Tensor logits = on_host(inputs.at(fmt::format("cls{}", i)));
          const Tensor deltas = on_host(inputs.at(fmt::format("reg{}", i)));
          levels.push_back({ops::grid_anchors(logits.size(2), logits.size(3), strides[i], anchors),
                            ops::reshape(by_place(logits, 1), {-1}), by_place(deltas, 4)});
        }
        const ops::Proposals found = ops::rpn_proposals(levels, size[0], size[1], options);
        return {{"proposals", with_scores(found.boxes, found.scores)}};
      },
      check);
}

// One number for both axes, or one each.
std::vector<std::int64_t> two_of(const Case& c, const char* key) {
  std::vector<std::int64_t> sizes = c.config().holds_array(key)
                                        ? c.config().integers(key)
                                        : std::vector<std::int64_t>(2, c.integer(key));
  if (sizes.size() != 2) c.config().refuse(key);
  return sizes;
}

// The boxes are constants, which the case has among its outputs.
void run_roi_align(const Case& c, Checker& check) {
  const std::vector<std::int64_t> size = two_of(c, "output_size");
  const ops::RoiAlignOptions options{.height = size[0],
                                     .width = size[1],
                                     .spatial_scale = c.number("spatial_scale"),
                                     .sampling_ratio = c.integer("sampling_ratio", 0)};
  c.config().only("aligned", true);
  const Tensor& rois = c.at("output/rois_used");
  run_operation(
      c,
      [&](const Inputs& inputs) -> Tensors {
        return {{"y", ops::roi_align(inputs.at("features"), rois, options)}, {"rois_used", rois}};
      },
      check);
}

void run_extractor(const Case& c, Checker& check) {
  const ops::RoiLevelOptions options{.finest_scale = c.number("finest_scale", 56),
                                     .sampling_ratio = c.integer("sampling_ratio", 0)};
  const std::vector<double> strides = c.config().numbers("strides");
  const std::int64_t size = c.integer("output_size");
  c.config().only("aligned", true);
  const Tensor rois = c.on_host("output/rois_used");
  run_operation(
      c,
      [&](const Inputs& inputs) -> Tensors {
        std::vector<Tensor> levels;
        for (std::size_t i = 0; i < strides.size(); ++i)
          levels.push_back(inputs.at(fmt::format("p{}", i)));
        return {
            {"y", ops::extract_rois(levels, strides, rois, size, options)},
            {"levels", integers(ops::roi_levels(rois, std::ssize(levels), options.finest_scale))},
            {"rois_used", rois}};
      },
      check);
}

void run_mask_target(const Case& c, Checker& check) {
  c.config().only("threshold", 0.5);
  const std::int64_t side = c.integer("mask_size");
  run_operation(
      c,
      [&](const Inputs& inputs) -> Tensors {
        return {
            {"y", ops::mask_targets(on_host(inputs.at("gt_masks")), on_host(inputs.at("proposals")),
                                    numbers_in(inputs.at("gt_inds")), side)}};
      },
      check);
}

void run_mask_paste(const Case& c, Checker& check) {
  const std::int64_t h = c.integer("img_h"), w = c.integer("img_w");
  const double threshold = c.number("threshold");
  run_operation(
      c,
      [&](const Inputs& inputs) -> Tensors {
        const Tensor soft =
            ops::paste_masks(on_host(inputs.at("masks")), on_host(inputs.at("boxes")), h, w);
        return {{"soft", soft},
                {"binary",
                 ops::greater_equal(soft, ops::full({}, threshold, soft.dtype(), soft.device()))}};
      },
      check);
}

// Sums over boxes, divided by a number of the case.
void run_box_losses(const Case& c, Checker& check) {
  const double share = 1 / c.number("avg_factor");
  const double beta = c.number("beta"), eps = c.number("giou_eps");
  run_operation(
      c,
      [&](const Inputs& inputs) -> Tensors {
        const Tensor &pred = inputs.at("pred"), &target = inputs.at("target");
        const auto sum = [&](double of) {
          return ops::mul(ops::smooth_l1(pred, target, of, ops::Reduction::kSum), share);
        };
        return {{"l1", sum(0)},
                {"smooth_l1", sum(beta)},
                {"giou", ops::mul(ops::sum(ops::giou_loss(pred, target, eps)), share)}};
      },
      check);
}

void run_focal_loss(const Case& c, Checker& check) {
  const double alpha = c.number("alpha"), gamma = c.number("gamma");
  const double share = 1 / c.number("avg_factor");
  run_operation(
      c,
      [&](const Inputs& inputs) -> Tensors {
        const Tensor each = ops::sigmoid_focal_loss(inputs.at("logits"), inputs.at("target"), alpha,
                                                    gamma, ops::Reduction::kNone);
        const Tensor weight = ops::reshape(inputs.at("weight"), {each.size(0), 1});
        return {{"elementwise", each}, {"loss", ops::mul(ops::sum(ops::mul(each, weight)), share)}};
      },
      check);
}

void run_mask_bce(const Case& c, Checker& check) {
  run_operation(
      c,
      [&](const Inputs& inputs) -> Tensors {
        return {{"loss", ops::mask_bce(inputs.at("mask_logits"), inputs.at("labels"),
                                       inputs.at("mask_targets"))}};
      },
      check);
}

}  // namespace

Table mala_detection() {
  Table table;
  table.add("anchor_generator") = run_anchors;
  table.add("max_iou_assigner") = run_assigner;
  table.add("delta_xywh_coder") = run_coder;
  table.add("bbox_overlaps") = run_overlaps;
  table.add("nms") = run_nms;
  table.add("multiclass_nms") = run_multiclass_nms;
  table.add("rpn_get_bboxes") = run_proposals;
  table.add("roi_align") = run_roi_align;
  table.add("single_roi_extractor") = run_extractor;
  table.add("mask_target") = run_mask_target;
  table.add("mask_paste") = run_mask_paste;
  table.add("box_losses") = run_box_losses;
  table.add("focal_loss") = run_focal_loss;
  table.add("mask_bce") = run_mask_bce;
  return table;
}

}  // namespace fovea::verify
