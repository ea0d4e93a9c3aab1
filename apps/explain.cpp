// explain: what spoke for a class in images and texts, and what parts of a network do for it.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/error.h"
#include "common/app.h"
#include "common/intervention_flags.h"
#include "common/shown_flags.h"
#include "data/augment/noise.h"
#include "explain/intervention_commands.h"
#include "explain/interventions/run_heads.h"
#include "explain/pictures/explained_runs.h"
#include "explain/score_command.h"

namespace {

using namespace fovea;

struct Arguments {
  experiment::ShownPaths paths;
  std::vector<std::string> methods, options, scores;
  explain::ExplainedRuns asked;  // without runs and methods
  apps::InterventionFlags interventions;
  bool head_importance = false;
  std::string patch_from;
  std::int64_t seed = 1, random_seeds = 5;
  std::int64_t limit = 0, batch_size = 0;               // 0: the usual ones
  data::NoiseLevel noise = {.type = "", .level = 0.2};  // no type: none
  std::string out = "explanations";

  bool of_split() const { return !scores.empty() || head_importance; }
};

constexpr std::int64_t kUsualLimit = 100, kUsualBatch = 128;  // of samples of a split

// What stands beside what.
void check_modes(const Arguments& args) {
  const int modes = (args.scores.empty() ? 0 : 1) + (args.head_importance ? 1 : 0) +
                    (args.patch_from.empty() ? 0 : 1);
  FOVEA_CHECK(modes <= 1, ConfigError,
              "--score, --head-importance, --patch-from: expected one of them at a time");
  FOVEA_CHECK(modes == 1 || !args.methods.empty(), ConfigError,
              "expected --method with the methods that explain, --score with the scores that "
              "judge them, --head-importance, or --patch-from with another input");
  FOVEA_CHECK(args.methods.empty() || (!args.head_importance && args.patch_from.empty()),
              ConfigError,
              "--method: does not stand beside --head-importance or --patch-from, which explain "
              "by themselves");
  FOVEA_CHECK(!args.asked.page || modes == 0, ConfigError,
              "--page: is of explanations of --input and --text by --method");
  FOVEA_CHECK(args.limit == 0 || args.of_split(), ConfigError,
              "--limit: is of --score and --head-importance, which look at samples of a split");
  if (!args.of_split()) return;
  FOVEA_CHECK(args.asked.region.empty(), ConfigError,
              "--region: is for explanations of --input; --score and --head-importance look at the "
              "pixels that are predicted to be of the class");
  FOVEA_CHECK(args.paths.inputs.empty() && args.paths.texts.empty(), ConfigError,
              fmt::format("{}: looks at samples of a split; expected --split and --limit in place "
                          "of --input and --text",
                          args.head_importance ? "--head-importance" : "--score"));
  FOVEA_CHECK(args.interventions.drop_patches.empty(), ConfigError,
              "--drop-patches: is of --method and --patch-from; fovea eval --drop-patches scores "
              "a split");
}

// The paths, with the other input among those that are named.
experiment::ShownPaths opened_paths(const Arguments& args) {
  experiment::ShownPaths paths = args.paths;
  const bool named = !paths.inputs.empty() || !paths.texts.empty();
  if (named && !args.patch_from.empty()) paths.inputs.push_back(args.patch_from);
  return paths;
}

// Says in titles and weights, which all files have, that a network or its input is not as it was.
void mark_changed(std::vector<visualise::ShownRun>& runs, const Arguments& args,
                  const std::optional<explain::PatchDrop>& drop) {
  std::vector<std::string> changes = args.interventions.set_heads;
  if (drop) changes.push_back("patches " + drop->described());
  if (changes.empty()) return;
  for (visualise::ShownRun& run : runs) {
    run.title += " (changed)";
    run.configuration.name += " (changed)";
    run.weights += fmt::format("; changed: {}", fmt::join(changes, "; "));
  }
}

visualise::FigureRequest request_of(const Arguments& args, const apps::Common& common,
                                    const std::vector<visualise::ShownRun>& runs) {
  const bool quiet = common.quiet;
  return {.runs = runs,
          .inputs = args.paths.inputs,
          .texts = args.paths.texts,
          .out = args.out,
          .say =
              [quiet](const std::string& line) {
                if (!quiet) fmt::print("{}\n", line);
              },
          .note =
              [quiet](const std::string& line) {
                if (!quiet) fmt::print(stderr, "note: {}\n", line);
              }};
}

schema::Value settings_of(const Arguments& args, const std::optional<explain::PatchDrop>& drop) {
  schema::Value settings =
      schema::Value::object({{"set_heads", schema::Value::array(args.interventions.set_heads)}});
  if (drop) settings.set("drop_patches", drop->described());
  return settings;
}

int run_explain(const Arguments& args, const apps::Common& common) {
  check_modes(args);
  const std::vector<explain::HeadSetting> settings =
      explain::head_settings(args.interventions.set_heads);
  const std::optional<explain::PatchDrop> drop = args.interventions.drop(args.seed);
  std::vector<explain::AskedMethod> methods;
  if (args.scores.empty()) methods = explain::asked_methods(args.methods, args.options);
  const std::vector<experiment::Opened> opened = apps::opened(opened_paths(args));
  std::vector<visualise::ShownRun> runs =
      experiment::shown_runs(opened, args.paths.runs, args.paths.split);
  const auto changed = explain::set_heads(runs, settings);
  mark_changed(runs, args, drop);
  const auto seed = static_cast<std::uint64_t>(args.seed);
  const std::int64_t limit = args.limit > 0 ? args.limit : kUsualLimit;
  const std::int64_t batch_size = args.batch_size > 0 ? args.batch_size : kUsualBatch;
  if (!args.scores.empty())
    return apps::score_explanations(
        {.runs = runs,
         .methods = args.methods,
         .scores = args.scores,
         .options = args.options,
         .target = args.asked.target,
         .limit = limit,
         .noise = args.noise.type.empty() ? std::nullopt : std::optional(args.noise),
         .seed = seed,
         .random_seeds = args.random_seeds,
         .batch_size = batch_size},
        args.out, common.quiet);
  if (args.head_importance)
    return apps::judge_heads({.runs = runs, .limit = limit, .batch_size = batch_size}, args.out,
                             settings_of(args, drop), common.quiet);
  if (!args.patch_from.empty())
    return apps::patch_activations({.request = request_of(args, common, runs),
                                    .from = args.patch_from,
                                    .target = args.asked.target,
                                    .drop = drop},
                                   args.out, settings_of(args, drop), common.quiet);
  explain::ExplainedRuns asked = args.asked;
  if (args.batch_size > 0) asked.batch_size = args.batch_size;
  asked.seed = seed;
  asked.drop = drop;
  asked.methods = methods;
  asked.request = request_of(args, common, runs);
  explain::explain_runs(asked);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  apps::Program program(
      "explain",
      "Shows which places of an image, or which words of a text, spoke for a class: runs and "
      "methods side by side\nin one picture, the maps as safetensors, and numbers as CSV. With "
      "--score: how much such explanations are\nworth, in a table beside random relevance, with "
      "intervals and tests over the samples of a split.\nWith --head-importance: what each "
      "attention head is worth. With --patch-from: which layers and heads carry\nwhat two inputs "
      "differ in. --set-heads and --drop-patches switch parts of the network or the image off "
      "first.\n\n"
      "Methods (docs/explaining.md says what they tell):\n" +
          explain::method_lines() + "\nScores (--score):\n" + apps::score_lines() +
          "\nExample: fovea explain runs/dgvit runs/vit --input 7 --method "
          "rollout,generic_attention --page\n"
          "         fovea explain runs/vit --input 7 --method smoothgrad,grad_cam --target label "
          "--option smoothgrad.samples=50\n"
          "         fovea explain runs/dgt --text \"a good film\" --method integrated_gradients\n"
          "         fovea explain runs/vit --score deletion,insertion,saco --limit 1000\n"
          "         fovea explain runs/dgvit runs/vit --score all --method "
          "rollout,generic_attention\n"
          "         fovea explain runs/dgvit runs/vit --head-importance\n"
          "         fovea explain runs/vit --input 7 --patch-from 12\n"
          "         fovea explain runs/vit --input 7 --method rollout --set-heads "
          "'blocks.5:0-2=off'\n");
  Arguments args;
  apps::Options cli = program.options();
  cli.add_option(
         "-m,--method", args.methods,
         fmt::format(
             "methods by their names above, with commas between them (with --score those of "
             "{} that the network has)",
             fmt::join(explain::usual_methods(), ", ")))
      .commas()
      .value("METHOD");
  cli.add_option("--option", args.options,
                 "an option of a method or score, NAME.KEY=VALUE; repeatable (fovea inspect --list "
                 "explanation METHOD, and --list score SCORE, say what they are)")
      .value("NAME.KEY=VALUE");
  const apps::Option score =
      cli.add_option("--score", args.scores,
                     "scores by their names above, or all that fit the network and the data; "
                     "random relevance is always scored too")
          .commas()
          .value("SCORE");
  cli.add_option("--limit", args.limit,
                 "with --score, --head-importance: samples, spread evenly over the split (default: "
                 "100)")
      .range(1, 2147483647);
  const apps::Option noise =
      cli.add_option("--noise", args.noise.type,
                     "with --score: corruption of every image, the same for all runs (fovea eval "
                     "--help has the types)")
          .value("TYPE")
          .needs(score);
  cli.add_option("--level", args.noise.level, "level of --noise, between 0 and 1 (default: 0.2)")
      .needs(noise);
  cli.add_option("--random-seeds", args.random_seeds,
                 "with --score: draws of random relevance, whose mean counts (default: 5)")
      .range(1, 1000)
      .needs(score);
  cli.add_flag("--head-importance", args.head_importance,
               "what every attention head is worth: loss and accuracy without it, and the "
               "importance by its gradient (Michel et al. 2019), over samples of the split");
  cli.add_option("--patch-from", args.patch_from,
                 "activation patching: activations of this input (number of a sample, image file, "
                 "or words) are put into the pass of each --input, layer by layer and head by head")
      .value("INPUT");
  apps::add_intervention_flags(cli, args.interventions);
  cli.add_option("--target", args.asked.target,
                 "class that is explained: predicted, label, a name of a class or its number "
                 "(default: predicted)")
      .value("CLASS");
  cli.add_option(
         "--region", args.asked.region,
         "of a segmentation: explain the class in these pixels of the image that the network "
         "sees, a pixel ROW,COLUMN, a box TOP,LEFT,BOTTOM,RIGHT or a picture of a mask "
         "(default: where the class is predicted)")
      .value("PIXELS");
  apps::add_shown_flags(program, args.paths,
                        "number of a sample of the split, or an image file; repeatable (default: "
                        "one of each class, at most 10; of samples without classes the first "
                        "four)");
  cli.add_flag("--page", args.asked.page,
               "also a page for the browser, explain.html, of at most 64 MB: maps of runs and "
               "methods side by side, the value at the pointer; of volumes slice by slice");
  cli.add_flag("--smooth", args.asked.smooth,
               "pictures: between the places of a map, instead of a block for each");
  cli.add_option("--overlay", args.asked.overlay,
                 "pictures: share of the image under a map (default: 0.4)")
      .range(0.0, 1.0);
  cli.add_option("--seed", args.seed,
                 "seed of noise, masks, controls and dropped patches (default: 1)")
      .range(0, 2147483647);
  cli.add_option("--batch-size", args.batch_size,
                 "inputs in a pass of methods that make many (default: 32, with --score and "
                 "--head-importance 128)")
      .range(1, 65536);
  cli.add_option("-o,--out", args.out, "folder for the files (default: explanations)")
      .value("FOLDER");
  program.add_verbosity();
  return program.run(argc, argv, [&] { return run_explain(args, program.common); });
}
