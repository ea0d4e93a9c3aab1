// Operations that do not belong to networks alone, on a batch of 0; and that the table is whole.
#include "tests/ops/empty_batch.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <set>

#include "ops/activation.h"
#include "ops/attention/linear_attention.h"
#include "ops/detection/anchors.h"
#include "ops/detection/boxes.h"
#include "ops/detection/masks.h"
#include "ops/detection/roi_align.h"
#include "ops/diffusion/diffusion.h"
#include "ops/elementwise.h"
#include "ops/indexing.h"
#include "ops/losses/ctc_loss.h"
#include "ops/losses/detection_loss.h"
#include "ops/losses/focal_loss.h"
#include "ops/losses/labels.h"
#include "ops/losses/loss.h"
#include "ops/losses/mask_loss.h"
#include "ops/losses/region_loss.h"
#include "ops/losses/volume_loss.h"
#include "ops/reduce.h"
#include "ops/relevance.h"
#include "ops/shape.h"
#include "tests/ops/element_ops.h"
#include "tests/support/paths.h"

using namespace fovea;
using namespace fovea::test;

namespace fovea::test {

std::vector<Case> shape_cases() {
  const Shape rows{0, 4};
  return {
      {"reshape",
       {{0, 2, 6}},
       {},
       [](const auto& t) {
         return ops::reshape(t[0], {0, 3, -1});
       },
       {0, 3, 4}},
      {"reshape an empty axis by itself",
       {{0, 2, 6}},
       {},
       [](const auto& t) {
         return ops::reshape(t[0], {-1, 3});
       },
       {0, 3}},
      {"reshape by shape",
       {rows},
       {},
       [](const auto& t) {
         return ops::reshape(t[0], Shape{2, 0});
       },
       {2, 0}},
      {"permute",
       {{0, 2, 3}},
       {},
       [](const auto& t) {
         return ops::permute(t[0], {2, 0, 1});
       },
       {3, 0, 2}},
      {"transpose",
       {{0, 2, 3}},
       {},
       [](const auto& t) { return ops::transpose(t[0], 0, 1); },
       {2, 0, 3}},
      {"expand",
       {},
       {{4}},
       [](const auto& t) {
         return ops::expand(t[0], {0, 4});
       },
       rows},
      {"concat",
       {rows, rows},
       {},
       [](const auto& t) {
         return ops::concat({t[0], t[1]}, 1);
       },
       {0, 8}},
      {"concat",
       {rows},
       {{3, 4}},
       [](const auto& t) {
         return ops::concat({t[0], t[1]}, 0);
       },
       {3, 4},
       false},
      {"slice", {rows}, {}, [](const auto& t) { return ops::slice(t[0], 1, 1, 2); }, {0, 2}},
      {"slice to nothing",
       {},
       {{3, 4}},
       [](const auto& t) { return ops::slice(t[0], 0, 3, 0); },
       {0, 4}},
      {"split",
       {rows},
       {},
       [](const auto& t) {
         return ops::split(t[0], 1, {1, 3})[1];
       },
       {0, 3}},
      {"pad",
       {rows},
       {},
       [](const auto& t) {
         return ops::pad(t[0], {{0, 0}, {1, -2}});
       },
       {0, 3}},
      {"roll",
       {rows},
       {},
       [](const auto& t) {
         return ops::roll(t[0], {1, 2}, {0, 1});
       },
       rows},
      {"flip", {rows}, {}, [](const auto& t) { return ops::flip(t[0], 0); }, rows},
      {"embedding",
       {},
       {{5, 3}},
       [](const auto& t) {
         return ops::embedding(t[0], indices({0, 2}), 0);
       },
       {0, 2, 3},
       false},
      {"gather",
       {rows},
       {},
       [](const auto& t) {
         return ops::gather(t[0], 1, indices({0, 2}));
       },
       {0, 2},
       false},
      {"scatter_add",
       {rows, {0, 2}},
       {},
       [](const auto& t) {
         return ops::scatter_add(t[0], 1, indices({0, 2}), t[1]);
       },
       rows,
       false},
      {"zeros_like", {rows}, {}, [](const auto& t) { return ops::zeros_like(t[0]); }, rows},
      {"ones_like", {rows}, {}, [](const auto& t) { return ops::ones_like(t[0]); }, rows},
      {"clone", {rows}, {}, [](const auto& t) { return ops::clone(t[0]); }, rows},
      {"full",
       {},
       {},
       [=](const auto&) { return ops::full(rows, 2, DType::kFloat32, cpu()); },
       rows},
      {"zeros",
       {},
       {},
       [=](const auto&) { return ops::zeros(rows, DType::kFloat32, cpu()); },
       rows},
      {"ones", {}, {}, [=](const auto&) { return ops::ones(rows, DType::kFloat32, cpu()); }, rows},
      {"random_uniform",
       {},
       {},
       [=](const auto&) {
         return ops::random_uniform(rows, 0, 1, RandomStream(1), DType::kFloat32, cpu());
       },
       rows},
      {"random_normal",
       {},
       {},
       [=](const auto&) {
         return ops::random_normal(rows, 0, 1, RandomStream(1), DType::kFloat32, cpu());
       },
       rows},
      {"truncated_normal",
       {},
       {},
       [=](const auto&) {
         return ops::truncated_normal(rows, 0, 1, -1, 1, RandomStream(1), DType::kFloat32, cpu());
       },
       rows},
  };
}

// Boxes are the host's, whatever device the tests run on.
std::vector<Case> detection_cases() {
  const auto none = [](const Shape& shape, DType dtype = DType::kFloat32) {
    return Tensor::empty(shape, dtype, make_cpu(1));
  };
  const auto host = [=](const char* name, const Shape& result, auto run) {
    return Case{name, {}, {}, [=](const auto&) { return run(none); }, result};
  };
  const Shape boxes{0, 4}, map{2, 3, 4, 5};
  return {
      host("box_iou", {0, 2},
           [](auto& n) {
             return ops::box_iou(n({0, 4}), n({2, 4}));
           }),
      host("box_iof", {2, 0},
           [](auto& n) {
             return ops::box_iof(n({2, 4}), n({0, 4}));
           }),
      host("box_areas", {0},
           [](auto& n) {
             return ops::box_areas(n({0, 4}));
           }),
      host("clip_boxes", boxes,
           [](auto& n) {
             return ops::clip_boxes(n({0, 4}), 5, 6);
           }),
      host("encode_boxes", boxes,
           [](auto& n) {
             return ops::encode_boxes(n({0, 4}), n({0, 4}));
           }),
      host("grid_anchors", boxes,
           [](auto&) {
             return ops::grid_anchors(0, 3, 4, {.scales = {8}, .ratios = {1, 2}});
           }),
      host("mask_targets", {0, 7, 7},
           [](auto& n) {
             return ops::mask_targets(n({2, 5, 6}, DType::kUint8), n({0, 4}), {}, 7);
           }),
      host("paste_masks", {0, 5, 6},
           [](auto& n) {
             return ops::paste_masks(n({0, 7, 7}), n({0, 4}), 5, 6);
           }),
      {"decode_boxes",
       {boxes, boxes},
       {},
       [](const auto& t) { return ops::decode_boxes(t[0].detach(), t[1]); },
       boxes,
       false},
      {"roi_align",
       {},
       {map},
       [=](const auto& t) {
         return ops::roi_align(t[0], none({0, 5}), {.height = 2, .width = 7});
       },
       {0, 3, 2, 7},
       false},
      {"roi_align of no items",
       {{0, 3, 4, 5}},
       {},
       [=](const auto& t) {
         return ops::roi_align(t[0], none({0, 5}), {});
       },
       {0, 3, 7, 7}},
      {"extract_rois",
       {},
       {map, {2, 3, 2, 2}},
       [=](const auto& t) {
         return ops::extract_rois({t[0], t[1]}, {4, 8}, none({0, 5}), 7);
       },
       {0, 3, 7, 7},
       false},
      {"reduced",
       {boxes},
       {},
       [](const auto& t) { return ops::reduced(t[0], ops::Reduction::kMean); },
       {},
       false},
      {"sigmoid_focal_loss",
       {boxes},
       {},
       [](const auto& t) { return ops::sigmoid_focal_loss(t[0], indices({0})); },
       {},
       false},
      {"smooth_l1",
       {boxes, boxes},
       {},
       [](const auto& t) { return ops::smooth_l1(t[0], t[1], 0.1); },
       {},
       false},
      {"giou_loss",
       {boxes, boxes},
       {},
       [](const auto& t) { return ops::giou_loss(t[0], t[1]); },
       {0},
       false},
      {"mask_bce",
       {{0, 3, 2, 2}, {0, 2, 2}},
       {},
       [](const auto& t) { return ops::mask_bce(t[0], indices({0}), t[1]); },
       {},
       false},
  };
}

std::vector<Case> elementwise_cases() {
  using Binary = Tensor (*)(const Tensor&, const Tensor&);
  const Shape rows{0, 4};
  std::vector<Case> cases = {
      {"affine", {rows}, {}, [](const auto& t) { return ops::affine(t[0], 2, 1); }, rows},
      {"pow", {rows}, {}, [](const auto& t) { return ops::pow(t[0], 2.5); }, rows},
      {"clamp", {rows}, {}, [](const auto& t) { return ops::clamp(t[0], -1, 1); }, rows},
      {"leaky_relu", {rows}, {}, [](const auto& t) { return ops::leaky_relu(t[0]); }, rows},
      {"elu", {rows}, {}, [](const auto& t) { return ops::elu(t[0]); }, rows},
      {"add_product",
       {rows, rows},
       {{4}},
       [](const auto& t) { return ops::add_product(t[0], t[1], t[2]); },
       rows,
       false},
      {"swiglu", {rows}, {}, [](const auto& t) { return ops::swiglu(t[0]); }, {0, 2}},
      {"swiglu", {rows, rows}, {}, [](const auto& t) { return ops::swiglu(t[0], t[1]); }, {0, 4}},
      {"activate",
       {rows},
       {},
       [](const auto& t) { return ops::activate({.kind = UnaryOp::kGelu, .gated = true}, t[0]); },
       {0, 2}},
      {"where",
       {rows},
       {{4}},
       [](const auto& t) {
         return ops::where(flags({0, 1}), t[0], t[1]);
       },
       rows,
       false},
      {"dropout",
       {rows},
       {},
       [](const auto& t) { return ops::dropout(t[0], 0.5, RandomStream(1)); },
       rows},
      {"drop_path",
       {rows},
       {},
       [](const auto& t) { return ops::drop_path(t[0], 0.5, RandomStream(1)); },
       rows},
      {"cast", {rows}, {}, [](const auto& t) { return ops::cast(t[0], DType::kFloat32); }, rows},
      {"as_activation",
       {rows},
       {},
       [](const auto& t) { return ops::as_activation(t[0], t[0]); },
       rows},
      {"to", {rows}, {}, [](const auto& t) { return ops::to(t[0], make_cpu(1)); }, rows},
      {"is_finite", {rows}, {}, [](const auto& t) { return ops::is_finite(t[0]); }, rows},
  };
  for (const ElementOp& op : element_ops()) {
    cases.push_back(
        {op.name, {rows}, {}, [f = op.function](const auto& t) { return f(t[0]); }, rows});
  }
  const std::vector<std::pair<const char*, Binary>> binary = {
      {"add", [](const Tensor& a, const Tensor& b) { return ops::add(a, b); }},
      {"sub", ops::sub},
      {"mul", ops::mul},
      {"div", ops::div},
      {"maximum", ops::maximum},
      {"minimum", ops::minimum},
      {"equal", ops::equal},
      {"not_equal", ops::not_equal},
      {"less", ops::less},
      {"less_equal", ops::less_equal},
      {"greater", ops::greater},
      {"greater_equal", ops::greater_equal}};
  for (const auto& [name, op] : binary) {
    cases.push_back(
        {name, {rows}, {{4}}, [f = op](const auto& t) { return f(t[0], t[1]); }, rows, false});
  }
  return cases;
}

std::vector<Case> reduction_cases() {
  const Shape rows{0, 4}, image{0, 2, 2, 2};
  const auto few_steps = [] { return ops::diffusion_chain({0.1, 0.2}); };
  return {
      {"sum", {rows}, {}, [](const auto& t) { return ops::sum(t[0]); }, {}},
      {"sum over the batch", {rows}, {}, [](const auto& t) { return ops::sum(t[0], {0}); }, {4}},
      {"mean", {rows}, {}, [](const auto& t) { return ops::mean(t[0]); }, {}},
      {"mean over the batch", {rows}, {}, [](const auto& t) { return ops::mean(t[0], {0}); }, {4}},
      {"mean over the rest", {rows}, {}, [](const auto& t) { return ops::mean(t[0], {1}); }, {0}},
      {"max", {rows}, {}, [](const auto& t) { return ops::max(t[0], {1}); }, {0}, false},
      {"min", {rows}, {}, [](const auto& t) { return ops::min(t[0], {1}, true); }, {0, 1}, false},
      {"argmax", {rows}, {}, [](const auto& t) { return ops::argmax(t[0]); }, {0}, false},
      {"argmin", {rows}, {}, [](const auto& t) { return ops::argmin(t[0]); }, {0}, false},
      {"reduce_to", {rows}, {}, [](const auto& t) { return ops::reduce_to(t[0], {4}); }, {4}},
      {"softmax",
       {{0, 3, 4}},
       {},
       [](const auto& t) {
         return ops::softmax(t[0], flags({0, 4}), true);
       },
       {0, 3, 4}},
      {"log_softmax",
       {rows},
       {},
       [](const auto& t) { return ops::log_softmax(t[0]); },
       rows,
       false},
      {"cross_entropy",
       {rows},
       {},
       [](const auto& t) {
         return ops::cross_entropy(t[0], indices({0}), {.label_smoothing = 0.1});
       },
       {},
       false},
      {"cross_entropy",
       {rows},
       {},
       [](const auto& t) {
         return ops::cross_entropy(t[0], indices({0}), {.reduction = ops::Reduction::kNone});
       },
       {0},
       false},
      {"smoothed_target",
       {rows},
       {},
       [](const auto& t) { return ops::smoothed_target(t[0], 0.1); },
       rows,
       false},
      {"soft_cross_entropy",
       {rows, rows},
       {},
       [](const auto& t) { return ops::soft_cross_entropy(t[0], t[1], {.label_smoothing = 0.1}); },
       {},
       false},
      {"bce_with_logits",
       {rows, rows},
       {},
       [](const auto& t) { return ops::bce_with_logits(t[0], t[1]); },
       {},
       false},
      {"mse", {rows, rows}, {}, [](const auto& t) { return ops::mse(t[0], t[1]); }, {}, false},
      {"bce", {rows, rows}, {}, [](const auto& t) { return ops::bce(t[0], t[1]); }, {}, false},
      {"dice_loss",
       {{0, 1, 2, 2}, {0, 1, 2, 2}},
       {},
       [](const auto& t) { return ops::dice_loss(t[0], t[1]); },
       {},
       false},
      {"bce_dice",
       {{0, 1, 2, 2}, {0, 1, 2, 2}},
       {},
       [](const auto& t) { return ops::bce_dice(t[0], t[1]); },
       {},
       false},
      {"pixel_cross_entropy",
       {{0, 3, 2, 2}},
       {},
       [](const auto& t) {
         return ops::pixel_cross_entropy(t[0], indices({0, 2, 2}));
       },
       {},
       false},
      {"label_dice",
       {{0, 3, 2, 2}},
       {},
       [](const auto& t) {
         return ops::label_dice(t[0], indices({0, 2, 2}));
       },
       {},
       false},
      {"label_dice",
       {{0, 3, 2, 2}},
       {},
       [](const auto& t) {
         return ops::label_dice(t[0], indices({0, 2, 2}), {.batch = true, .squared_pred = true});
       },
       {},
       false},
      {"boundary_dou",
       {{0, 3, 2, 2}},
       {},
       [](const auto& t) {
         return ops::boundary_dou(t[0], indices({0, 2, 2}));
       },
       {},
       false},
      {"nnunet_loss",
       {{0, 3, 2, 2}},
       {},
       [](const auto& t) {
         return ops::nnunet_loss(t[0], indices({0, 2, 2}));
       },
       {},
       false},
      {"region_masks",
       {{0, 2, 2}},
       {},
       [](const auto&) {
         return ops::region_masks(indices({0, 2, 2}), {{1, 2}, {2}, {3}});
       },
       {0, 3, 2, 2},
       false},
      {"mask_dice",
       {{0, 3, 2, 2}},
       {},
       [](const auto& t) {
         return ops::mask_dice(t[0], indices({0, 3, 2, 2}), {.batch = true, .squared_pred = true});
       },
       {},
       false},
      {"mask_cross_entropy",
       {{0, 3, 2, 2}},
       {},
       [](const auto& t) {
         return ops::mask_cross_entropy(t[0], indices({0, 3, 2, 2}));
       },
       {},
       false},
      {"nnunet_mask_loss",
       {{0, 3, 2, 2}},
       {},
       [](const auto& t) {
         return ops::nnunet_mask_loss(t[0], indices({0, 3, 2, 2}));
       },
       {},
       false},
      {"paper_eq8",
       {{0, 3, 2, 2}},
       {},
       [](const auto& t) {
         return ops::paper_eq8(t[0], indices({0, 2, 2}));
       },
       {},
       false},
      {"focal_loss",
       {{0, 3}},
       {},
       [](const auto& t) { return ops::focal_loss(t[0], indices({0})); },
       {},
       false},
      {"soft_focal_loss",
       {{0, 3}, {0, 3}},
       {},
       [](const auto& t) { return ops::soft_focal_loss(t[0], t[1]); },
       {},
       false},
      {"pixel_focal_loss",
       {{0, 3, 2, 2}},
       {},
       [](const auto& t) {
         return ops::pixel_focal_loss(t[0], indices({0, 2, 2}));
       },
       {},
       false},
      {"binary_focal_loss",
       {{0, 3}, {0, 3}},
       {},
       [](const auto& t) { return ops::binary_focal_loss(t[0], t[1]); },
       {},
       false},
      {"classes_last",
       {{0, 3, 2, 2}},
       {},
       [](const auto& t) {
         return ops::classes_last("test", t[0], indices({0, 2, 2}));
       },
       {0, 2, 2, 3},
       false},
      {"ctc_loss",
       {{0, 5, 3}},
       {},
       [](const auto& t) {
         return ops::ctc_loss(t[0], indices({0, 2}), {}, {});
       },
       {0},
       false},
      {"nearest_labels",
       {{0, 4}},
       {},
       [](const auto&) {
         return ops::nearest_labels(indices({0, 4}), {2});
       },
       {0, 2},
       false},
      {"over_maps",
       {{0, 1, 2, 2}, {0, 1, 1, 1}},
       {},
       [](const auto& t) {
         return ops::over_maps({t[0], t[1]}, {}, {2, 2},
                               [](const Tensor& map) { return ops::mean(map); });
       },
       {},
       false},
      {"noised",
       {image, image},
       {},
       [=](const auto& t) { return ops::noised(few_steps(), t[0], indices({0}), t[1]); },
       image},
      {"ddpm_sample",
       {{0, 4, 2, 2}, image, image},
       {},
       [=](const auto& t) {
         return ops::ddpm_sample(ops::step_back(few_steps(), {}, t[0], t[1], indices({0})),
                                 indices({0}), t[2]);
       },
       image},
      {"ddim_sample",
       {{0, 4, 2, 2}, image, image},
       {},
       [=](const auto& t) {
         return ops::ddim_sample(few_steps(),
                                 ops::step_back(few_steps(), {}, t[0], t[1], indices({0})), t[1],
                                 indices({0}), 0.5, t[2]);
       },
       image},
      {"by_ratio",
       {{0, 4}},
       {},
       [](const auto& t) {
         return ops::relevance::by_ratio("relu", t[0], ops::relu(t[0]).detach());
       },
       {0, 4}},
      {"through_norm",
       {{0, 4}},
       {},
       [](const auto& t) {
         const Tensor rstd = ops::ones({0}, compute_dtype(t[0].dtype()), cpu());
         return ops::relevance::through_norm(t[0], {}, rstd, true);
       },
       {0, 4}},
      {"coefficient",
       {{0, 4}},
       {},
       [](const auto& t) {
         const autograd::WithRule rule(autograd::Rule::kAttnLrp);
         return ops::relevance::coefficient(t[0]);
       },
       {0, 4}},
      {"finished",
       {{0, 3, 4}, {0, 3, 4}},
       {},
       [](const auto& t) {
         ops::HeadFinish finish;
         finish.gate = ops::heads(t[1], 2, 2, 0, 2);
         return ops::finished(t[0], finish);
       },
       {0, 3, 4}},
      {"guided",
       {image, image},
       {},
       [](const auto& t) { return ops::guided(t[0], t[1], 2, 1); },
       image},
  };
}

std::set<std::string> declared_operations() {
  std::set<std::string> names;
  const std::regex function(R"(^(?:inline )?(?:Tensor|std::vector<Tensor>|RunningValue) (\w+)\()");
  for (const auto& file :
       std::filesystem::recursive_directory_iterator(source_dir() + "/src/ops")) {
    if (file.path().extension() != ".h") continue;
    std::ifstream in(file.path());
    for (std::string line; std::getline(in, line);) {
      std::smatch found;
      if (std::regex_search(line, found, function)) names.insert(found[1]);
    }
  }
  return names;
}

}  // namespace fovea::test

TEST_CASE("empty batch: the table leaves no operation out", "[ops]") {
  std::set<std::string> walked;
  for (const Case& one : all_cases()) walked.insert(one.name.substr(0, one.name.find(' ')));
  const std::set<std::string> names = declared_operations();
  CHECK(names.size() > 90);
  std::vector<std::string> missing;
  std::set_difference(names.begin(), names.end(), walked.begin(), walked.end(),
                      std::back_inserter(missing));
  CHECK(missing == std::vector<std::string>{});
}
