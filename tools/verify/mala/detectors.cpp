// Heads of detectors, from the words of the mala paper's golden cases.

#include <fmt/format.h>

#include "models/detectors/bbox_head.h"
#include "models/detectors/mask_head.h"
#include "models/detectors/retina_head.h"
#include "models/detectors/rpn_head.h"
#include "verify/module_case.h"
#include "verify/runners.h"

namespace fovea::verify {
namespace {

using Tensors = std::map<std::string, Tensor>;

// A head of all levels p0, p1, ...: its maps of scores, and behind them those of deltas.
template <class Head>
void run_dense_head(const Case& c, Head& head, Checker& check) {
  run_module(
      c, head,
      [&](const Inputs& inputs) -> Tensors {
        std::vector<Tensor> levels;
        for (std::string name = "p0"; inputs.contains(name);
             name = fmt::format("p{}", levels.size()))
          levels.push_back(inputs.at(name));
        const std::vector<Tensor> maps = head(levels);
        Tensors outputs;
        for (std::size_t i = 0; i < levels.size(); ++i) {
          outputs[fmt::format("cls{}", i)] = maps.at(i);
          outputs[fmt::format("reg{}", i)] = maps.at(levels.size() + i);
        }
        return outputs;
      },
      check);
}

void run_rpn_head(const Case& c, Checker& check) {
  // The head's shape depends on the number of anchors alone.
  const auto anchors = static_cast<std::size_t>(c.integer("num_anchors"));
  models::RpnHead head(build_for(c), c.integer("in_channels"), {},
                       {.feat_channels = c.integer("feat_channels"),
                        .scales = std::vector<double>(anchors, 1.0),
                        .ratios = {1}});
  run_dense_head(c, head, check);
}

void run_retina_head(const Case& c, Checker& check) {
  models::RetinaHead head(build_for(c), {.in_channels = c.integer("in_channels"),
                                         .feat_channels = c.integer("feat_channels"),
                                         .stacked_convs = c.integer("stacked_convs"),
                                         .num_anchors = c.integer("num_anchors"),
                                         .num_classes = c.integer("num_classes")});
  run_dense_head(c, head, check);
}

void run_bbox_head(const Case& c, Checker& check) {
  const models::BBoxHeadOptions options{.in_channels = c.integer("in_channels"),
                                        .side = c.integer("roi_feat_size"),
                                        .num_classes = c.integer("num_classes"),
                                        .num_shared_convs = c.integer("num_shared_convs", 0),
                                        .conv_channels = c.integer("conv_out_channels", 256),
                                        .num_shared_fcs = c.integer("num_shared_fcs"),
                                        .fc_channels = c.integer("fc_out_channels")};
  if (options.num_shared_convs > 0) c.config().only("norm", "bn");
  models::BBoxHead head(build_for(c), options);
  run_module(
      c, head,
      [&](const Inputs& inputs) -> Tensors {
        const auto [logits, deltas] = head(inputs.at("x"));
        return {{"cls", logits}, {"reg", deltas}};
      },
      check);
}

void run_mask_head(const Case& c, Checker& check) {
  models::MaskHead head(build_for(c), {.in_channels = c.integer("in_channels"),
                                       .num_classes = c.integer("num_classes"),
                                       .num_convs = c.integer("num_convs"),
                                       .conv_channels = c.integer("conv_out_channels")});
  run_module(
      c, head,
      [&](const Inputs& inputs) -> Tensors {
        return {{"y", head(inputs.at("x"))}};
      },
      check);
}

}  // namespace

Table mala_detectors() {
  Table table;
  table.add("rpn_head") = run_rpn_head;
  table.add("retina_head") = run_retina_head;
  table.add("bbox_head") = run_bbox_head;
  table.add("fcn_mask_head") = run_mask_head;
  return table;
}

}  // namespace fovea::verify
