// generate: what a trained network makes of nothing, or of the beginning of a text.

#include <fmt/format.h>

#include "base/error.h"
#include "base/file.h"
#include "common/app.h"
#include "experiment/inference/generation.h"
#include "experiment/inference/text_writer.h"
#include "schema/load.h"
#include "training/status_line.h"
#include "training/tasks/task_registry.h"

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <iostream>
#include <optional>
#include <string>
#include <vector>

namespace {

using namespace fovea;

constexpr std::int64_t kSamples = 4;  // images of a class, where the command line is silent

struct Arguments {
  std::string run;
  // Of texts.
  std::string prompt, prompt_file;
  experiment::WriteRequest request;
  // Of images.
  std::string out, film, classes, classifier;
  std::int64_t samples = kSamples;
  std::string steps;
  std::optional<double> guidance;
  // Of both.
  std::int64_t seed = 0;
  std::string checkpoint;
  std::optional<bool> averaged;
  std::vector<std::string> overrides;
  int threads = 0;
};

double tokens_per_second(double tokens, double seconds) {
  return seconds > 0 ? tokens / seconds : 0;
}

int generate_text(Arguments& args, const apps::Common& common) {
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
  apps::begin_work();
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

// The run's own sampler, with what the command line says otherwise.
training::SamplerOptions sampler_of(const Arguments& args, const experiment::Run& run) {
  training::SamplerOptions sampler = training::sampler_options(run.experiment().eval.sampler);
  if (!args.steps.empty()) sampler.steps = args.steps;
  if (args.guidance) sampler.guidance = *args.guidance;
  return sampler;
}

std::string text_of(const training::SamplerOptions& sampler) {
  return fmt::format("{}, steps {}, guidance {:g}",
                     sampler.kind == training::SamplerKind::kDdpm ? "ddpm" : "ddim",
                     sampler.steps.empty() ? "all" : sampler.steps, sampler.guidance);
}

schema::Value to_value(const experiment::ProxyScores& scores) {
  return schema::Value::object({{"proxy_fid", scores.fid},
                                {"proxy_is", scores.is_mean},
                                {"proxy_is_std", scores.is_std},
                                {"images", scores.images},
                                {"real_images", scores.real},
                                {"split", scores.part}});
}

int generate_images(const Arguments& args, const apps::Common& common,
                    const experiment::Opened& opened) {
  experiment::Run& run = *opened.run;
  const std::vector<std::string>& names = run.task().source().class_names();
  std::optional<training::StatusLine> status;
  if (apps::stderr_is_terminal() && !common.quiet)
    status.emplace(std::cerr, apps::terminal_columns);
  experiment::GenerateSettings settings{.classes = experiment::class_choice(args.classes, names),
                                        .samples = args.samples,
                                        .sampler = sampler_of(args, run),
                                        .seed = static_cast<std::uint64_t>(args.seed),
                                        .film = !args.film.empty(),
                                        .stop = [] { return apps::stop_requested().load(); }};
  settings.progress = [&](std::int64_t done, std::int64_t total) {
    if (status) status->show(fmt::format("step {} of {}", done, total));
  };
  std::optional<experiment::Opened> judge;
  if (!args.classifier.empty())
    judge = experiment::open_run({.folder = args.classifier, .threads = args.threads});
  apps::begin_work();
  const experiment::Generated made = experiment::generate(run, settings);
  if (status) status->clear();
  schema::Value record = schema::Value::object({{"images", made.images.size(0)},
                                                {"out", args.out},
                                                {"sampler", text_of(settings.sampler)},
                                                {"seed", args.seed}});
  opened.weights.describe(record);
  std::string scored;
  if (judge) {
    const experiment::ProxyScores scores = experiment::proxy_scores(*judge->run, made.images);
    schema::Value value = to_value(scores);
    value.set("classifier", args.classifier);
    record.set("scores", value);
    scored = fmt::format(
        "proxy_fid {:.3f} (of {} images against {} of {}), proxy_is {:.3f} +- {:.3f}, by the "
        "features and classes of {}; comparable only with scores by the same classifier\n",
        scores.fid, scores.images, scores.real, scores.part, scores.is_mean, scores.is_std,
        args.classifier);
  }
  const std::string title = fmt::format("{}: {}", run.experiment().name, text_of(settings.sampler));
  visualise::write_png(args.out, experiment::image_grid(made, names, title));
  if (settings.film) visualise::write_apng(args.film, made.film);
  if (common.json) {
    fmt::print("{}\n", record.dump());
  } else {
    fmt::print("{} images, {}, by {}, in {}\n{}", made.images.size(0), text_of(settings.sampler),
               opened.weights.text(), args.out, scored);
  }
  return 0;
}

// What export made of a run has one set of weights.
std::optional<bool> averaged_of(const Arguments& args) {
  if (args.averaged || !io::fs::is_directory(args.run)) return args.averaged;
  return experiment::averaged_for_images(experiment::load_config(args.run));
}

int generate_images(const Arguments& args, const apps::Common& common) {
  FOVEA_CHECK(!args.out.empty(), ConfigError, "--out: is not given; expected a picture, .png");
  return generate_images(args, common,
                         experiment::open_run({.folder = args.run,
                                               .checkpoint = args.checkpoint,
                                               .averaged = averaged_of(args),
                                               .threads = args.threads,
                                               .overrides = args.overrides,
                                               .samples = experiment::WantedSamples::none()}));
}

// The task of the run says which of them it is.
int generate(Arguments& args, const apps::Common& common) {
  const schema::Value config = experiment::load_config(args.run);
  const std::string task = config.at("task").as_string();
  const training::TaskInfo& info = training::tasks().find(task).info;
  const bool images = info.network == models::Interface::kDenoiser;
  FOVEA_CHECK(images || info.network == models::Interface::kLanguageModel, ConfigError,
              fmt::format("{}: a run of the task {}, which makes nothing; expected a run of "
                          "generation or language_modelling",
                          args.run, task));
  const bool of_images = !args.out.empty() || !args.film.empty() || !args.classes.empty() ||
                         !args.classifier.empty() || !args.steps.empty() || args.guidance ||
                         args.samples != kSamples;
  const models::SamplingOptions standard, &sampling = args.request.sampling;
  const bool of_texts = !args.prompt.empty() || !args.prompt_file.empty() ||
                        args.request.tokens != experiment::WriteRequest().tokens ||
                        sampling.temperature != standard.temperature ||
                        sampling.top_k != standard.top_k || sampling.top_p != standard.top_p;
  FOVEA_CHECK(
      images ? !of_texts : !of_images, ConfigError,
      fmt::format("{}: a run of the task {}; {}", args.run, task,
                  images ? "--prompt, --prompt-file, --tokens, --temperature, --top-k and --top-p "
                           "are of language models"
                         : "--out, --film, --classes, --samples, --classifier, --steps and "
                           "--guidance are of generators of images"));
  return images ? generate_images(args, common) : generate_text(args, common);
}

}  // namespace

int main(int argc, char** argv) {
  apps::Program program(
      "generate",
      "Goes on with a text, token by token, by the network of a trained run of "
      "language_modelling,\n"
      "or makes images of chosen classes by one of generation, and writes them as one picture.\n"
      "The same seed gives the same text and the same images.\n\n"
      "Example: fovea generate runs/gutenberg --prompt 'It was a dark' --temperature 0.8\n"
      "         fovea generate runs/gutenberg --top-p 0.9 --tokens 1000 --seed 3 > story.txt\n"
      "         fovea generate runs/dit --classes 0-9 --out grid.png\n"
      "         fovea generate runs/dit --classes 3,5 --samples 8 --steps 50 --guidance 2 "
      "--film film.png --out grid.png\n"
      "         fovea generate runs/dit --samples 100 --classifier runs/resnet --out grid.png\n");
  Arguments args;
  apps::Options cli = program.options();
  cli.add_option("RUN", args.run, "folder of a run made by train, or what export made of it")
      .required()
      .value("FOLDER");
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
  cli.add_option("-o,--out", args.out, "images: the picture, .png").value("FILE");
  cli.add_option("--classes", args.classes,
                 "numbers, names, or none for no class: 0-9 or 3,cat,none (default: all)");
  cli.add_option("--samples", args.samples,
                 "images of each class, of which the picture shows up to 16 (4)")
      .range(1, 1000000);
  cli.add_option("--steps", args.steps, "steps of the chain (default: the run's eval.sampler)");
  double guidance = -1;
  cli.add_option("--guidance", guidance,
                 "classifier-free guidance, 1 = none (default: that of the run's eval.sampler)")
      .non_negative();
  cli.add_option("--film", args.film, "also an animated .png of how the first image came about")
      .value("FILE");
  cli.add_option("--classifier", args.classifier,
                 "folder of a run of image_classification on the same data, by whose features and "
                 "classes the images are scored (proxy_fid, proxy_is)")
      .value("FOLDER");
  cli.add_option("--seed", args.seed, "of the draws (default 0)").range(0, 2147483647);
  cli.add_option("--checkpoint", args.checkpoint,
                 "best, last or step-00001234 (default: the one that summary.json is about)");
  cli.add_flag("--ema", args.averaged, true,
               "the averaged weights (default: of images if the run has any, of texts if "
               "summary.json is about these)");
  cli.add_flag("--no-ema", args.averaged, false, "the others");
  cli.add_option("--threads", args.threads, "threads (0: all cores)").range(0, 1024);
  program.add_overrides(args.overrides);
  program.add_json();
  program.add_verbosity();
  return program.run(argc, argv, [&] {
    apps::install_stop_handlers("generate");
    if (guidance >= 0) args.guidance = guidance;
    return generate(args, program.common);
  });
}
