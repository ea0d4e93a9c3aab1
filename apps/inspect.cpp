// inspect: looks at experiments, registries and configurations without training anything.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <iostream>

#include "backend/devices.h"
#include "base/error.h"
#include "base/file.h"
#include "base/suggest.h"
#include "common/app.h"
#include "common/load.h"
#include "experiment/costs/costs.h"
#include "experiment/costs/profile.h"
#include "experiment/costs/training_step.h"
#include "experiment/file/editor_schema.h"
#include "experiment/file/experiment.h"
#include "experiment/run/curve_runs.h"
#include "experiment/run/runner.h"
#include "experiment/run/summary.h"
#include "experiment/tables/text_table.h"
#include "explain/methods/method.h"
#include "explain/scores/score.h"
#include "inspect/across_depth.h"
#include "inspect/augment.h"
#include "inspect/dataset.h"
#include "inspect/magnitude.h"
#include "inspect/model_file.h"
#include "inspect/signs.h"
#include "inspect/tradeoff.h"
#include "inspect/units.h"
#include "schema/compare.h"
#include "schema/describe/describe.h"
#include "schema/describe/json_schema.h"
#include "schema/load.h"
#include "training/store/model_file.h"
#include "training/tasks/task_registry.h"
#include "visualise/figures/figure_list.h"
#include "visualise/plots/curves.h"
#include "visualise/plots/robustness.h"

