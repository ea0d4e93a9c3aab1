#include "inspect/curves.h"

#include <fmt/format.h>

#include <iostream>

#include "experiment/run/curve_runs.h"
#include "visualise/plots/curves.h"

namespace fovea::apps {

Options add_curves(Options cli, CurvesArguments& args) {
  Options curves = cli.add_subcommand(
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
  return curves;
}

int draw_curves(const CurvesArguments& args) {
  const experiment::CurveRuns runs = experiment::curve_runs(args.runs);
  for (const std::string& note : runs.notes) std::cerr << fmt::format("inspect: {}\n", note);
  visualise::write_curves(args.out, runs.groups, args.metrics);
  fmt::print("{}\n", args.out);
  return 0;
}

}  // namespace fovea::apps
