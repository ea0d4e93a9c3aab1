// Attention rollouts of images beside each other. dgsa section 9.
#include <fmt/format.h>

#include "base/distinct_names.h"
#include "base/file.h"
#include "visualise/figures/shared/image_inputs.h"
#include "visualise/figures/shared/rollouts.h"
#include "visualise/layouts/rollout_figure.h"

namespace fovea::visualise {
namespace {

struct ImageRolloutOptions : RolloutSettings, HeatLook, HeadsOption, ExplorerOption {};

const schema::Fields<ImageRolloutOptions>& image_rollout_fields() {
  static const auto fields = schema::Fields<ImageRolloutOptions>{}
                                 .include(rollout_fields())
                                 .include(heat_look_fields())
                                 .include(heads_field())
                                 .include(explorer_field());
  return fields;
}

Canvas rollout_picture(const std::vector<RolledOut>& all, const std::vector<ImageInput>& inputs,
                       const HeatLook& look, double overlay) {
  RolloutFigure figure;
  figure.title = overlay > 0 ? "attention rollout over the images" : "attention rollout";
  figure.scale = look.heat_scale();
  figure.sequential = look.sequential();
  figure.smooth = look.smooth;
  figure.overlay = overlay;
  for (const ImageInput& input : inputs) {
    figure.names.push_back(input.name);
    figure.inputs.push_back(input.picture);
  }
  for (const RolledOut& one : all) {
    RolloutColumn column;
    column.heat = {fmt::format("{} ({})", one.run.title, one.policy()),
                   one.quantity(),
                   {},
                   one.even_share_of(0)};
    column.grid_h = one.seen[0].grid_h;
    column.grid_w = one.seen[0].grid_w;
    for (const Observation& seen : one.seen)
      column.heat.values.push_back(token_weights(seen, one.rollout));
    figure.columns.push_back(std::move(column));
  }
  figure.factor = look.enlargement(inputs[0].picture);
  return render(figure);
}

std::string patch_weights(const std::vector<RolledOut>& all,
                          const std::vector<ImageInput>& inputs) {
  std::string csv = "run,input,prediction,row,column,weight\n";
  for (const RolledOut& one : all) {
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const Observation& seen = one.seen[i];
      const auto weights = token_weights(seen, one.rollout);
      for (std::int64_t patch = 0; patch < seen.grid_h * seen.grid_w; ++patch) {
        csv += fmt::format("{},{},{},{},{},{}\n", slug(one.run.title), slug(inputs[i].name),
                           slug(one.predicted(i)), patch / seen.grid_w, patch % seen.grid_w,
                           weights[static_cast<std::size_t>(patch)]);
      }
    }
  }
  return csv;
}

Explorer patch_explorer(const std::vector<RolledOut>& all, const std::vector<ImageInput>& inputs,
                        const HeatLook& look) {
  Explorer explorer;
  explorer.scale = look.heat_scale();
  explorer.sequential = look.sequential();
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    ExplorerSample sample{inputs[i].name, inputs[i].picture, {}};
    for (const RolledOut& one : all) {
      ExplorerModel model = explorer_model(one, i);
      model.grid_h = one.seen[i].grid_h;
      model.grid_w = one.seen[i].grid_w;
      sample.models.push_back(std::move(model));
    }
    explorer.samples.push_back(std::move(sample));
  }
  return explorer;
}

// heads-<run>-<input>.png of every run; returns their names.
std::vector<std::string> write_heads(const std::vector<RolledOut>& all,
                                     const std::vector<ImageInput>& inputs, const HeatLook& look,
                                     const std::filesystem::path& out) {
  std::vector<std::string> files;
  for (const RolledOut& one : all) {
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      files.push_back(fmt::format("heads-{}-{}.png", slug(one.run.title), slug(inputs[i].name)));
      write_png(out / files.back(),
                head_grid(one.seen[i], one.signed_maps, inputs[i].picture,
                          one.run.title + ", " + inputs[i].name, look.head_look()));
    }
  }
  return files;
}

void draw_rollout(const FigureRequest& request, const ImageRolloutOptions& options) {
  std::vector<RolledOut> all = rolled_out(request, options);
  const std::vector<ImageInput> inputs = image_inputs(request);
  for (RolledOut& one : all) {
    check_size(one.run, request);
    for (const ImageInput& input : inputs)
      one.seen.push_back(observe(one.run.model, prepared(input, one.run, request)));
  }
  std::vector<std::string> names;
  for (const ImageInput& input : inputs) names.push_back(input.name);
  std::vector<std::string> files;
  const auto draw = [&](const char* file, double overlay) {
    const Canvas picture = rollout_picture(all, inputs, options, overlay);
    io::make_directories(request.out);
    write_png(request.out / file, picture);
    files.emplace_back(file);
  };
  draw("rollout.png", 0);
  if (options.share_of_image() > 0) draw("overlay.png", options.share_of_image());
  write_rollout_maps(request.out / "maps.safetensors", all, names);
  io::write_atomic(request.out / "weights.csv", patch_weights(all, inputs));
  files.insert(files.end(), {"maps.safetensors", "weights.csv"});
  if (options.heads) {
    const std::vector<std::string> heads = write_heads(all, inputs, options, request.out);
    files.insert(files.end(), heads.begin(), heads.end());
  }
  if (!options.no_explorer) {
    write_explorer(request.out / "explorer.html", patch_explorer(all, inputs, options));
    files.emplace_back("explorer.html");
  }
  say_rollouts(request, all, names, files);
}

FigureInfo rollout_info() {
  return {.help =
              "attention rollouts of runs side by side, the maps as numbers, and a page for the "
              "browser: hover a patch to see what it attends to in each layer and head",
          .files = {"rollout.png", "overlay.png", "heads-<run>-<input>.png", "weights.csv",
                    "maps.safetensors", "explorer.html"},
          .fits = "a network of images whose blocks attend on one grid of patches",
          .misfit = [](const ShownRun& run) -> std::string {
            if (reads_of(run) == Reads::kSeveralGrids)
              return "has no one grid for all of its blocks";
            return unless_images(run);
          },
          .network =
              [](const ShownRun& run) {
                return run.signed_maps && can([&] { observe(run.model, first_sample(run)); });
              },
          .standard = true};
}

}  // namespace

FOVEA_FIGURE(rollout, rollout_info(), image_rollout_fields(), draw_rollout)

}  // namespace fovea::visualise