namespace {

using namespace fovea;

struct Arguments {
  std::string experiment;
  std::vector<std::string> overrides;
  std::vector<std::string> list;
  bool devices = false;
  int depth = 3;
  bool profile = false;
  std::vector<std::int64_t> across_depth;
  std::vector<std::string> layer_attentions;
  std::int64_t timed_steps = 0;
  std::string other;
  std::vector<std::string> runs;
  std::vector<std::string> metrics;
  std::string split;
  apps::TradeoffArguments tradeoff;
  apps::MagnitudeArguments magnitude;
  apps::SignsArguments signs;
  apps::UnitArguments units;
  apps::AugmentArguments augment;
  apps::DatasetArguments dataset;
  std::string out;
  std::string picture = "across-depth.png";
};

// The registry of that kind among those an experiment file leads to, and tasks and figures.
schema::Choices find_registry(const std::string& kind) {
  std::vector<schema::Choices> registries = schema::registries(experiment::experiment_fields());
  registries.push_back(training::tasks().choices());
  registries.push_back(visualise::figures().choices());
  registries.push_back(explain::methods().choices());
  registries.push_back(explain::scores().choices());
  std::vector<std::string> kinds;
  for (const schema::Choices& registry : registries) {
    kinds.push_back(registry.kind);
    if (registry.kind == kind) return registry;
  }
  throw ConfigError(fmt::format("--list {}: no registry of that name{} (known: {})", kind,
                                did_you_mean(kind, kinds), fmt::join(kinds, ", ")));
}

int list_entries(const schema::Choices& registry, bool json) {
  schema::Value names = schema::Value::array();
  const std::vector<schema::Choice> choices = registry.list();
  std::size_t width = 0;
  for (const schema::Choice& choice : choices) width = std::max(width, choice.name.size());
  for (const schema::Choice& choice : choices) {
    names.push_back(schema::Value::object({{"name", choice.name}, {"help", choice.help}}));
    if (!json) fmt::print("{:<{}}  {}\n", choice.name, width, choice.help);
  }
  if (json) fmt::print("{}\n", names.dump());
  return 0;
}

int list_keys(const schema::Choice& entry, bool json) {
  const schema::Description none;
  const schema::Description& keys = entry.fields ? *entry.fields : none;
  if (json) {
    fmt::print("{}\n", schema::Value::object({{"name", entry.name},
                                              {"help", entry.help},
                                              {"keys", schema::json_schema(keys)}})
                           .dump());
  } else {
    fmt::print("{}: {}\n{}", entry.name, entry.help, schema::describe_text(keys));
  }
  return 0;
}

// `words`: a registry, and maybe one of its entries.
int list_registry(const std::vector<std::string>& words, bool json) {
  const schema::Choices registry = find_registry(words[0]);
  if (words.size() == 1) return list_entries(registry, json);
  return list_keys(schema::find_choice(registry, words[1], "--list"), json);
}

int summarise(const Arguments& args, bool json) {
  const auto e =
      experiment::parse(apps::load_experiment("inspect", args.experiment, args.overrides));
  const models::DataShape shape = experiment::data_shape(e);
  auto summary = experiment::summarise(
      [&](const Device& device) { return experiment::make_model(e, device, shape); },
      experiment::sample_shape(e, shape), e.train.batch_size);
  // With its loss and optimiser, and without what train.freeze spares.
  summary.train_peak_bytes = experiment::step_peak_bytes(e, shape);
  const std::string size = experiment::cost_size_text(e);  // of tables, where it is another one
  const std::optional<experiment::Summary> costs =
      size.empty() ? std::nullopt : std::optional(experiment::count_costs(e, shape));
  if (json) {
    schema::Value object = schema::Value::object({{"name", e.name}});
    const schema::Value details = experiment::to_json(summary);
    for (const auto& member : details.members()) object.set(member.key, member.value);
    if (costs) {
      schema::Value of_tables = schema::Value::object({{"img_size", size}, {"macs", costs->macs}});
      if (costs->macs_paper) of_tables.set("macs_paper", *costs->macs_paper);
      object.set("costs_in_tables", of_tables);
    }
    fmt::print("{}\n", object.dump());
  } else {
    fmt::print("{}", experiment::to_text(summary, args.depth));
    if (costs)
      fmt::print("tables count at {} (cost_img_size): {} MACs{}\n", size,
                 experiment::count_text(costs->macs),
                 costs->macs_paper
                     ? ", " + experiment::count_text(*costs->macs_paper) + " as the paper counts"
                     : "");
  }
  return 0;
}

int profile_step(const Arguments& args, bool json) {
  const auto e =
      experiment::parse(apps::load_experiment("inspect", args.experiment, args.overrides));
  const Device device =
      make_device(e.train.device, static_cast<int>(e.train.threads), e.train.allow_tf32);
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
  const experiment::CurveRuns runs = experiment::curve_runs(args.runs);
  for (const std::string& note : runs.notes) std::cerr << fmt::format("inspect: {}\n", note);
  visualise::write_curves(args.out, runs.groups, args.metrics);
  fmt::print("{}\n", args.out);
  return 0;
}

// The part that the numbers of a run are of, unless one is asked for.
std::string split_of(const Arguments& args) {
  if (!args.split.empty()) return args.split;
  const schema::Value summary = schema::load(io::fs::path(args.runs.front()) / "summary.json");
  std::vector<data::Split> parts;
  for (const auto& part : summary.at("metrics").members())
    parts.push_back(data::split_from_name(part.key));
  return std::string(data::name_of(training::reported_part(parts)));
}

// What results depend on: the settings and the content of the data, or where these lie if it is not
// known.
schema::Value settings_of(const std::string& folder, const schema::Value& config) {
  const io::fs::path file = io::fs::path(folder) / "summary.json";
  const schema::Value summary = io::fs::exists(file) ? schema::load(file) : schema::Value::object();
  const schema::Value* data = schema::find_path(summary, "data.hash");
  const bool known = data != nullptr && data->is_string();
  schema::Value settings =
      experiment::identity(experiment::experiment_kind(), config,
                           {.places = known ? schema::Places::kIgnored : schema::Places::kCounted});
  if (known) settings.set("data", data->as_string().substr(0, 8));
  return settings;
}

int draw_robustness(Arguments args) {
  if (args.out.empty()) args.out = "robustness.png";
  std::vector<visualise::ScoredRun> runs;
  for (const std::string& folder : args.runs) {
    const schema::Value config = experiment::load_config(folder);
    runs.push_back({folder, config, settings_of(folder, config)});
  }
  const auto robustness = visualise::read_robustness(runs, split_of(args));
  visualise::write_robustness(args.out, robustness);
  auto table = visualise::robustness_table(robustness);
  const std::vector<std::string> header = table.front();
  table.erase(table.begin());
  fmt::print("{}{}\n", experiment::plain_table({header, table}), args.out);
  return 0;
}

int print_devices(bool json) {
  schema::Value list = schema::Value::array();
  for (const DeviceInfo& device : list_devices()) {
    if (!json) fmt::print("{:<10} {}\n", device.name, device.description);
    list.push_back(
        schema::Value::object({{"name", device.name}, {"description", device.description}}));
  }
  if (json) fmt::print("{}\n", list.dump());
  return 0;
}

void add_across_depth(apps::Options cli, Arguments& args) {
  apps::Option across =
      cli.add_option("--across-depth", args.across_depth,
                     "what layer attention adds to its backbone with these numbers of blocks a "
                     "stage, and how fast that grows with the number of layers (3 of a bottleneck "
                     "block, 2 of a basic one, and 2 more: 2,4,8,12,17,22 are 20 to 200 in three "
                     "stages), as tables and as a picture")
          .commas()
          .positive()
          .value("N,...");
  cli.add_option("--layer-attention", args.layer_attentions,
                 "names to compare in --across-depth (default: model.layer_attention)")
      .commas()
      .value("NAME,...")
      .needs(across);
  cli.add_option(
         "--time", args.timed_steps,
         "timed training steps of every network of the greatest depth, more of the others; they "
         "take turns, on random inputs of train.batch_size. Time is the median; memory is "
         "the measured peak, which is otherwise counted")
      .positive()
      .value("STEPS")
      .needs(across);
  cli.add_option("--picture", args.picture,
                 "of --across-depth, .png or .svg (default: across-depth.png)")
      .value("FILE")
      .needs(across);
}

}  // namespace

