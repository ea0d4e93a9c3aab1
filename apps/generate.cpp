// generate: a trained language model goes on with a text.

#include <fmt/format.h>

#include "base/error.h"
#include "base/file.h"
#include "common/app.h"
#include "experiment/run/text_writer.h"

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <iostream>
#include <optional>
#include <string>
#include <vector>

namespace {

using namespace fovea;

struct Arguments {
  std::string run;
  std::string prompt, prompt_file;
  experiment::WriteRequest request;
  std::int64_t seed = 0;
  std::string checkpoint;
  std::optional<bool> averaged;
  std::vector<std::string> overrides;
  int threads = 0;
};

double tokens_per_second(double tokens, double seconds) {
  return seconds > 0 ? tokens / seconds : 0;
}

int generate(Arguments& args, const apps::Common& common) {
  experiment::TextWriter writer(
      {args.run, args.checkpoint, args.averaged, args.threads, args.overrides});
  experiment::WriteRequest& request = args.request;
  request.seed = static_cast<std::uint64_t>(args.seed);
  if (!args.prompt_file.empty()) request.prompt = io::read_text(args.prompt_file);
  if (!args.prompt.empty()) request.prompt = args.prompt;
  const auto show = [&](std::string_view bytes) {
    if (common.json) return;
    std::cout << bytes << std::flush;
  };
  if (request.prompt != "\n") show(request.prompt);
  const experiment::Written written = writer.write(request, [&](std::string_view bytes) {
    show(bytes);
    return !apps::stop_requested();
  });
  const double rate = tokens_per_second(static_cast<double>(written.tokens), written.tokens_s);
  if (common.json) {
    schema::Value record = schema::Value::object({{"prompt", request.prompt},
                                                  {"text", written.text},
                                                  {"prompt_tokens", written.prompt_tokens},
                                                  {"tokens", written.tokens},
                                                  {"prompt_s", written.prompt_s},
                                                  {"time_s", written.tokens_s},
                                                  {"state_bytes", written.state_bytes},
                                                  {"seed", args.seed}});
    writer.weights().describe(record);
    fmt::print("{}\n", record.dump());
  } else {
    fmt::print("\n");
    std::fflush(stdout);
  }
  if (!common.quiet)
    fmt::print(stderr,
               "{} tokens, {:.0f} a second, behind {} of the prompt; state of {:.1f} KiB; {}\n",
               written.tokens, rate, written.prompt_tokens,
               static_cast<double>(written.state_bytes) / 1024, writer.weights().text());
  return apps::stop_requested() ? apps::kStopped : 0;
}

}  // namespace

int main(int argc, char** argv) {
  apps::Program program(
      "generate",
      "Goes on with a text, token by token, by the network of a trained run of "
      "language_modelling.\n"
      "The run's data need not be there. The same seed gives the same text.\n\n"
      "Example: fovea generate runs/gutenberg --prompt 'It was a dark' --temperature 0.8\n"
      "         fovea generate runs/gutenberg --top-p 0.9 --tokens 1000 --seed 3 > story.txt\n");
  Arguments args;
  apps::Options cli = program.options();
  cli.add_option("RUN", args.run, "folder of a run made by train").required().value("FOLDER");
  const auto prompt =
      cli.add_option("--prompt", args.prompt, "text to go on with (default: a line break)");
  cli.add_option("--prompt-file", args.prompt_file, "file with that text")
      .value("FILE")
      .excludes(prompt);
  cli.add_option("--tokens", args.request.tokens, "tokens to write (default 256)")
      .range(0, 1000000000);
  cli.add_option("--temperature", args.request.sampling.temperature,
                 "logits are divided by it; 0: always the most probable token (default 1)")
      .number(">= 0", [](double x) { return std::isfinite(x) && x >= 0; });
  cli.add_option("--top-k", args.request.sampling.top_k,
                 "draw from so many of the most probable tokens; 0: from all (default)")
      .range(0, 1000000000);
  cli.add_option("--top-p", args.request.sampling.top_p,
                 "draw from as few tokens as have this share of the probability (default 1)")
      .number("above 0, at most 1", [](double x) { return x > 0 && x <= 1; });
  cli.add_option("--seed", args.seed, "of the draws (default 0)").range(0, 2147483647);
  cli.add_option("--checkpoint", args.checkpoint,
                 "best, last or step-00001234 (default: the one that summary.json is about)");
  cli.add_option("--threads", args.threads, "threads (0: all cores)").range(0, 1024);
  program.add_overrides(args.overrides);
  program.add_verbosity();
  program.add_json();
  return program.run(argc, argv, [&] {
    apps::install_stop_handlers();
    return generate(args, program.common);
  });
}
