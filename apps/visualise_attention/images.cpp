#include "visualise_attention/images.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/file.h"
#include "data/image_file.h"
#include "visualise/rollout_figure.h"

namespace fovea::apps {
namespace {

using visualise::Canvas;

// One image as every run sees it.
struct Input {
  std::string name;           // "7 (cat)" or the file's
  std::vector<float> values;  // (c, h, w) in [0, 1]
  Canvas picture;
};

// Pixels 0..255 of a file at the size and with the channels of the data set.
std::vector<float> read_file(const std::string& path, const data::Dataset& dataset) {
  const data::Image image = data::resize(data::read_image(path), dataset.height(), dataset.width());
  std::vector<float> values(static_cast<std::size_t>(dataset.sample_size()));
  const std::int64_t plane = image.height * image.width;
  for (std::int64_t pixel = 0; pixel < plane; ++pixel) {
    float grey = 0;
    for (std::int64_t c = 0; c < image.channels; ++c) {
      grey +=
          static_cast<float>(image.pixels[static_cast<std::size_t>(pixel * image.channels + c)]) /
          static_cast<float>(image.channels);
    }
    for (std::int64_t c = 0; c < dataset.channels(); ++c) {
      const bool own = dataset.channels() == image.channels;
      const float value =
          own ? static_cast<float>(
                    image.pixels[static_cast<std::size_t>(pixel * image.channels + c)])
              : grey;
      values[static_cast<std::size_t>(c * plane + pixel)] = value / 255.0f;
    }
  }
  return values;
}

Input read_input(const std::string& text, const data::Dataset& dataset) {
  Input input;
  if (is_index(text)) {
    const std::int64_t index = sample_index(text, dataset.size());
    const data::Sample sample = dataset.get(index);
    input.name =
        fmt::format("{}: {}", index, dataset.class_names()[static_cast<std::size_t>(sample.label)]);
    input.values = sample.image;
  } else {
    input.name = io::fs::path(text).stem().string();
    input.values = read_file(text, dataset);
  }
  input.picture =
      visualise::picture_of(input.values, dataset.channels(), dataset.height(), dataset.width());
  return input;
}

// Every run normalises by its own data set.
Tensor prepared(const Input& input, const Subject& s, const data::Dataset& dataset) {
  std::vector<float> values = input.values;
  const data::Planes planes{dataset.channels(), dataset.height(), dataset.width(), values.data()};
  data::normalise(planes, dataset.mean(), dataset.std());
  return Tensor::from(values, {1, planes.channels, planes.height, planes.width}, s.run->device());
}

void write_figure(const std::vector<Subject>& subjects, const std::vector<Input>& inputs,
                  const Arguments& args, const io::fs::path& path) {
  visualise::RolloutFigure figure;
  figure.title = "attention rollout";
  figure.scale = visualise::heat_scale_from_name(args.scale);
  figure.sequential = visualise::sequential_from_name(args.colours);
  figure.smooth = args.smooth;
  figure.overlay = args.overlay;
  for (const Input& input : inputs) {
    figure.names.push_back(input.name);
    figure.inputs.push_back(input.picture);
  }
  for (const Subject& s : subjects) {
    visualise::RolloutColumn column;
    column.heat = {fmt::format("{} ({})", s.name, s.policy()), s.quantity(), {}};
    column.grid_h = s.seen[0].grid_h;
    column.grid_w = s.seen[0].grid_w;
    for (const visualise::Observation& seen : s.seen)
      column.heat.values.push_back(visualise::token_weights(seen, s.rollout));
    figure.columns.push_back(std::move(column));
  }
  const std::int64_t size = std::max(inputs[0].picture.height, inputs[0].picture.width);
  figure.factor = args.factor > 0 ? args.factor : std::max<std::int64_t>(1, 128 / size);
  visualise::write_png(path, visualise::render(figure));
}

void write_weights(const std::vector<Subject>& subjects, const std::vector<Input>& inputs,
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
                                const std::vector<Input>& inputs) {
  visualise::Explorer explorer;
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

std::vector<Input> observe_all(std::vector<Subject>& subjects, const Arguments& args) {
  FOVEA_CHECK(args.texts.empty(), ConfigError,
              fmt::format("--text: {} reads images; give --input", subjects[0].name));
  const data::Dataset& first = subjects[0].run->images().images(args.split);
  std::vector<std::string> wanted = args.inputs;
  if (wanted.empty()) wanted = {"0", "1", "2", "3"};
  std::vector<Input> inputs;
  for (const std::string& text : wanted) inputs.push_back(read_input(text, first));
  for (Subject& s : subjects) {
    const data::Dataset& own = s.run->images().images(args.split);
    FOVEA_CHECK(own.sample_size() == first.sample_size() && own.height() == first.height(),
                ConfigError,
                fmt::format("{}: sees images of another size than {}", s.name, subjects[0].name));
    for (const Input& input : inputs)
      s.seen.push_back(visualise::observe(s.run->model(), prepared(input, s, own)));
  }
  return inputs;
}

}  // namespace

Drawn draw_images(std::vector<Subject>& subjects, const Arguments& args) {
  const std::vector<Input> inputs = observe_all(subjects, args);
  Drawn drawn;
  for (const Input& input : inputs) drawn.inputs.push_back(input.name);
  const io::fs::path out = args.out;
  io::make_directories(out);
  write_figure(subjects, inputs, args, out / "rollout.png");
  write_maps(out / "maps.safetensors", subjects, drawn.inputs);
  write_weights(subjects, inputs, out / "weights.csv");
  drawn.files = {"rollout.png", "maps.safetensors", "weights.csv"};
  for (const Subject& s : subjects) {
    for (std::size_t i = 0; args.heads && i < inputs.size(); ++i) {
      const std::string name = fmt::format("heads-{}-{}.png", slug(s.name), slug(inputs[i].name));
      visualise::write_png(out / name,
                           visualise::head_grid(s.seen[i], s.signed_maps, inputs[i].picture,
                                                s.name + ", " + inputs[i].name, args.smooth));
      drawn.files.push_back(name);
    }
  }
  if (!args.no_explorer) {
    visualise::write_explorer(out / "explorer.html", explorer_of(subjects, inputs));
    drawn.files.push_back("explorer.html");
  }
  return drawn;
}

}  // namespace fovea::apps