int main(int argc, char** argv) {
  apps::Program program(
      "inspect",
      "Shows what an experiment is made of: parameters, multiply-adds, output shapes, memory.\n\n"
      "Example: fovea inspect experiments/smoke/dgvit.json --set model.depth=2\n"
      "         fovea inspect experiments/smoke/dgvit.json --profile\n"
      "         fovea inspect experiments/kcla/kcla56.json --across-depth 2,6,12\n"
      "         fovea inspect dataset experiments/smoke/dgvit.json\n"
      "         fovea inspect dataset experiments/smoke/dformer.json --plan\n"
      "         fovea inspect augment experiments/smoke/dgvit.json\n"
      "         fovea inspect dgvit.fovea\n"
      "         fovea inspect --list dataset paired_folder\n"
      "         fovea inspect schema > fovea.schema.json\n");
  Arguments args;
  apps::Options cli = program.options();
  program.add_json();
  program.add_overrides(args.overrides);
  cli.add_option("EXPERIMENT", args.experiment, "experiment file, or what export made of a run")
      .value("EXPERIMENT");
  cli.add_option(
         "--list", args.list,
         "what a registry has (attention, model, dataset, figure, ...), or the keys of one entry")
      .at_most(2)
      .value("KIND [NAME]");
  cli.add_flag("--devices", args.devices,
               "where experiments can run on this machine (train.device)");
  cli.add_option("--depth", args.depth, "levels of modules to show").range(0, 100);
  cli.add_flag("--profile", args.profile,
               "time and memory of a training step by operation, on random inputs");
  add_across_depth(cli, args);
  apps::Options config =
      cli.add_subcommand("config", "every setting with the file and line it came from");
  config.share_options();
  config.add_option("EXPERIMENT", args.experiment, "experiment file")
      .required()
      .value("EXPERIMENT");
  const apps::Options dataset = apps::add_dataset(cli, args.experiment, args.dataset);
  const apps::Options augment = apps::add_augment(cli, args.experiment, args.augment);
  apps::Options diff = cli.add_subcommand("diff", "settings in which two experiments differ");
  diff.add_option("A", args.experiment, "experiment file or config.json of a run")
      .required()
      .value("EXPERIMENT");
  diff.add_option("B", args.other, "another").required().value("EXPERIMENT");
  apps::Options curves = cli.add_subcommand(
      "curves",
      "learning curves of runs in one picture, a colour for each; of runs that differ in their "
      "seed or fold alone the mean and a band of one standard deviation");
  curves.add_option("RUN", args.runs, "folders of runs made by train, or of sweeps made by ablate")
      .required()
      .value("FOLDER");
  curves
      .add_option("--metric", args.metrics,
                  "only these, by their names in metrics.jsonl: loss, top1, dice_liver, lr, ... "
                  "(default: all but those of single classes)")
      .commas()
      .value("NAME,...");
  curves.add_option("-o,--out", args.out, "picture, .png or .svg (default: curves.png)")
      .value("FILE");
  apps::Options robustness = cli.add_subcommand(
      "robustness",
      "score against level of noise of runs that eval has scored; runs that differ in their seed "
      "alone make a row");
  robustness.add_option("RUN", args.runs, "folders of runs made by train")
      .required()
      .value("FOLDER");
  robustness
      .add_option("--split", args.split,
                  "default: what the first run reports, test where there is one")
      .value("train|val|test");
  robustness
      .add_option("-o,--out", args.out,
                  "picture, .png or .svg, with a .csv beside it (default: robustness.png)")
      .value("FILE");
  const apps::Options tradeoff = apps::add_tradeoff(cli, args.tradeoff);
  const apps::Options magnitude = apps::add_magnitude(cli, args.magnitude);
  const apps::Options signs = apps::add_signs(cli, args.signs);
  const apps::Options units = apps::add_units(cli, args.units);
  apps::Options docs = cli.add_subcommand("docs", "every key of an experiment file as Markdown");
  apps::Options editors =
      cli.add_subcommand("schema", "JSON Schema of experiment files, for editors");
  return program.run(argc, argv, [&] {
    if (!args.list.empty()) return list_registry(args.list, program.common.json);
    if (args.devices) return print_devices(program.common.json);
    if (docs.parsed()) {
      fmt::print("{}",
                 schema::describe_markdown(experiment::experiment_fields(), "Experiment file"));
      return 0;
    }
    if (editors.parsed()) {
      fmt::print("{}\n", experiment::editor_schema().dump());
      return 0;
    }
    if (config.parsed()) return print_config(args, program.common.json);
    if (dataset.parsed()) {
      return apps::inspect_dataset(
          apps::load_experiment("inspect", args.experiment, args.overrides), args.dataset,
          program.common.json);
    }
    if (augment.parsed()) {
      return apps::draw_augmented(apps::load_experiment("inspect", args.experiment, args.overrides),
                                  args.augment);
    }
    if (diff.parsed()) return print_difference(args);
    if (curves.parsed()) return draw_curves(args);
    if (robustness.parsed()) return draw_robustness(args);
    if (tradeoff.parsed()) return apps::draw_tradeoff(args.tradeoff);
    if (magnitude.parsed()) return apps::draw_magnitude(args.magnitude);
    if (signs.parsed()) return apps::print_signs(args.signs, program.common.json);
    if (units.parsed()) return apps::draw_units(args.units);
    FOVEA_CHECK(!args.experiment.empty(), ConfigError,
                "no experiment file given; see fovea inspect --help");
    if (training::is_model_file(args.experiment))
      return apps::print_model_file(args.experiment, program.common.json);
    if (!args.across_depth.empty()) return draw_across_depth(args, program.common.json);
    return args.profile ? profile_step(args, program.common.json)
                        : summarise(args, program.common.json);
  });
}
