// inspect: looks at experiments, registries and configurations without training anything.

#include <fmt/format.h>

#include <iostream>

#include "attention/attention.h"
#include "backend/devices.h"
#include "base/error.h"
#include "base/suggest.h"
#include "common/app.h"
#include "common/load.h"
#include "data/registry.h"
#include "experiment/experiment.h"
#include "experiment/profile.h"
#include "experiment/runner.h"
#include "experiment/summary.h"
#include "experiment/text_table.h"
#include "inspect/across_depth.h"
#include "layer_attention/layer_attention.h"
#include "nn/ffn.h"
#include "optim/registry.h"
#include "schema/compare.h"
#include "schema/describe.h"
#include "training/loss.h"
#include "visualise/curves.h"
#include "visualise/robustness.h"
#include "visualise/run_names.h"

namespace {

using namespace fovea;

struct Arguments {
  std::string experiment;
  std::vector<std::string> overrides;
  std::string list;
  int depth = 3;
  bool profile = false;
  std::vector<std::int64_t> across_depth;
  std::vector<std::string> layer_attentions;
  std::int64_t timed_steps = 0;
  std::string other;
  std::vector<std::string> runs;
  std::string split = "test";
  std::string out;
  std::string picture = "across-depth.png";
};

std::vector<schema::Choices> registries() {
  return {attention::choices(),      layer_attention::choices(), nn::ffn_choices(),
          models::choices(),         data::dataset_choices(),    optim::optimiser_choices(),
          optim::schedule_choices(), training::loss_choices()};
}

int list_registry(const std::string& kind, bool json) {
  std::vector<std::string> kinds;
  for (const schema::Choices& registry : registries()) {
    kinds.push_back(registry.kind);
    if (registry.kind != kind) continue;
    schema::Value names = schema::Value::array();
    for (const schema::Choice& choice : registry.list()) {
      names.push_back(schema::Value::object({{"name", choice.name}, {"help", choice.help}}));
      if (!json) fmt::print("{:<18} {}\n", choice.name, choice.help);
    }
    if (json) fmt::print("{}\n", names.dump());
    return 0;
  }
  std::string known;
  for (const std::string& name : kinds) known += (known.empty() ? "" : ", ") + name;
  throw ConfigError(fmt::format("--list {}: no registry of that name{} known: {}", kind,
                                did_you_mean(kind, kinds), known));
}

int summarise(const Arguments& args, bool json) {
  const auto e =
      experiment::parse(apps::load_experiment("inspect", args.experiment, args.overrides));
  const models::DataShape shape = experiment::data_shape(e);
  const int slots = e.optimizer.type == "adamw" ? 2 : 1;
  const auto summary = experiment::summarise(
      [&](const Device& device) { return experiment::make_model(e, device, shape); },
      experiment::sample_shape(e, shape), e.train.batch_size, slots);
  if (json) {
    schema::Value object = schema::Value::object({{"name", e.name}});
    const schema::Value details = experiment::to_json(summary);
    for (const auto& member : details.members()) object.set(member.key, member.value);
    fmt::print("{}\n", object.dump());
  } else {
    fmt::print("{}", experiment::to_text(summary, args.depth));
  }
  return 0;
}

int profile_step(const Arguments& args, bool json) {
  const auto e =
      experiment::parse(apps::load_experiment("inspect", args.experiment, args.overrides));
  const Device device = make_device(e.train.device, static_cast<int>(e.train.threads));
  const auto profile = experiment::profile_step(e, device);
  fmt::print("{}",
             json ? experiment::to_json(profile).dump() + "\n" : experiment::to_text(profile));
  return 0;
}

int draw_across_depth(const Arguments& args, bool json) {
  const auto variation = [&](const std::vector<std::string>& more) {
    std::vector<std::string> overrides = args.overrides;
    overrides.insert(overrides.end(), more.begin(), more.end());
    return experiment::parse(
        experiment::resolve(experiment::load_unresolved(args.experiment, overrides)));
  };
  return apps::draw_across_depth(
      variation, {args.across_depth, args.layer_attentions, args.timed_steps}, args.picture, json);
}

int print_config(const Arguments& args, bool json) {
  const schema::Value resolved = apps::load_experiment("inspect", args.experiment, args.overrides);
  if (json) {
    fmt::print("{}\n", resolved.dump());
    return 0;
  }
  std::size_t width = 0;
  const auto rows = schema::provenance(resolved);
  for (const auto& row : rows) width = std::max(width, row.path.size() + row.value.size() + 3);
  width = std::min<std::size_t>(width, 70);
  for (const auto& row : rows) {
    fmt::print("{:<{}}  {}\n", fmt::format("{} = {}", row.path, row.value), width,
               schema::to_string(row.origin));
  }
  return 0;
}

int print_difference(const Arguments& args) {
  const auto a = apps::load_experiment("inspect", args.experiment, {});
  const auto b = apps::load_experiment("inspect", args.other, {});
  for (const std::string& line : schema::diff(a, b)) fmt::print("{}\n", line);
  return 0;
}

int draw_curves(Arguments args) {
  if (args.out.empty()) args.out = "curves.png";
  std::vector<std::string> names;
  for (const std::string& folder : args.runs) {
    names.push_back(experiment::load_config(folder).at("name").as_string());
  }
  names = visualise::without_sweep(std::move(names));
  std::vector<visualise::NamedRun> runs;
  for (std::size_t i = 0; i < names.size(); ++i) runs.push_back({names[i], args.runs[i]});
  visualise::write_curves(args.out, runs);
  fmt::print("{}\n", args.out);
  return 0;
}

int draw_robustness(Arguments args) {
  if (args.out.empty()) args.out = "robustness.png";
  std::vector<visualise::ScoredRun> runs;
  for (const std::string& folder : args.runs) {
    const schema::Value config = experiment::load_config(folder);
    runs.push_back({folder, config, experiment::identity(experiment::experiment_kind(), config)});
  }
  const auto robustness = visualise::read_robustness(runs, args.split);
  visualise::write_robustness(args.out, robustness);
  auto table = visualise::robustness_table(robustness);
  const std::vector<std::string> header = table.front();
  table.erase(table.begin());
  fmt::print("{}{}\n", experiment::plain_table({header, table}), args.out);
  return 0;
}

void add_across_depth(CLI::App& cli, Arguments& args) {
  CLI::Option* across =
      cli.add_option("--across-depth", args.across_depth,
                     "what layer attention adds to its backbone with these numbers of blocks a "
                     "stage, and how fast that grows with the number of layers (3 of a bottleneck "
                     "block, 2 of a basic one, and 2 more: 2,4,8,12,17,22 are 20 to 200 in three "
                     "stages), as tables and as a picture")
          ->delimiter(',')
          ->check(CLI::PositiveNumber);
  cli.add_option("--layer-attention", args.layer_attentions,
                 "names to compare in --across-depth (default: model.layer_attention)")
      ->delimiter(',')
      ->needs(across);
  cli.add_option(
         "--time", args.timed_steps,
         "timed training steps of every network of the greatest depth, more of the others; they "
         "take turns, on random inputs of train.batch_size. Time is the median; memory is "
         "the measured peak, which is otherwise counted")
      ->check(CLI::PositiveNumber)
      ->type_name("STEPS")
      ->needs(across);
  cli.add_option("--picture", args.picture,
                 "of --across-depth, .png or .svg (default: across-depth.png)")
      ->needs(across);
}

}  // namespace

