#include "inspect/robustness.h"

#include <fmt/format.h>

#include "base/file.h"
#include "data/dataset.h"
#include "experiment/file/experiment.h"
#include "experiment/file/experiment_kind.h"
#include "experiment/run/runner.h"
#include "experiment/tables/text_table.h"
#include "schema/compare.h"
#include "schema/load.h"
#include "training/selection.h"
#include "visualise/plots/robustness.h"

namespace fovea::apps {
namespace {

// The part that the numbers of a run are of, unless one is asked for.
std::string split_of(const RobustnessArguments& args) {
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

}  // namespace

Options add_robustness(Options cli, RobustnessArguments& args) {
  Options robustness = cli.add_subcommand(
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
  return robustness;
}

int draw_robustness(const RobustnessArguments& args) {
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

}  // namespace fovea::apps
