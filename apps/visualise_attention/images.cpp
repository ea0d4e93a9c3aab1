#include "visualise_attention/images.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/distinct_names.h"
#include "base/error.h"
#include "base/file.h"
#include "visualise/layouts/rollout_figure.h"
#include "visualise_attention/image_inputs.h"

namespace fovea::apps {
namespace {

void write_figure(const std::vector<Subject>& subjects, const std::vector<ImageInput>& inputs,
                  const Arguments& args, double overlay, const io::fs::path& path) {
  visualise::RolloutFigure figure;
  figure.title = overlay > 0 ? "attention rollout over the images" : "attention rollout";
  figure.scale = scale_of(args);
  figure.sequential = colours_of(args);
  figure.smooth = args.smooth;
  figure.overlay = overlay;
  for (const ImageInput& input : inputs) {
    figure.names.push_back(input.name);
    figure.inputs.push_back(input.picture);
  }
  for (const Subject& s : subjects) {
    visualise::RolloutColumn column;
    column.heat = {fmt::format("{} ({})", s.name, s.policy()), s.quantity(), {}, s.even_share(0)};
    column.grid_h = s.seen[0].grid_h;
    column.grid_w = s.seen[0].grid_w;
    for (const visualise::Observation& seen : s.seen)
      column.heat.values.push_back(visualise::token_weights(seen, s.rollout));
    figure.columns.push_back(std::move(column));
  }
  figure.factor = enlargement(args, inputs[0].picture);
  const visualise::Canvas picture = visualise::render(figure);
  io::make_directories(path.parent_path());
  visualise::write_png(path, picture);
}

void write_weights(const std::vector<Subject>& subjects, const std::vector<ImageInput>& inputs,
                   const io::fs::path& path) {
  std::string csv = "run,input,prediction,row,column,weight\n";
  for (const Subject& s : subjects) {
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const visualise::Observation& seen = s.seen[i];
      const auto weights = visualise::token_weights(seen, s.rollout);
      for (std::int64_t patch = 0; patch < seen.grid_h * seen.grid_w; ++patch) {
        csv += fmt::format("{},{},{},{},{},{}\n", slug(s.name), slug(inputs[i].name),
                           slug(s.predicted(i)), patch / seen.grid_w, patch % seen.grid_w,
                           weights[static_cast<std::size_t>(patch)]);
      }
    }
  }
  io::write_atomic(path, csv);
}

visualise::Explorer explorer_of(const std::vector<Subject>& subjects,
                                const std::vector<ImageInput>& inputs, const Arguments& args) {
  visualise::Explorer explorer;
  explorer.scale = scale_of(args);
  explorer.sequential = colours_of(args);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    visualise::ExplorerSample sample{inputs[i].name, inputs[i].picture, {}};
    for (const Subject& s : subjects) {
      visualise::ExplorerModel model = explorer_model(s, i);
      model.grid_h = s.seen[i].grid_h;
      model.grid_w = s.seen[i].grid_w;
      sample.models.push_back(std::move(model));
    }
    explorer.samples.push_back(std::move(sample));
  }
  return explorer;
}

std::vector<ImageInput> observe_all(std::vector<Subject>& subjects, const Arguments& args) {
  const data::ImageDataset& first = images_of(*subjects[0].run, args);
  std::vector<ImageInput> inputs = image_inputs(args, first, subjects[0].name);
  for (Subject& s : subjects) {
    const data::ImageDataset& own = images_of(*s.run, args);
    check_size(own, first, s.name, subjects[0].name);
    for (const ImageInput& input : inputs) {
      const Tensor x = prepared(input, own, first, s.name, s.run->device());
      s.seen.push_back(visualise::observe(s.run->model(), x));
    }
  }
  return inputs;
}

}  // namespace

Drawn draw_images(std::vector<Subject>& subjects, const Arguments& args) {
  const std::vector<ImageInput> inputs = observe_all(subjects, args);
  Drawn drawn;
  for (const ImageInput& input : inputs) drawn.inputs.push_back(input.name);
  const io::fs::path out = args.out;
  write_figure(subjects, inputs, args, 0, out / "rollout.png");
  drawn.files = {"rollout.png"};
  if (overlay_of(args) > 0) {
    write_figure(subjects, inputs, args, overlay_of(args), out / "overlay.png");
    drawn.files.push_back("overlay.png");
  }
  write_maps(out / "maps.safetensors", subjects, drawn.inputs);
  write_weights(subjects, inputs, out / "weights.csv");
  drawn.files.insert(drawn.files.end(), {"maps.safetensors", "weights.csv"});
  for (const Subject& s : subjects) {
    for (std::size_t i = 0; args.heads && i < inputs.size(); ++i) {
      const std::string name = fmt::format("heads-{}-{}.png", slug(s.name), slug(inputs[i].name));
      visualise::write_png(
          out / name, visualise::head_grid(s.seen[i], s.signed_maps, inputs[i].picture,
                                           s.name + ", " + inputs[i].name, head_look_of(args)));
      drawn.files.push_back(name);
    }
  }
  if (!args.no_explorer) {
    visualise::write_explorer(out / "explorer.html", explorer_of(subjects, inputs, args));
    drawn.files.push_back("explorer.html");
  }
  return drawn;
}

}  // namespace fovea::apps