int main(int argc, char** argv) {
  apps::Program program(
      "inspect",
      "Shows what an experiment is made of: parameters, multiply-adds, output shapes, memory.\n\n"
      "Example: inspect experiments/smoke/dgvit.json --set model.depth=2\n"
      "         inspect experiments/smoke/dgvit.json --profile\n"
      "         inspect experiments/kcla/kcla56.json --across-depth 2,6,12\n"
      "         inspect --list attention\n");
  Arguments args;
  CLI::App& cli = program.cli();
  program.add_json();
  program.add_overrides(args.overrides);
  cli.add_option("EXPERIMENT", args.experiment, "experiment file");
  cli.add_option("--list", args.list, "names of a registry: attention, ffn, model, dataset, ...");
  cli.add_option("--depth", args.depth, "levels of modules to show")->check(CLI::Range(0, 100));
  cli.add_flag("--profile", args.profile,
               "time and memory of a training step by operation, on random inputs");
  add_across_depth(cli, args);
  CLI::App* config =
      cli.add_subcommand("config", "every setting with the file and line it came from");
  config->fallthrough();
  config->add_option("EXPERIMENT", args.experiment, "experiment file")->required();
  CLI::App* diff = cli.add_subcommand("diff", "settings in which two experiments differ");
  diff->add_option("A", args.experiment, "experiment file or config.json of a run")->required();
  diff->add_option("B", args.other, "another")->required();
  CLI::App* curves = cli.add_subcommand("curves", "learning curves of runs in one picture");
  curves->add_option("RUN", args.runs, "folders of runs made by train")->required();
  curves->add_option("-o,--out", args.out, "picture, .png or .svg (default: curves.png)");
  CLI::App* robustness = cli.add_subcommand(
      "robustness",
      "score against level of noise of runs that eval has scored; runs that differ in their seed "
      "alone make a row");
  robustness->add_option("RUN", args.runs, "folders of runs made by train")->required();
  robustness->add_option("--split", args.split, "train, val or test (default)");
  robustness->add_option("-o,--out", args.out,
                         "picture, .png or .svg, with a .csv beside it (default: robustness.png)");
  CLI::App* docs = cli.add_subcommand("docs", "every key of an experiment file as Markdown");
  return program.run(argc, argv, [&] {
    if (!args.list.empty()) return list_registry(args.list, program.common.json);
    if (docs->parsed()) {
      fmt::print("{}",
                 schema::describe_markdown(experiment::experiment_fields(), "Experiment file"));
      return 0;
    }
    if (config->parsed()) return print_config(args, program.common.json);
    if (diff->parsed()) return print_difference(args);
    if (curves->parsed()) return draw_curves(args);
    if (robustness->parsed()) return draw_robustness(args);
    FOVEA_CHECK(!args.experiment.empty(), ConfigError,
                "no experiment file given; see inspect --help");
    if (!args.across_depth.empty()) return draw_across_depth(args, program.common.json);
    return args.profile ? profile_step(args, program.common.json)
                        : summarise(args, program.common.json);
  });
}
