// The dformer paper's operators, blocks and stages, from the words of its golden cases.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "autograd/mode.h"
#include "models/dformer_stage.h"
#include "nn/convolution.h"
#include "ops/shape.h"
#include "verify/dformer.h"
#include "verify/module_case.h"
#include "verify/runners.h"
#include "visualise/unit_rollout.h"

namespace fovea::verify {
namespace {

using models::Size3;
using models::TokenVolume;
using schema::Value;
using Tensors = std::map<std::string, Tensor>;

Size3 size_at(const Value& config, const char* key) {
  const Value& value = config.at(key);
  return {value.at(0).as_int(), value.at(1).as_int(), value.at(2).as_int()};
}

models::UnitScheme scheme_at(const Value& config) {
  const std::string kind = config.at("kind").as_string();
  if (kind == "sw") return models::UnitScheme::kShifted;
  return kind == "gs" ? models::UnitScheme::kGlobal : models::UnitScheme::kLocal;
}

models::PartitionOptions partition_at(const Value& config) {
  const auto word = [&](const char* key) {
    const Value* value = config.find(key);
    return value == nullptr ? std::string() : value->as_string();
  };
  models::PartitionOptions o{.unit = size_at(config, "unit"),
                             .interval = config.at("interval").as_int()};
  if (word("partition") == "reference") o.rule = models::PartitionRule::kReference;
  if (word("partition") == "unit") o.rule = models::PartitionRule::kUnit;
  if (word("padding_mask") == "reference") o.mask = models::PaddingMask::kReference;
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

void check_plan(const Case& c, const ops::UnitPlan& plan, Checker& check) {
  if (!c.given("expected_plan")) return;
  const Value& expected = c.config().at("expected_plan");
  const auto compare = [&](const char* key, const std::vector<std::int64_t>& found) {
    const Size3 sizes = size_at(expected, key);
    if (found != models::sizes_of(sizes))
      check.fail(fmt::format("plan: {} is {}, expected {}", key, fmt::join(found, " x "),
                             fmt::join(sizes, " x ")));
  };
  std::vector<std::int64_t> padded;
  for (std::size_t axis = 0; axis < 3; ++axis) padded.push_back(plan.unit[axis] * plan.count[axis]);
  compare("padded", padded);
  compare("unit", plan.unit);
  compare("gap", plan.count);
}

void run_attention(const Case& c, Checker& check) {
  const models::UnitScheme scheme = scheme_at(c.config());
  const models::PartitionOptions partition = partition_at(c.config());
  const TokenVolume x = TokenVolume::of(c.at("input/x"));
  const ops::UnitPlan plan = models::partition(x.grid, scheme, partition);
  check_plan(c, plan, check);
  models::PartitionedGrid units(scheme, partition);
  units.set(x.grid, c.device());
  models::ScopeOptions o;
  o.qkv_bias = c.flag("qkv_bias", true);
  const models::StageShape stage{.dim = c.integer("dim"), .num_heads = c.integer("num_heads")};
  const auto table = c.flag("relative_position_bias") ? plan.unit : std::vector<std::int64_t>{};
  Named<models::ScopeAttention> attn("attn", build_for(c), o, stage, table);
  run_module(
      c, attn,
      [&](const Tensors& inputs) -> Tensors {
        const Tensor y = attn.module(TokenVolume::of(inputs.at("x")), units);
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
  o.mlp_ratio = c.number("mlp_ratio");
  models::PartitionedGrid units(scheme_at(c.config()), partition_at(c.config()));
  models::ScopeBlock block(build_for(c), o, stage_at(c, 1), {}, 0);
  run_module(
      c, block,
      [&](const Tensors& inputs) -> Tensors {
        const TokenVolume x = TokenVolume::of(inputs.at("x"));
        units.set(x.grid, c.device());
        return {{"y", block(x, units).as_grid()}};
      },
      check);
}

// Blocks one after another, of which the probe sees what they attend to.
class BlockRow final : public nn::Module {
 public:
  BlockRow(const Case& c, const models::ScopeOptions& o, const models::StageShape& stage) {
    for (std::size_t i = 0; i < c.config().at("blocks").items().size(); ++i)
      blocks.push_back(&child<models::ScopeBlock>(fmt::format("blocks.{}", i), build_for(c), o,
                                                  stage, std::vector<std::int64_t>{}, 0.0));
  }
  std::string type() const override { return "BlockRow"; }

  std::vector<models::ScopeBlock*> blocks;
};

models::DpePosition dpe_position(const std::string& word) {
  if (word == "after_lsm") return models::DpePosition::kAfterLsm;
  return word == "after_gsm" ? models::DpePosition::kAfterGsm : models::DpePosition::kBefore;
}

void run_stage(const Case& c, Checker& check) {
  models::ScopeOptions o;
  o.mlp_ratio = c.number("mlp_ratio");
  o.dpe_position = dpe_position(c.text("dpe_position"));
  const models::StageTail tail = c.text("tail") == "patch_expand" ? models::StageTail::kExpanding
                                                                  : models::StageTail::kMerging;
  models::ScopeStage stage(build_for(c), o, stage_at(c, c.integer("depth")), tail);
  run_module(
      c, stage,
      [&](const Tensors& inputs) -> Tensors {
        const auto result = stage(TokenVolume::of(inputs.at("x")));
        return {{"features", result.features.as_grid()}, {"y", result.next.as_grid()}};
      },
      check);
}

// A module from tokens to tokens; both are volumes in the case.
template <class M>
void run_tokens(const Case& c, M& module, Checker& check) {
  run_module(
      c, module,
      [&](const Tensors& inputs) -> Tensors {
        return {{"y", module(TokenVolume::of(inputs.at("x"))).as_grid()}};
      },
      check);
}

void run_embed(const Case& c, Checker& check) {
  models::PatchEmbed3d embed(build_for(c), size_at(c.config(), "patch_size"), c.integer("in_chans"),
                             c.integer("embed_dim"), c.flag("norm"));
  run_module(
      c, embed,
      [&](const Tensors& inputs) -> Tensors {
        return {{"y", ops::permute(embed(inputs.at("x")).as_grid(), {0, 4, 1, 2, 3})}};
      },
      check);
}

void run_head(const Case& c, Checker& check) {
  models::VolumeHead head(build_for(c), c.integer("dim"), size_at(c.config(), "patch_size"),
                          c.integer("num_classes"));
  run_module(
      c, head,
      [&](const Tensors& inputs) -> Tensors {
        return {{"y", head(TokenVolume::of(inputs.at("x")))}};
      },
      check);
}

void run_fusion(const Case& c, Checker& check) {
  models::SkipFusion fusion(build_for(c), c.integer("dim"));
  run_module(
      c, fusion,
      [&](const Tensors& inputs) -> Tensors {
        const TokenVolume decoder = TokenVolume::of(inputs.at("x"));
        return {{"y", fusion(decoder, TokenVolume::of(inputs.at("skip"))).as_grid()}};
      },
      check);
}

// Unit and place in it of every token, from the members of all units.
void run_partition(const Case& c, Checker& check) {
  for (std::size_t i = 0; i < c.config().items().size(); ++i) {
    const Value& config = c.config().at(i);
    const ops::UnitPlan plan =
        models::partition(size_at(config, "volume"), scheme_at(config), partition_at(config));
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
  for (std::size_t i = 0; i < c.config().items().size(); ++i)
    check.compare(
        fmt::format("output/{}/relative_position_index", i),
        ops::RelativePositions(models::sizes_of(size_at(c.config().at(i), "unit")), c.device())
            .index());
}

void run_sinusoidal(const Case& c, Checker& check) {
  for (std::size_t i = 0; i < c.config().items().size(); ++i) {
    const Value& config = c.config().at(i);
    const Size3 grid = size_at(config, "volume");
    const Tensor table =
        models::sinusoidal_volume(grid, config.at("dim").as_int(), DType::kFloat32, c.device());
    check.compare(fmt::format("output/{}/table", i), to_doubles(table));
  }
}

}  // namespace

void run_unit_rollout(const Case& c, Checker& check) {
  models::ScopeOptions o;
  o.mlp_ratio = c.number("mlp_ratio");
  BlockRow row(c, o, stage_at(c, 1));
  load_parameters(c, row, check);
  const autograd::NoGrad no_grad;
  attention::Probe probe;
  TokenVolume x = TokenVolume::of(c.at("input/x"));
  for (std::size_t i = 0; i < row.blocks.size(); ++i) {
    const bool global = c.config().at("blocks").at(i).as_string() == "gs";
    models::PartitionedGrid units(global ? models::UnitScheme::kGlobal : models::UnitScheme::kLocal,
                                  partition_at(c.config()));
    units.set(x.grid, c.device());
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
  const double residual = c.number("residual_weight");
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
    run_tokens(c, dpe, check);
  };
  table.add("patch_merging3d") = [](const Case& c, Checker& check) {
    models::PatchMerging3d merging(build_for(c), c.integer("dim"));
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
