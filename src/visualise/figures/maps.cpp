// What the blocks of decoders do with the tokens of images. gdla section 9, figures 6 to 8.
#include <fmt/format.h>

#include <algorithm>

#include "base/distinct_names.h"
#include "base/error.h"
#include "base/file.h"
#include "tensor/safetensors.h"
#include "visualise/figures/shared/image_inputs.h"
#include "visualise/figures/shared/shared_options.h"
#include "visualise/layouts/prediction_figure.h"
#include "visualise/layouts/stage_figure.h"

namespace fovea::visualise {
namespace {

struct MapsOptions : FactorOption {
  std::vector<std::string> maps = {"update"};
  std::vector<std::int64_t> stage;
  std::string compare = "first";

  bool wants(const std::string& map) const {
    return std::find(maps.begin(), maps.end(), map) != maps.end();
  }
};

const std::vector<std::string>& map_words() {
  static const std::vector<std::string> words = {"token_norm", "update", "saliency"};
  return words;
}
const std::vector<std::string>& compare_words() {
  static const std::vector<std::string> words = {"first", "last", "none"};
  return words;
}

const schema::Fields<MapsOptions>& maps_fields() {
  static const auto fields =
      schema::Fields<MapsOptions>{}
          .add("maps", &MapsOptions::maps, words(map_words()),
               "norms of what enters a block (token_norm), size of what attention adds and its "
               "differences between runs (update), root mean squares of tokens and channels "
               "(saliency); asks for the figure as well (default: update)")
          .add("stage", &MapsOptions::stage, "1 is the coarsest (default: all)")
          .add("compare", &MapsOptions::compare, words(compare_words()),
               "of updates: the run from whose map those of the others are subtracted (default: "
               "first)")
          .include(factor_field());
  return fields;
}

// The truth of a sample that has one.
Canvas truth_of(const ImageInput& input, const ShownRun& run) {
  if (!input.index || !run.samples.has("mask")) return {};
  const Tensor truth = run.pixel_classes(*input.index).truth;
  return picture_of_classes(
      input.picture, truth.host_values<std::int64_t>(), {},
      {.classes = run.samples.num_classes(), .background = run.samples.has_background()});
}

MapKinds kinds_of(const MapsOptions& options, std::size_t runs) {
  MapKinds kinds{options.wants("token_norm"), options.wants("update"), {}};
  if (!kinds.updates || runs < 2 || options.compare == "none") return kinds;
  kinds.compare = options.compare == "first" ? 0 : runs - 1;
  return kinds;
}

void add_numbers(const StageFigure& figure, const std::string& input, const Device& host,
                 TensorFile& file) {
  for (const StagedNetwork& network : figure.networks) {
    for (const std::int64_t number : figure.stages) {
      const DecoderStage& s = network.stages[static_cast<std::size_t>(number - 1)];
      const std::string key = fmt::format("{}/{}/{}/", slug(network.name), slug(input), s.name);
      const auto add = [&](const char* name, const std::vector<double>& values, Shape shape) {
        file.tensors.emplace(key + name, Tensor::from(values, shape, host));
      };
      const auto map = [&](const char* name, const Matrix& tokens) {
        add(name, token_norms(tokens, s.grid_h, s.grid_w).values, {s.grid_h, s.grid_w});
      };
      map("token_norm", s.input);
      map("update", s.update);
      add("saliency_tokens", token_saliency(s.output), {s.output.rows});
      add("saliency_channels", channel_saliency(s.output), {s.output.cols});
    }
  }
}

void say_ratios(const StageFigure& figure, const std::string& input, const FigureRequest& request) {
  for (const StagedNetwork& network : figure.networks) {
    for (const std::int64_t number : figure.stages) {
      const DecoderStage& s = network.stages[static_cast<std::size_t>(number - 1)];
      request.say(fmt::format("{:<20} {:<20} {:<20} first token {:.3f} x mean", network.name, input,
                              fmt::format("S{} {}, {} x {}", number, s.name, s.grid_h, s.grid_w),
                              first_token_ratio(token_saliency(s.output))));
    }
  }
}

StagedNetwork staged(const ShownRun& run, const Tensor& image) {
  try {
    return {run.name, observe_stages(run.model, image)};
  } catch (const ConfigError& error) {
    throw ConfigError(fmt::format("--maps: {}: {}", run.name, error.what()));
  }
}

void draw_maps(const FigureRequest& request, const MapsOptions& options) {
  for (const std::string& map : options.maps) check_word("--maps", map, map_words());
  check_word("--compare", options.compare, compare_words());
  const ShownRun& first = request.runs.front();
  const std::vector<ImageInput> inputs = image_inputs(request);
  TensorFile numbers;
  std::vector<std::string> files;
  for (const ShownRun& run : request.runs) {
    numbers.metadata.emplace(slug(run.name), run.weights);
    request.say(fmt::format("{:<20} {}", run.name, run.weights));
  }
  for (const ImageInput& input : inputs) {
    StageFigure figure{input.name, input.picture, truth_of(input, first),
                       {},         options.stage, options.enlargement(input.picture)};
    for (const ShownRun& run : request.runs) {
      check_size(run, request);
      figure.networks.push_back(staged(run, prepared(input, run, request)));
    }
    for (std::size_t k = 1; options.stage.empty() && k <= figure.networks[0].stages.size(); ++k)
      figure.stages.push_back(static_cast<std::int64_t>(k));
    const auto write = [&](const std::string& kind, const Canvas& picture) {
      io::make_directories(request.out);
      files.push_back(fmt::format("{}-{}.png", kind, slug(input.name)));
      write_png(request.out / files.back(), picture);
    };
    if (options.wants("token_norm") || options.wants("update"))
      write("maps", render_maps(figure, kinds_of(options, request.runs.size())));
    if (options.wants("saliency")) {
      write("saliency", render_saliency(figure));
      say_ratios(figure, input.name, request);
    }
    add_numbers(figure, input.name, first.host, numbers);
  }
  write_safetensors(request.out / "maps.safetensors", numbers);
  files.emplace_back("maps.safetensors");
  request.say_files(files);
}

FigureInfo maps_info() {
  return {.help =
              "what the blocks of a decoder (pvt_gdla, ...) do with tokens, a picture for each "
              "image, runs side by side",
          .files = {"maps-<input>.png", "saliency-<input>.png", "maps.safetensors"},
          .fits = "a network of images with a decoder of attention blocks",
          .misfit = unless_images,
          .network =
              [](const ShownRun& run) {
                return can([&] { observe_stages(run.model, first_sample(run)); });
              },
          .flag = true};
}

}  // namespace

FOVEA_FIGURE(maps, maps_info(), maps_fields(), draw_maps)

}  // namespace fovea::visualise
