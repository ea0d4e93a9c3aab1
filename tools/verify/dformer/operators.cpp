// The dformer paper's operators, blocks and stages, from the words of its golden cases.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "autograd/mode.h"
#include "models/volumes/dformer_stage.h"
#include "nn/convolution.h"
#include "ops/shape.h"
#include "verify/dformer/dformer.h"
#include "verify/module_case.h"
#include "verify/runners.h"
#include "visualise/maps/rollouts/unit_rollout.h"

namespace fovea::verify {
namespace {

using models::Size3;
using models::TokenVolume;
using schema::Value;
using Tensors = std::map<std::string, Tensor>;

Size3 size_at(const Config& config, const char* key) {
  const std::vector<std::int64_t> sizes = config.integers(key);
  if (sizes.size() != 3) config.refuse(key);
  return {sizes[0], sizes[1], sizes[2]};
}

models::UnitScheme scheme_at(const Config& config) {
  return config.choice("kind",
                       {{"ls", models::UnitScheme::kLocal},
                        {"gs", models::UnitScheme::kGlobal},
                        {"sw", models::UnitScheme::kShifted}},
                       models::UnitScheme::kLocal);
}

models::PartitionOptions partition_at(const Config& config) {
  models::PartitionOptions o{.unit = size_at(config, "unit"),
                             .interval = config.integer("interval", 1)};
  o.rule = config.choice("partition",
                         {{"reference", models::PartitionRule::kReference},
                          {"unit", models::PartitionRule::kUnit},
                          {"auto", models::PartitionRule::kAuto}},
                         models::PartitionRule::kAuto);
  o.mask = config.choice(
      "padding_mask",
      {{"any", models::PaddingMask::kAny}, {"reference", models::PaddingMask::kReference}},
      models::PaddingMask::kAny);
  if (config.text("kind", "") == "sw") {
    o.mask_shifted = config.flag("mask_padding", true);
  } else {
    config.only("mask_padding", true);
  }
  return o;
}

// A module under a name of its own, as the case's parameters have it.
template <class M>
class Named final : public nn::Module {
 public:
  template <class... Args>
  Named(const std::string& name, const nn::Build& build, Args&&... args)
      : module(child<M>(name, build, std::forward<Args>(args)...)) {}
  std::string type() const override { return "Named"; }

