// Where a diffusion transformer looks while it makes an image. mala 4.7 and 9.
#include <fmt/format.h>

#include <algorithm>

#include "autograd/mode.h"
#include "base/distinct_names.h"
#include "base/error.h"
#include "base/file.h"
#include "base/suggest.h"
#include "models/diffusion/denoiser.h"
#include "ops/elementwise.h"
#include "tensor/safetensors.h"
#include "visualise/drawing/heatmap.h"
#include "visualise/drawing/montage.h"
#include "visualise/figures/figure.h"
#include "visualise/figures/shared/image_inputs.h"
#include "visualise/figures/shared/rollouts.h"
#include "visualise/figures/shared/shared_options.h"
#include "visualise/maps/attention_maps.h"
#include "visualise/maps/probed.h"
#include "visualise/maps/rollouts/own_weight.h"

namespace fovea::visualise {
namespace {

constexpr std::int64_t kStandardClasses = 3;
constexpr Colour kQueryPatch{0, 200, 60};

struct DenoisingOptions : RolloutSettings, HeatLook, QueryOption {
  std::int64_t steps = 4;
  std::int64_t seed = 0;
};

const schema::Fields<DenoisingOptions>& denoising_fields() {
  using O = DenoisingOptions;
  static const auto fields =
      schema::Fields<O>{}
          .include(rollout_fields())
          .include(heat_look_fields())
          .include(query_field())
          .add("steps", &O::steps, schema::in_range(1, 16),
               "steps that are shown, from the second to the last (4)")
          .add("seed", &O::seed, schema::at_least(0), "of the noise that images begin with (0)");
  return fields;
}

struct MadeClass {
  std::string name;
  std::int64_t label = 0;
};

// --input names classes: what is made has no sample.
std::vector<MadeClass> made_classes(const FigureRequest& request) {
  const std::vector<std::string>& names = request.runs.front().samples.class_names();
  std::vector<MadeClass> classes;
  for (const std::string& wanted : request.inputs) {
    const auto named = std::find(names.begin(), names.end(), wanted);
    std::int64_t label = named - names.begin();
    if (named == names.end() && is_index(wanted)) label = std::stoll(wanted.substr(0, 18));
    const std::string hint = did_you_mean(wanted, names);
    FOVEA_CHECK(label < std::ssize(names), ConfigError,
                fmt::format("--input {}: no class of the run's data{} expected a number (0 to {}) "
                            "or a name",
                            wanted, hint.empty() ? ";" : hint, std::ssize(names) - 1));
    classes.push_back({names[static_cast<std::size_t>(label)], label});
  }
  if (!classes.empty()) return classes;
  for (std::int64_t label = 0; label < std::min(kStandardClasses, std::ssize(names)); ++label)
    classes.push_back({names[static_cast<std::size_t>(label)], label});
  return classes;
}

// Of an image in [-1, 1], which may be a little outside.
Canvas picture_of(const Tensor& image) {
  std::vector<float> values;
  for (const float value : image.host_values<float>()) values.push_back((value + 1) / 2);
  return visualise::picture_of(values, image.size(1), image.size(2), image.size(3));
}

std::vector<AttentionMap> maps_of(const ShownRun& run, const DenoisingStep& step,
                                  std::int64_t label) {
  const autograd::NoGrad no_grad;
  run.model.train(false);
  attention::Probe probe;
  const auto number = [&](std::int64_t value) {
    return Tensor::from(std::vector<std::int64_t>{value}, {1}, run.device);
  };
  run.model({.image = ops::to(step.x, run.device),
             .timestep = number(step.timestep),
             .label = number(label)},
            &probe);
  std::vector<AttentionMap> layers = recorded_maps(probe);
  FOVEA_CHECK(!layers.empty(), ConfigError, run.title + ": has no attention over patches to show");
  return layers;
}

// An image as it is made.
struct Made {
  std::vector<DenoisingStep> steps;
  std::vector<Matrix> rollouts;              // of every step
  std::vector<std::vector<double>> weights;  // of patches
  std::int64_t grid_h = 0, grid_w = 0;
  std::optional<std::int64_t> query;  // number of its patch
};

Made make(const ShownRun& run, std::int64_t label, const DenoisingOptions& options,
          const RolloutOptions& rollout) {
  Made made;
  made.steps = run.denoising(label, options.steps, static_cast<std::uint64_t>(options.seed));
  const attention::Context geometry = run.model.geometry();
  made.grid_h = geometry.grid_h;
  made.grid_w = geometry.grid_w;
  if (!options.query.empty()) {
    attention::Probe probe;
    probe.only(options.place_in(picture_of(made.steps.front().x)));
    made.query = probe.rows(0, made.grid_h, made.grid_w).first;
  }
  for (const DenoisingStep& step : made.steps) {
    const Matrix& all =
        made.rollouts.emplace_back(attention_rollout(maps_of(run, step, label), rollout));
    if (!made.query) {
      made.weights.push_back(mean_row(all));
      continue;
    }
    const auto row = all.values.begin() + *made.query * all.cols;
    made.weights.push_back(without_own_peak({row, row + all.cols}, *made.query));
  }
  return made;
}

void frame_query(const Made& made, Canvas& picture) {
  if (!made.query) return;
  const std::int64_t row = *made.query / made.grid_w, column = *made.query % made.grid_w;
  const std::int64_t h = picture.height / made.grid_h, w = picture.width / made.grid_w;
  picture.frame(column * w, row * h, w, h, kQueryPatch, 2);
}

Canvas figure_of(const Made& made, const HeatColumn& heat, const std::string& title,
                 const DenoisingOptions& options) {
  const HeatScale scale = options.heat_scale();
  const std::vector<Limits> limits = limits_of({heat}, scale).front();
  const ColourMap palette = palette_of(heat.quantity, options.sequential(), scale.ends);
  const bool own_limits = scale.sharing == HeatSharing::kImage && limits.size() > 1;
  Montage montage;
  montage.title = title;
  montage.factor = 1;  // frames are drawn on the enlarged pictures
  montage.row_labels = {"it sees (x_t)", "takes for the image (x_0)",
                        made.query ? "the framed patch looks" : "patches look (mean)"};
  montage.rows.resize(3);
  if (own_limits) montage.captions.resize(3);
  for (std::size_t i = 0; i < made.steps.size(); ++i) {
    const DenoisingStep& step = made.steps[i];
    montage.column_labels.push_back(
        fmt::format("step {} of {}, t = {}", step.step, step.steps, step.timestep));
    const Canvas image = picture_of(step.x_start);
    const std::int64_t factor = options.enlargement(image, 160);
    Canvas large = enlarge(image, factor);
    const Matrix map = heat_map(as_grid(heat.values[i], made.grid_h, made.grid_w), large.height,
                                large.width, options.smooth);
    Canvas looks = overlay(colourise(positions_of(map, limits[i]), palette), large,
                           options.overlay.value_or(0));
    frame_query(made, looks);
    frame_query(made, large);
    montage.rows[0].push_back(enlarge(picture_of(step.x), factor));
    montage.rows[1].push_back(std::move(large));
    montage.rows[2].push_back(std::move(looks));
    if (!own_limits) continue;
    for (const std::size_t row : {0, 1}) montage.captions[row].emplace_back();
    montage.captions[2].push_back(limits_text(limits[i], scale.ends, heat.even));
  }
  montage.bars.push_back(bar_below(bar_of(heat, limits, scale, options.sequential(), 1), 0));
  return render(montage);
}

void draw_denoising(const FigureRequest& request, const DenoisingOptions& options) {
  FOVEA_CHECK(
      request.texts.empty(), ConfigError,
      fmt::format("--text: {} makes images; give classes with --input", request.runs.front().name));
  TensorFile file;
  std::vector<std::string> files;
  for (const ShownRun& run : request.runs) {
    FOVEA_CHECK(run.signed_maps, ConfigError, run.title + ": has no attention to show");
    const RolloutOptions rollout = options.options(*run.signed_maps);
    file.metadata.emplace(slug(run.title), run.weights);
    for (const MadeClass& one : made_classes(request)) {
      const Made made = make(run, one.label, options, rollout);
      const HeatColumn heat{run.title, rollout_quantity(rollout, *run.signed_maps), made.weights,
                            even_share(rollout, *run.signed_maps, made.grid_h * made.grid_w)};
      files.push_back(fmt::format("denoising-{}-{}.png", slug(run.title), slug(one.name)));
      io::make_directories(request.out);
      write_png(
          request.out / files.back(),
          figure_of(made, heat, fmt::format("{}: {} from noise", run.title, one.name), options));
      for (std::size_t i = 0; i < made.steps.size(); ++i)
        add_rollout(file,
                    fmt::format("{}/{}/{}", slug(run.title), slug(one.name), made.steps[i].step),
                    {}, made.rollouts[i], run.host);
    }
  }
  write_safetensors(request.out / "maps.safetensors", file);
  files.emplace_back("maps.safetensors");
  for (const ShownRun& run : request.runs)
    request.say(fmt::format("{:<20} {}", run.title, run.weights));
  request.say_files(files);
}

FigureInfo denoising_info() {
  return {.help =
              "images that are made from noise, at some of the steps: what the network sees, what "
              "it takes for the image, and where its patches look (attention rollout), or the one "
              "at --query",
          .files = {"denoising-<run>-<class>.png", "maps.safetensors"},
          .fits = "a network that makes images from noise",
          .misfit = [](const ShownRun& run) { return unless_reading(Reads::kNoise, run); },
          .standard = true};
}

}  // namespace

FOVEA_FIGURE(denoising, denoising_info(), denoising_fields(), draw_denoising)

}  // namespace fovea::visualise
