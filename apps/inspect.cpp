// inspect: looks at experiments, registries, configurations and runs without training anything.

#include <fmt/format.h>

#include "backend/devices.h"
#include "base/error.h"
#include "common/app.h"
#include "common/load.h"
#include "experiment/file/editor_schema.h"
#include "experiment/file/experiment.h"
#include "inspect/across_depth.h"
#include "inspect/attention.h"
#include "inspect/augment.h"
#include "inspect/curves.h"
#include "inspect/dataset.h"
#include "inspect/forecast.h"
#include "inspect/magnitude.h"
#include "inspect/model_file.h"
#include "inspect/network.h"
#include "inspect/registries.h"
#include "inspect/robustness.h"
#include "inspect/settings.h"
#include "inspect/signs.h"
#include "inspect/tradeoff.h"
#include "inspect/units.h"
#include "schema/describe/describe.h"
#include "training/store/model_file.h"

namespace {

using namespace fovea;

struct Arguments {
  std::string experiment, other;
  std::vector<std::string> overrides;
  std::vector<std::string> list;
  bool devices = false;
  int depth = 3;
  bool profile = false;
  std::vector<std::string> forecast;  // words; none: not asked for
  apps::AcrossDepthArguments across_depth;
  apps::CurvesArguments curves;
  apps::RobustnessArguments robustness;
  apps::AttentionArguments attention;
  apps::TradeoffArguments tradeoff;
  apps::MagnitudeArguments magnitude;
  apps::SignsArguments signs;
  apps::UnitArguments units;
  apps::AugmentArguments augment;
  apps::DatasetArguments dataset;
};

int print_devices(bool json) {
  schema::Value list = schema::Value::array();
  for (const DeviceInfo& device : list_devices()) {
    if (!json) fmt::print("{:<10} {}\n", device.name, device.description);
    const std::vector<std::string> missing = missing_libraries(device.type);
    for (const std::string& line : missing)
      if (!json) fmt::print("{:<10} {}\n", "", line);
    list.push_back(schema::Value::object({{"name", device.name},
                                          {"description", device.description},
                                          {"missing", schema::Value::array(missing)}}));
  }
  if (json) fmt::print("{}\n", list.dump());
  return 0;
}

schema::Value load(const std::string& file, const std::vector<std::string>& overrides) {
  return apps::load_experiment("inspect", file, overrides);
}

// Without a subcommand: an experiment's network, or what export made of a run.
int inspect_experiment(const Arguments& args, bool json) {
  FOVEA_CHECK(!args.experiment.empty(), ConfigError,
              "no experiment file given; see fovea inspect --help");
  if (training::is_model_file(args.experiment)) {
    FOVEA_CHECK(args.forecast.empty(), ConfigError,
                args.experiment + ": is no experiment file; --forecast needs one");
    return apps::print_model_file(args.experiment, json);
  }
  if (!args.across_depth.blocks.empty()) {
    FOVEA_CHECK(args.forecast.empty(), ConfigError,
                "--forecast and --across-depth exclude each other");
    const auto variation = [&](const std::vector<std::string>& more) {
      std::vector<std::string> overrides = args.overrides;
      overrides.insert(overrides.end(), more.begin(), more.end());
      return experiment::parse(
          experiment::resolve(experiment::load_unresolved(args.experiment, overrides)));
    };
    return apps::draw_across_depth(variation, args.across_depth, json);
  }
  const schema::Value resolved = load(args.experiment, args.overrides);
  if (!args.forecast.empty()) return apps::print_forecast(resolved, args.forecast, json);
  return args.profile ? apps::profile_step(resolved, json)
                      : apps::summarise(resolved, args.depth, json);
}

void add_options(apps::Options cli, Arguments& args) {
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
  const apps::Option profile =
      cli.add_flag("--profile", args.profile,
                   "time and memory of a training step by operation, on random inputs");
  apps::add_forecast(cli, args.forecast).excludes(profile);
  apps::add_across_depth(cli, args.across_depth);
}

}  // namespace

int main(int argc, char** argv) {
  apps::Program program(
      "inspect",
      "Shows what an experiment is made of: parameters, multiply-adds, output shapes, memory.\n\n"
      "Example: fovea inspect experiments/smoke/dgvit.json --set model.depth=2\n"
      "         fovea inspect experiments/smoke/dgvit.json --profile\n"
      "         fovea inspect experiments/smoke/dgvit.json --forecast 'gpus=64 net=400G'\n"
      "         fovea inspect experiments/kcla/kcla56.json --across-depth 2,6,12\n"
      "         fovea inspect dataset experiments/smoke/dgvit.json\n"
      "         fovea inspect dataset experiments/smoke/dformer.json --plan\n"
      "         fovea inspect augment experiments/smoke/dgvit.json\n"
      "         fovea inspect attention runs/dgvit runs/vit\n"
      "         fovea inspect dgvit.fovea\n"
      "         fovea inspect --list dataset paired_folder\n"
      "         fovea inspect schema > fovea.schema.json\n");
  Arguments args;
  apps::Options cli = program.options();
  program.add_json();
  program.add_overrides(args.overrides);
  add_options(cli, args);
  const apps::Options config = apps::add_config(cli, args.experiment);
  const apps::Options dataset = apps::add_dataset(cli, args.experiment, args.dataset);
  const apps::Options augment = apps::add_augment(cli, args.experiment, args.augment);
  const apps::Options diff = apps::add_diff(cli, args.experiment, args.other);
  const apps::Options curves = apps::add_curves(cli, args.curves);
  const apps::Options robustness = apps::add_robustness(cli, args.robustness);
  const apps::Options attention = apps::add_attention(cli, args.attention);
  const apps::Options tradeoff = apps::add_tradeoff(cli, args.tradeoff);
  const apps::Options magnitude = apps::add_magnitude(cli, args.magnitude);
  const apps::Options signs = apps::add_signs(cli, args.signs);
  const apps::Options units = apps::add_units(cli, args.units);
  apps::Options docs = cli.add_subcommand("docs", "every key of an experiment file as Markdown");
  apps::Options editors =
      cli.add_subcommand("schema", "JSON Schema of experiment files, for editors");
  return program.run(argc, argv, [&] {
    const bool json = program.common.json;
    if (!args.list.empty()) return apps::list_registry(args.list, json);
    if (args.devices) return print_devices(json);
    if (docs.parsed()) {
      fmt::print("{}",
                 schema::describe_markdown(experiment::experiment_fields(), "Experiment file"));
      return 0;
    }
    if (editors.parsed()) {
      fmt::print("{}\n", experiment::editor_schema().dump());
      return 0;
    }
    if (config.parsed()) return apps::print_config(load(args.experiment, args.overrides), json);
    if (dataset.parsed())
      return apps::inspect_dataset(load(args.experiment, args.overrides), args.dataset, json);
    if (augment.parsed())
      return apps::draw_augmented(load(args.experiment, args.overrides), args.augment);
    if (diff.parsed())
      return apps::print_difference(load(args.experiment, {}), load(args.other, {}));
    if (curves.parsed()) return apps::draw_curves(args.curves);
    if (robustness.parsed()) return apps::draw_robustness(args.robustness);
    if (attention.parsed()) return apps::inspect_attention(args.attention, args.overrides, json);
    if (tradeoff.parsed()) return apps::draw_tradeoff(args.tradeoff);
    if (magnitude.parsed()) return apps::draw_magnitude(args.magnitude);
    if (signs.parsed()) return apps::print_signs(args.signs, json);
    if (units.parsed()) return apps::draw_units(args.units);
    return inspect_experiment(args, json);
  });
}