  M& module;
};

// What a case says of a plan, under its names of the three sizes.
void check_plan(const Config& expected, const char* unit, const ops::UnitPlan& plan,
                Checker& check) {
  const auto compare = [&](const char* key, const std::vector<std::int64_t>& found) {
    if (expected.given(key) && found != expected.integers(key))
      check.fail(fmt::format("plan: {} is {}, expected {}", key, fmt::join(found, " x "),
                             fmt::join(expected.integers(key), " x ")));
  };
  std::vector<std::int64_t> padded;
  for (std::size_t axis = 0; axis < 3; ++axis) padded.push_back(plan.unit[axis] * plan.count[axis]);
  compare("padded", padded);
  compare(unit, plan.unit);
  compare("gap", plan.count);
  const bool global = expected.choice("scheme", {{"gs", true}, {"ls", false}}, plan.dilated);
  if (global != plan.dilated) check.fail("plan: the scheme is another one");
}

// Properties of attention in units that are fixed here; masked keys are left out.
void check_fixed(const Case& c, const ops::UnitPlan& plan) {
  c.config().nothing_dropped({"attn_drop", "proj_drop", "drop_path"}, c.training());
  c.config().only("mask_value", -1e6);
  c.config().only("region_mask_value", -100);
  c.config().only("shift", plan.shift.empty() ? Value() : Value::array(plan.shift));
  c.config().only("rpe_unit", Value::array(plan.unit));
}

// The same for blocks, with their norms and activations.
void check_block(const Case& c) {
  c.config().only("ln_eps", models::kVolumeNormEps);
  c.config().only("gelu", "erf");
}

void run_attention(const Case& c, Checker& check) {
  const models::UnitScheme scheme = scheme_at(c.config());
  const models::PartitionOptions partition = partition_at(c.config());
  const TokenVolume x = TokenVolume::from_grid(c.at("input/x"));
  const ops::UnitPlan plan = models::partition(x.grid, scheme, partition);
  if (c.given("expected_plan")) check_plan(c.config().at("expected_plan"), "unit", plan, check);
  check_fixed(c, plan);
  const auto units = models::Partitions(scheme, partition).of(x.grid, c.device());
  models::ScopeOptions o;
  o.qkv_bias = c.flag("qkv_bias", true);
  if (c.given("qk_scale")) o.qk_scale = c.number("qk_scale");
  const models::StageShape stage{.dim = c.integer("dim"), .num_heads = c.integer("num_heads")};
  const auto table = c.flag("relative_position_bias") ? plan.unit : std::vector<std::int64_t>{};
  Named<models::ScopeAttention> attn("attn", build_for(c), o, stage, table);
  run_module(
      c, attn,
      [&](const Inputs& inputs) -> Tensors {
        const Tensor y = attn.module(TokenVolume::from_grid(inputs.at("x")), units);
        return {{"y", TokenVolume{y, x.grid}.as_grid()}};
      },
      check);
}

models::StageShape stage_at(const Case& c, std::int64_t depth) {
  return {.dim = c.integer("dim"),
          .num_heads = c.integer("num_heads"),
          .partition = partition_at(c.config()),
          .drop_path = std::vector<double>(static_cast<std::size_t>(depth), 0.0)};
}

void run_block(const Case& c, Checker& check) {
  models::ScopeOptions o;
  o.mlp_ratio = c.number("mlp_ratio", 4);
  o.qkv_bias = c.flag("qkv_bias", true);
  check_block(c);
  check_fixed(c, models::partition(TokenVolume::from_grid(c.at("input/x")).grid,
                                   scheme_at(c.config()), partition_at(c.config())));
  models::Partitions partitions(scheme_at(c.config()), partition_at(c.config()));
  models::ScopeBlock block(build_for(c), o, stage_at(c, 1), {}, 0);
  run_module(
      c, block,
      [&](const Inputs& inputs) -> Tensors {
        const TokenVolume x = TokenVolume::from_grid(inputs.at("x"));
        return {{"y", block(x, partitions.of(x.grid, c.device())).as_grid()}};
      },
      check);
}

// Blocks one after another, of which the probe sees what they attend to.
class BlockRow final : public nn::Module {
 public:
  BlockRow(const Case& c, const models::ScopeOptions& o, const models::StageShape& stage) {
    for (std::size_t i = 0; i < c.value("blocks").size(); ++i)
      blocks.push_back(&child<models::ScopeBlock>(fmt::format("blocks.{}", i), build_for(c), o,
                                                  stage, std::vector<std::int64_t>{}, 0.0));
  }
  std::string type() const override { return "BlockRow"; }

