// bench: time, memory and profile of one step of an experiment; the network between ranks.

#include <filesystem>
#include <iostream>
#include <string>
#include <vector>

#include "backend/devices.h"
#include "base/error.h"
#include "bench/bench.h"
#include "bench/decode.h"
#include "bench/network.h"
#include "common/app.h"
#include "common/ranks.h"
#include "experiment/costs/roofline_picture.h"
#include "parallel/mpi/mpi.h"
#include "parallel/ranks.h"
#include "visualise/plots/plot.h"

int main(int argc, char** argv) {
  using namespace fovea;
  apps::Program program(
      "bench",
      "Times one step of an experiment on random data, or the network between ranks.\n\n"
      "Example: fovea bench experiments/smoke/dgvit.json --steps 20 --threads 2\n"
      "         fovea bench experiments/smoke/dgvit.json --steps 20 --roofline\n"
      "         mpirun -n 2 fovea bench --network\n");
  std::string path;
  std::vector<std::string> overrides;
  bench::Settings settings;
  int threads = 0;
  apps::Options cli = program.options();
  cli.add_option("EXPERIMENT", path, "experiment file").value("EXPERIMENT");
  program.add_overrides(overrides);
  const apps::Option steps = cli.add_option("--steps", settings.steps, "timed steps").positive();
  const apps::Option warm_up =
      cli.add_option("--warm-up", settings.warm_up, "steps before").non_negative();
  const apps::Option batch_size =
      cli.add_option("--batch-size", settings.batch_size, "instead of train.batch_size").positive();
  cli.add_option("--threads", threads, "threads (0: all cores)").range(0, 1024);
  const apps::Option infer = cli.add_flag("--infer", settings.infer, "forward only");
  bool attention_only = false;
  bool ffn_only = false;
  bool no_profile = false;
  const apps::Option attention =
      cli.add_flag("--attention-only", attention_only, "the model's attention alone");
  const apps::Option ffn =
      cli.add_flag("--ffn-only", ffn_only, "the model's feed-forward network alone")
          .excludes(attention);
  const apps::Option tokens = cli.add_option(
      "--tokens", settings.tokens,
      "tokens, for one of these two; 1024 by default. For an ffn on a grid: a square one where "
      "that many make one, else a row");
  const apps::Option init =
      cli.add_option("--init", settings.init, "weights: a safetensors file").value("FILE");
  const apps::Option inputs =
      cli.add_option("--inputs", settings.inputs,
                     "a safetensors file of x, and where wanted of labels y, or for a part of the "
                     "gradient upstream")
          .excludes(batch_size)
          .value("FILE");
  // Random weights, once from the first token to the last.
  std::int64_t decoded = 0;
  apps::Option decode =
      cli.add_option("--decode", decoded,
                     "tokens that a language model writes one after the other, with what one takes "
                     "of the processor at the start and at the end")
          .range(8, 1 << 24);
  for (const apps::Option& other :
       {steps, warm_up, batch_size, infer, attention, ffn, tokens, init, inputs})
    decode.excludes(other);
  bool network = false;
  apps::Option of_network = cli.add_flag(
      "--network", network,
      "bandwidth and latency between ranks that mpirun has started, as words for fovea "
      "inspect --forecast");
  for (const apps::Option& other :
       {steps, warm_up, batch_size, infer, attention, ffn, tokens, init, inputs, decode})
    of_network.excludes(other);
  const apps::Option without =
      cli.add_flag("--no-profile", no_profile, "leave out the share of every operation");
  bool roofline = false;
  bool measure_again = false;
  const apps::Option limits =
      cli.add_flag("--roofline", roofline,
                   "how far every operation is from what this processor reaches at most, and the "
                   "time lost; without an experiment these peaks alone, which are measured once")
          .excludes(decode)
          .excludes(of_network)
          .excludes(without);
  cli.add_flag("--measure-again", measure_again, "measure the peaks of --roofline anew")
      .needs(limits);
  std::filesystem::path picture;
  cli.add_option("-o,--out", picture,
                 "a picture of --roofline too, .png or .svg: operations below the peaks")
      .value("FILE")
      .needs(limits);
  program.add_json();
  parallel::Ranks ranks;
  program.on_failure(
      [&](const auto& say, int code) { return apps::end_of_rank(ranks, say, code); });
  return program.run(argc, argv, [&] {
    if (!picture.empty()) visualise::check_plot_path(picture);
    if (roofline && path.empty()) {
      const experiment::MeasuredPeaks peaks =
          experiment::measured_peaks(make_cpu(threads), measure_again);
      if (!picture.empty())
        experiment::write_roofline(picture, peaks.peaks.processor, peaks.peaks, {});
      std::cout << (program.common.json ? experiment::to_json(peaks).dump() + "\n"
                                        : experiment::to_text(peaks));
      return 0;
    }
    FOVEA_CHECK(network == path.empty(), ConfigError,
                network ? "--network takes no experiment file"
                        : "no experiment file given; see fovea bench --help");
    if (network) {
      ranks = parallel::Ranks(parallel::join());
      std::cout << bench::network_words(ranks, program.common.json);
      ranks.leave();
      return 0;
    }
    if (attention_only) settings.part = bench::Part::kAttention;
    if (ffn_only) settings.part = bench::Part::kFfn;
    settings.profile = !no_profile;
    const auto experiment =
        experiment::parse(experiment::resolve(experiment::load_unresolved(path, overrides)));
    const auto& train = experiment.train;
    const Device device = make_device(train.device, train.device_settings(threads));
    if (decoded > 0) {
      const bench::Decoding decoding = bench::decode(experiment, device, decoded);
      std::cout << (program.common.json ? bench::to_json(experiment, decoding).dump() + "\n"
                                        : bench::to_text(experiment, decoding));
      return 0;
    }
    if (roofline) {
      const auto before = bench::Clock::now();
      settings.peaks = experiment::measured_peaks(device, measure_again);
      settings.started += bench::Clock::now() - before;  // no part of starting
    }
    const bench::Result result = bench::run(experiment, device, settings);
    if (!picture.empty()) bench::draw(picture, experiment, settings, result);
    std::cout << (program.common.json ? bench::to_json(experiment, settings, result).dump() + "\n"
                                      : bench::to_text(experiment, settings, result));
    return 0;
  });
}
