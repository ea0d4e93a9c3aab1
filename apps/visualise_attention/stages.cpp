#include "visualise_attention/stages.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/distinct_names.h"
#include "base/error.h"
#include "base/file.h"
#include "base/suggest.h"
#include "tensor/safetensors.h"
#include "visualise/layouts/prediction_figure.h"
#include "visualise/layouts/stage_figure.h"
#include "visualise_attention/image_inputs.h"
#include "visualise_attention/subject.h"

namespace fovea::apps {
namespace {

using visualise::StagedNetwork;
using visualise::StageFigure;

const std::vector<std::string> kMaps = {"token_norm", "update", "saliency"};

bool wants(const Arguments& args, const std::string& map) {
  return std::find(args.maps.begin(), args.maps.end(), map) != args.maps.end();
}

void check_words(const Arguments& args) {
  for (const std::string& map : args.maps) check_word("--maps", map, kMaps);
  check_word("--compare", args.compare, {"first", "last", "none"});
}

// The truth of a sample that has one.
visualise::Canvas truth_of(const ImageInput& input, experiment::Run& run, const Arguments& args) {
  const data::ImageDataset& images = images_of(run, args);
  if (!input.index || !images.has("mask")) return {};
  const auto truth = run.task().pixel_classes(split_of(args, run), *input.index).truth;
  return visualise::picture_of_classes(input.picture, truth.host_values<std::int64_t>(), {},
                                       {.classes = images.num_classes()});
}

visualise::MapKinds kinds_of(const Arguments& args) {
  visualise::MapKinds kinds{wants(args, "token_norm"), wants(args, "update"), {}};
  if (!kinds.updates || args.runs.size() < 2 || args.compare == "none") return kinds;
  kinds.compare = args.compare == "first" ? 0 : args.runs.size() - 1;
  return kinds;
}

void add_numbers(const StageFigure& figure, const std::string& input, const Device& host,
                 TensorFile& file) {
  for (const StagedNetwork& network : figure.networks) {
    for (const std::int64_t number : figure.stages) {
      const visualise::DecoderStage& s = network.stages[static_cast<std::size_t>(number - 1)];
      const std::string key = fmt::format("{}/{}/{}/", slug(network.name), slug(input), s.name);
      const auto add = [&](const char* name, const std::vector<double>& values, Shape shape) {
        file.tensors.emplace(key + name, Tensor::from(values, shape, host));
      };
      const auto map = [&](const char* name, const visualise::Matrix& tokens) {
        add(name, visualise::token_norms(tokens, s.grid_h, s.grid_w).values, {s.grid_h, s.grid_w});
      };
      map("token_norm", s.input);
      map("update", s.update);
      add("saliency_tokens", visualise::token_saliency(s.output), {s.output.rows});
      add("saliency_channels", visualise::channel_saliency(s.output), {s.output.cols});
    }
  }
}

void print_ratios(const StageFigure& figure, const std::string& input) {
  for (const StagedNetwork& network : figure.networks) {
    for (const std::int64_t number : figure.stages) {
      const visualise::DecoderStage& s = network.stages[static_cast<std::size_t>(number - 1)];
      fmt::print("{:<20} {:<20} {:<20} first token {:.3f} x mean\n", network.name, input,
                 fmt::format("S{} {}, {} x {}", number, s.name, s.grid_h, s.grid_w),
                 visualise::first_token_ratio(visualise::token_saliency(s.output)));
    }
  }
}

}  // namespace

void draw_stages(const Arguments& args, const Common& common) {
  check_words(args);
  const std::vector<std::string> names = folder_names(args);
  std::vector<experiment::Opened> runs = open_runs(args);
  const data::ImageDataset& first = images_of(*runs[0].run, args);
  const std::vector<ImageInput> inputs = image_inputs(args, first, names[0]);
  const io::fs::path out = args.out;
  TensorFile numbers;
  std::vector<std::string> files;
  for (std::size_t i = 0; i < names.size(); ++i) {
    numbers.metadata.emplace(slug(names[i]), weights_text(runs[i].weights));
    if (!common.quiet) fmt::print("{:<20} {}\n", names[i], weights_text(runs[i].weights));
  }
  for (const ImageInput& input : inputs) {
    StageFigure figure{input.name, input.picture, truth_of(input, *runs[0].run, args),
                       {},         args.stages,   enlargement(args, input.picture)};
    for (std::size_t i = 0; i < names.size(); ++i) {
      experiment::Run& run = *runs[i].run;
      const data::ImageDataset& own = images_of(run, args);
      check_size(own, first, names[i], names[0]);
      const Tensor x = prepared(input, own, first, names[i], run.device());
      try {
        figure.networks.push_back({names[i], visualise::observe_stages(run.model(), x)});
      } catch (const ConfigError& error) {
        throw ConfigError(fmt::format("--maps: {}: {}", names[i], error.what()));
      }
    }
    for (std::size_t k = 1; args.stages.empty() && k <= figure.networks[0].stages.size(); ++k)
      figure.stages.push_back(static_cast<std::int64_t>(k));
    const auto write = [&](const std::string& kind, const visualise::Canvas& picture) {
      io::make_directories(out);
      files.push_back(fmt::format("{}-{}.png", kind, slug(input.name)));
      visualise::write_png(out / files.back(), picture);
    };
    if (wants(args, "token_norm") || wants(args, "update"))
      write("maps", visualise::render_maps(figure, kinds_of(args)));
    if (wants(args, "saliency")) {
      write("saliency", visualise::render_saliency(figure));
      if (!common.quiet) print_ratios(figure, input.name);
    }
    add_numbers(figure, input.name, runs[0].run->task().source().options().host, numbers);
  }
  write_safetensors(out / "maps.safetensors", numbers);
  files.emplace_back("maps.safetensors");
  if (common.quiet) return;
  for (const std::string& file : files) fmt::print("{}\n", (out / file).string());
}

}  // namespace fovea::apps