  std::vector<models::ScopeBlock*> blocks;
};

void run_stage(const Case& c, Checker& check) {
  models::ScopeOptions o;
  o.mlp_ratio = c.number("mlp_ratio", 4);
  o.qkv_bias = c.flag("qkv_bias", true);
  o.dpe_kernel = c.integer("dpe_kernel", 3);
  o.dpe_position = c.config().choice("dpe_position",
                                     {{"before", models::DpePosition::kBefore},
                                      {"after_lsm", models::DpePosition::kAfterLsm},
                                      {"after_gsm", models::DpePosition::kAfterGsm}},
                                     models::DpePosition::kBefore);
  o.attn = c.config().choice("attn",
                             {{"ls_gs", models::OddBlocks::kGlobal},
                              {"ls_ls", models::OddBlocks::kLocal},
                              {"ls_sw", models::OddBlocks::kShifted}},
                             models::OddBlocks::kGlobal);
  const models::StageTail tail =
      c.config().choice("tail",
                        {{"patch_merging", models::StageTail::kMerging},
                         {"patch_expand", models::StageTail::kExpanding}},
                        models::StageTail::kMerging);
  c.config().only("role", tail == models::StageTail::kMerging ? "encoder" : "decoder");
  models::ScopeStage stage(build_for(c), o, stage_at(c, c.integer("depth")), tail);
  run_module(
      c, stage,
      [&](const Inputs& inputs) -> Tensors {
        const auto result = stage(TokenVolume::from_grid(inputs.at("x")));
        return {{"features", result.features.as_grid()}, {"y", result.next.as_grid()}};
      },
      check);
}

// A module from tokens to tokens; both are volumes in the case.
template <class M>
void run_tokens(const Case& c, M& module, Checker& check) {
  run_module(
      c, module,
      [&](const Inputs& inputs) -> Tensors {
        return {{"y", module(TokenVolume::from_grid(inputs.at("x"))).as_grid()}};
      },
      check);
}

void run_embed(const Case& c, Checker& check) {
  models::PatchEmbed3d embed(build_for(c), size_at(c.config(), "patch_size"), c.integer("in_chans"),
                             c.integer("embed_dim"), c.flag("norm", true));
  run_module(
      c, embed,
      [&](const Inputs& inputs) -> Tensors {
        return {{"y", ops::permute(embed(inputs.at("x")).as_grid(), {0, 4, 1, 2, 3})}};
      },
      check);
}

void run_head(const Case& c, Checker& check) {
  models::VolumeHead head(build_for(c), c.integer("dim"), size_at(c.config(), "patch_size"),
                          c.integer("num_classes"));
  run_module(
      c, head,
      [&](const Inputs& inputs) -> Tensors {
        return {{"y", head(TokenVolume::from_grid(inputs.at("x")))}};
      },
      check);
}

void run_fusion(const Case& c, Checker& check) {
  models::SkipFusion fusion(build_for(c), c.integer("dim"));
  c.config().only("order", "[decoder, encoder]");
  run_module(
      c, fusion,
      [&](const Inputs& inputs) -> Tensors {
        const TokenVolume decoder = TokenVolume::from_grid(inputs.at("x"));
        return {{"y", fusion(decoder, TokenVolume::from_grid(inputs.at("skip"))).as_grid()}};
      },
      check);
}

// Unit and place in it of every token, from the members of all units.
void run_partition(const Case& c, Checker& check) {
  for (std::size_t i = 0; i < c.config().size(); ++i) {
    const Config config = c.config().at(i);
    const ops::UnitPlan plan =
        models::partition(size_at(config, "volume"), scheme_at(config), partition_at(config));
    check_plan(config, "eff_unit", plan, check);
    const ops::Units units(plan, c.device());
    const Tensor members = units.tokens();
    std::vector<double> unit(static_cast<std::size_t>(units.n())), rank(unit.size());
    const auto tokens = members.host_values<std::int64_t>();
    for (std::size_t place = 0; place < tokens.size(); ++place) {
      if (tokens[place] < 0) continue;
      const auto token = static_cast<std::size_t>(tokens[place]);
      const auto of_unit = static_cast<std::int64_t>(place) / units.members();
      unit[token] = static_cast<double>(of_unit);
      rank[token] = static_cast<double>(static_cast<std::int64_t>(place) % units.members());
    }
    check.compare(fmt::format("output/{}/members", i), members);
    check.compare(fmt::format("output/{}/unit_of_token", i), unit);
    check.compare(fmt::format("output/{}/rank_in_unit", i), rank);
  }
}

void run_relative_positions(const Case& c, Checker& check) {
  for (std::size_t i = 0; i < c.config().size(); ++i)
    check.compare(
        fmt::format("output/{}/relative_position_index", i),
        ops::RelativePositions(models::sizes_of(size_at(c.config().at(i), "unit")), c.device())
            .index());
}

void run_sinusoidal(const Case& c, Checker& check) {
  for (std::size_t i = 0; i < c.config().size(); ++i) {
    const Config config = c.config().at(i);
    const Size3 grid = size_at(config, "volume");
    const Tensor table =
        models::sinusoidal_volume(grid, config.integer("dim"), DType::kFloat32, c.device());
    check.compare(fmt::format("output/{}/table", i), to_doubles(table));
  }
}

}  // namespace

namespace {

models::UnitScheme scheme_of_word(const Case& c, const std::string& word) {
  if (word != "gs" && word != "ls") c.config().refuse("blocks");
  return word == "gs" ? models::UnitScheme::kGlobal : models::UnitScheme::kLocal;
}

}  // namespace

void run_unit_rollout(const Case& c, Checker& check) {
  models::ScopeOptions o;
  o.mlp_ratio = c.number("mlp_ratio", 4);
  BlockRow row(c, o, stage_at(c, 1));
  const double residual = c.number("residual_weight");
  c.config().only("head_fusion", "mean");
  c.config().only("dpe", false);
  std::vector<models::UnitScheme> schemes;
  for (const Value& block : c.value("blocks").items())
    schemes.push_back(scheme_of_word(c, block.as_string()));
  load_parameters(c, row, check);
  const autograd::NoGrad no_grad;
  attention::Probe probe;
  TokenVolume x = TokenVolume::from_grid(c.at("input/x"));
  for (std::size_t i = 0; i < row.blocks.size(); ++i) {
    const auto units =
        models::Partitions(schemes[i], partition_at(c.config())).of(x.grid, c.device());
    x = (*row.blocks[i])(x, units, &probe);
  }
  check.compare("output/y", x.as_grid());
  std::vector<visualise::UnitMap> maps;
  for (const auto& record : probe.records()) {
    if (record.name != "unit_attn") continue;
    const std::string key = fmt::format("output/attention/{}", maps.size());
    check.compare(key, maps.emplace_back(record).dense());
  }
  const std::size_t n = static_cast<std::size_t>(maps.front().tokens());
  const auto seen_by = [&](std::size_t token) {
    std::vector<double> start(n, 0.0);
    start[token] = 1;
    return visualise::unit_rollout(maps, start, residual);
  };
  std::vector<double> all;
  for (std::size_t token = 0; token < n; ++token) {
    const std::vector<double> seen = seen_by(token);
    all.insert(all.end(), seen.begin(), seen.end());
  }
  check.compare("output/rollout", all);
  const double query = to_doubles(c.at("output/heatmap_query")).front();
  check.compare("output/heatmap_query", std::vector<double>{query});
  check.compare("output/heatmap", seen_by(static_cast<std::size_t>(query)));
  const std::vector<double> even(n, 1.0 / static_cast<double>(n));
  check.compare("output/mean_heatmap", visualise::unit_rollout(maps, even, residual));
}

Table dformer_operators() {
  Table table;
  for (const char* name : {"ls_msa", "gs_msa", "sw_msa"}) table.add(name) = run_attention;
  for (const char* name : {"lsm_block", "gsm_block", "swm_block"}) table.add(name) = run_block;
  table.add("dformer_stage") = run_stage;
  table.add("dpe") = [](const Case& c, Checker& check) {
    models::DynamicPosition dpe(build_for(c), c.integer("dim"), c.integer("kernel"));
    c.config().only("bias", true);
    c.config().only("residual", true);
    run_tokens(c, dpe, check);
  };
  table.add("patch_merging3d") = [](const Case& c, Checker& check) {
    models::PatchMerging3d merging(build_for(c), c.integer("dim"));
    c.config().only("pad_odd", "all_axes");
    run_tokens(c, merging, check);
  };
  table.add("patch_expand3d") = [](const Case& c, Checker& check) {
    models::PatchExpand3d expand(build_for(c), c.integer("dim"));
    run_tokens(c, expand, check);
  };
  table.add("patch_embed3d") = run_embed;
  table.add("final_patch_expand_head") = run_head;
  table.add("skip_concat_linear") = run_fusion;
  table.add("partition_index") = run_partition;
  table.add("relative_position_index") = run_relative_positions;
  table.add("spe3d") = run_sinusoidal;
  return table;
}

}  // namespace fovea::verify
