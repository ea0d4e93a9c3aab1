#include "visualise_attention/images.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include "base/distinct_names.h"
#include "base/error.h"
#include "base/file.h"
#include "data/image_dataset.h"
#include "visualise/rollout_figure.h"

namespace fovea::apps {
namespace {

using visualise::Canvas;

// A sample of the split or a file. Every run prepares it as its own data set does.
struct Input {
  std::string name;                   // "7: cat" or the file's
  std::string file;                   // empty for a sample
  std::optional<std::int64_t> index;  // of a sample in the first run's split
  Canvas picture;
};

const data::ImageDataset& images_of(const Subject& s, const Arguments& args) {
  return data::images_of(s.run->task().source().at(split_of(args, *s.run)));
}

// A sample's place in its files, wherever these lie.
std::string place_of(const data::ImageDataset& dataset, std::int64_t i) {
  const std::string name = dataset.name(i);
  const std::string& root = dataset.root();
  return name.rfind(root, 0) == 0 ? name.substr(root.size()) : name;
}

// The sample of `own` that is sample `i` of `first`; runs may be limited to different ones.
std::int64_t same_sample(const data::ImageDataset& own, const data::ImageDataset& first,
                         std::int64_t i, const std::string& run) {
  const std::string place = place_of(first, i);
  if (i < own.size() && place_of(own, i) == place) return i;
  for (std::int64_t k = 0; k < own.size(); ++k) {
    if (place_of(own, k) == place) return k;
  }
  throw ConfigError(fmt::format("--input {}: {} has no {} in its split; give the name of a file", i,
                                run, first.name(i)));
}

// (c, h, w) in [0, 1].
std::vector<float> values_of(const Input& input, const data::ImageDataset& own,
                             const data::ImageDataset& first, const std::string& run) {
  const data::Sample sample =
      input.index ? own.get(same_sample(own, first, *input.index, run)) : own.get_file(input.file);
  const auto values = sample.at("image").values<float>();
  return {values.begin(), values.end()};
}

Tensor prepared(std::vector<float> values, const Subject& s, const data::ImageDataset& dataset) {
  const data::Planes planes{dataset.channels(), dataset.height(), dataset.width(), values.data()};
  data::normalise(planes, dataset.mean(), dataset.std());
  return Tensor::from(values, {1, planes.channels, planes.height, planes.width}, s.run->device());
}

std::vector<Input> named_inputs(const std::vector<std::string>& wanted,
                                const data::ImageDataset& first) {
  std::vector<std::string> files;
  std::copy_if(wanted.begin(), wanted.end(), std::back_inserter(files),
               [](const std::string& text) { return !is_index(text); });
  const std::vector<std::string> short_names = file_names(files);
  std::vector<std::string> names;
  std::vector<Input> inputs(wanted.size());
  std::size_t file = 0;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    if (is_index(wanted[i])) {
      const std::int64_t index = sample_index(wanted[i], first.size());
      inputs[i].index = index;
      const auto label = static_cast<std::size_t>(first.label(index));
      names.push_back(fmt::format("{}: {}", index, first.class_names()[label]));
    } else {
      inputs[i].file = wanted[i];
      names.push_back(short_names[file++]);
    }
  }
  names = distinct(std::move(names));
  for (std::size_t i = 0; i < wanted.size(); ++i) inputs[i].name = names[i];
  return inputs;
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
  const data::ImageDataset& first = images_of(subjects[0], args);
  std::vector<std::string> wanted = args.inputs;
  if (wanted.empty()) wanted = {"0", "1", "2", "3"};
  std::vector<Input> inputs = named_inputs(wanted, first);
  for (Input& input : inputs) {
    input.picture = visualise::picture_of(values_of(input, first, first, subjects[0].name),
                                          first.channels(), first.height(), first.width());
  }
  for (Subject& s : subjects) {
    const data::ImageDataset& own = images_of(s, args);
    FOVEA_CHECK(own.fields()[0].shape == first.fields()[0].shape, ConfigError,
                fmt::format("{}: sees images of another size than {}", s.name, subjects[0].name));
    for (const Input& input : inputs) {
      const Tensor x = prepared(values_of(input, own, first, s.name), s, own);
      s.seen.push_back(visualise::observe(s.run->model(), x));
    }
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
