// explain: what spoke for a class in images and texts.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/error.h"
#include "common/app.h"
#include "common/shown_flags.h"
#include "data/augment/noise.h"
#include "explain/pictures/explained_runs.h"
#include "explain/score_command.h"

namespace {

using namespace fovea;

struct Arguments {
  experiment::ShownPaths paths;
  std::vector<std::string> methods, options, scores;
  explain::ExplainedRuns asked;  // without runs and methods
  std::int64_t seed = 1, limit = 100, random_seeds = 5;
  std::int64_t batch_size = 0;                          // 0: the usual one
  data::NoiseLevel noise = {.type = "", .level = 0.2};  // no type: none
  std::string out = "explanations";
};

int run_scores(const Arguments& args, const apps::Common& common) {
  FOVEA_CHECK(args.asked.region.empty(), ConfigError,
              "--region: is for explanations of --input; --score looks at the pixels that are "
              "predicted to be of the class");
  FOVEA_CHECK(args.paths.inputs.empty() && args.paths.texts.empty(), ConfigError,
              "--score: looks at samples of a split; expected --split and --limit in place of "
              "--input and --text");
  const std::vector<experiment::Opened> opened = apps::opened(args.paths);
  return apps::score_explanations(
      {.runs = experiment::shown_runs(opened, args.paths.runs, args.paths.split),
       .methods = args.methods,
       .scores = args.scores,
       .options = args.options,
       .target = args.asked.target,
       .limit = args.limit,
       .noise = args.noise.type.empty() ? std::nullopt : std::optional(args.noise),
       .seed = static_cast<std::uint64_t>(args.seed),
       .random_seeds = args.random_seeds,
       .batch_size = args.batch_size > 0 ? args.batch_size : 128},
      args.out, common.quiet);
}

int run_explain(Arguments& args, const apps::Common& common) {
  if (!args.scores.empty()) return run_scores(args, common);
  FOVEA_CHECK(!args.methods.empty(), ConfigError,
              "expected --method with the methods that explain, or --score with the scores that "
              "judge them");
  explain::ExplainedRuns asked = args.asked;
  if (args.batch_size > 0) asked.batch_size = args.batch_size;
  asked.seed = static_cast<std::uint64_t>(args.seed);
  asked.methods = explain::asked_methods(args.methods, args.options);
  const std::vector<experiment::Opened> opened = apps::opened(args.paths);
  asked.request = {.runs = experiment::shown_runs(opened, args.paths.runs, args.paths.split),
                   .inputs = args.paths.inputs,
                   .texts = args.paths.texts,
                   .out = args.out,
                   .say =
                       [&](const std::string& line) {
                         if (!common.quiet) fmt::print("{}\n", line);
                       },
                   .note =
                       [&](const std::string& line) {
                         if (!common.quiet) fmt::print(stderr, "note: {}\n", line);
                       }};
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
      "intervals and tests over the samples of a split.\n\n"
      "Methods (docs/explaining.md says what they tell):\n" +
          explain::method_lines() + "\nScores (--score):\n" + apps::score_lines() +
          "\nExample: fovea explain runs/dgvit runs/vit --input 7 --method "
          "rollout,generic_attention\n"
          "         fovea explain runs/vit --input 7 --method smoothgrad,grad_cam --target label "
          "--option smoothgrad.samples=50\n"
          "         fovea explain runs/dgt --text \"a good film\" --method integrated_gradients\n"
          "         fovea explain runs/vit --score deletion,insertion,saco --limit 1000\n"
          "         fovea explain runs/dgvit runs/vit --score all --method "
          "rollout,generic_attention\n");
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
                 "with --score: samples, spread evenly over the split (default: 100)")
      .range(1, 2147483647)
      .needs(score);
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
  cli.add_flag("--smooth", args.asked.smooth,
               "pictures: between the places of a map, instead of a block for each");
  cli.add_option("--overlay", args.asked.overlay,
                 "pictures: share of the image under a map (default: 0.4)")
      .range(0.0, 1.0);
  cli.add_option("--seed", args.seed, "seed of noise, masks and controls (default: 1)")
      .range(0, 2147483647);
  cli.add_option("--batch-size", args.batch_size,
                 "inputs in a pass of methods that make many (default: 32, with --score 128)")
      .range(1, 65536);
  cli.add_option("-o,--out", args.out, "folder for the files (default: explanations)")
      .value("FOLDER");
  program.add_verbosity();
  return program.run(argc, argv, [&] { return run_explain(args, program.common); });
}
