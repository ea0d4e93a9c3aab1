// explain: what spoke for a class in images and texts.

#include <fmt/format.h>

#include "common/app.h"
#include "common/shown_flags.h"
#include "explain/pictures/explained_runs.h"

namespace {

using namespace fovea;

struct Arguments {
  experiment::ShownPaths paths;
  std::vector<std::string> methods, options;
  explain::ExplainedRuns asked;  // without runs and methods
  std::int64_t seed = 1;
  std::string out = "explanations";
};

int run_explain(Arguments& args, const apps::Common& common) {
  explain::ExplainedRuns asked = args.asked;
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
      "methods side by side\nin one picture, the maps as safetensors, and numbers as CSV.\n\n"
      "Methods (docs/explaining.md says what they tell):\n" +
          explain::method_lines() +
          "\nExample: fovea explain runs/dgvit runs/vit --input 7 --method "
          "rollout,generic_attention\n"
          "         fovea explain runs/vit --input 7 --method smoothgrad,grad_cam --target label "
          "--option smoothgrad.samples=50\n"
          "         fovea explain runs/dgt --text \"a good film\" --method integrated_gradients\n");
  Arguments args;
  apps::Options cli = program.options();
  cli.add_option("-m,--method", args.methods,
                 "methods by their names above, with commas between them")
      .required()
      .commas()
      .value("METHOD");
  cli.add_option("--option", args.options,
                 "an option of a method, METHOD.KEY=VALUE; repeatable (fovea inspect --list "
                 "explanation METHOD says what they are)")
      .value("METHOD.KEY=VALUE");
  cli.add_option("--target", args.asked.target,
                 "class that is explained: predicted, label, a name of a class or its number "
                 "(default: predicted)")
      .value("CLASS");
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
  cli.add_option("--batch-size", args.asked.batch_size,
                 "inputs in a pass of methods that make many (default: 32)")
      .range(1, 65536);
  cli.add_option("-o,--out", args.out, "folder for the files (default: explanations)")
      .value("FOLDER");
  program.add_verbosity();
  return program.run(argc, argv, [&] { return run_explain(args, program.common); });
}
