// bench: time, memory and profile of one step of an experiment.

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <iostream>

#include "backend/devices.h"
#include "base/error.h"
#include "bench/bench.h"

int main(int argc, char** argv) {
  using namespace fovea;
  CLI::App app{
      "Times one step of an experiment on random data.\n\n"
      "Example: bench experiments/smoke/dgvit.json --steps 20 --threads 2\n"};
  std::string path;
  std::vector<std::string> overrides;
  bench::Settings settings;
  int threads = 0;
  bool json = false;
  app.add_option("EXPERIMENT", path, "experiment file")->required();
  app.add_option("--set", overrides, "override, key=value; repeatable")->allow_extra_args(false);
  app.add_option("--steps", settings.steps, "timed steps")->check(CLI::PositiveNumber);
  app.add_option("--warm-up", settings.warm_up, "steps before")->check(CLI::NonNegativeNumber);
  CLI::Option* batch_size =
      app.add_option("--batch-size", settings.batch_size, "instead of train.batch_size");
  app.add_option("--threads", threads, "threads (0: all cores)");
  app.add_flag("--infer", settings.infer, "forward only");
  bool attention_only = false;
  bool ffn_only = false;
  CLI::Option* attention =
      app.add_flag("--attention-only", attention_only, "the model's attention alone");
  app.add_flag("--ffn-only", ffn_only, "the model's feed-forward network alone")
      ->excludes(attention);
  app.add_option(
      "--tokens", settings.tokens,
      "tokens, for one of these two; 1024 by default. For an ffn on a grid: a square one "
      "where that many make one, else a row");
  app.add_option("--init", settings.init, "weights: a safetensors file");
  app.add_option("--inputs", settings.inputs,
                 "a safetensors file of x, and where wanted of labels y, or for a part of the "
                 "gradient upstream")
      ->excludes(batch_size);
  app.add_flag("!--no-profile", settings.profile, "leave out the share of every operation");
  app.add_flag("--json", json, "print one JSON object");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  if (attention_only) settings.part = bench::Part::kAttention;
  if (ffn_only) settings.part = bench::Part::kFfn;
  try {
    const auto experiment =
        experiment::parse(experiment::resolve(experiment::load_unresolved(path, overrides)));
    const Device device = make_device(experiment.train.device, threads);
    const bench::Result result = bench::run(experiment, device, settings);
    std::cout << (json ? bench::to_json(experiment, settings, result).dump() + "\n"
                       : bench::to_text(experiment, settings, result));
    return 0;
  } catch (const ConfigError& error) {
    std::cerr << "bench: " << error.what() << "\n";
    return 2;
  } catch (const Error& error) {
    std::cerr << "bench: " << error.what() << "\n";
    return 1;
  }
}
