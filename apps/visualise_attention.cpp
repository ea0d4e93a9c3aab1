// visualise-attention: rollout heat maps and per-head maps of trained runs, and a page to explore
// them.

#include <fmt/format.h>

#include <algorithm>
#include <iostream>
#include <map>

#include "base/error.h"
#include "base/file.h"
#include "common/app.h"
#include "data/image_file.h"
#include "data/registry.h"
#include "experiment/runner.h"
#include "tensor/safetensors.h"
#include "visualise/across_depth.h"
#include "visualise/attention_maps.h"
#include "visualise/explorer.h"
#include "visualise/montage.h"

namespace {

using namespace fovea;
using visualise::Canvas;

struct Arguments {
  std::vector<std::string> runs;
  std::vector<std::string> inputs;
  std::string split = "test";
  std::string checkpoint = "last";
  bool ema = false;
  std::string sign, normalise;
  std::string fusion = "mean";
  double discard = 0;
  double alpha = 0.5;
  std::int64_t start_layer = 0;
  std::string scale = "minmax";
  std::string colours = "plasma";
  double overlay = 0;
  std::int64_t factor = 0;
  bool heads = false;
  bool no_explorer = false;
  bool across_depth = false;
  std::int64_t samples = 512;
  std::string out = "attention";
  int threads = 0;
};

// One input as every run sees it.
struct Input {
  std::string name;           // "7 (cat)" or the file's
  std::vector<float> values;  // (c, h, w) in [0, 1]
  Canvas picture;
};

// A run with its network and what it saw.
struct Subject {
  std::string name;
  std::unique_ptr<experiment::Run> run;
  std::shared_ptr<const data::Dataset> dataset;
  bool signed_maps = false;
  visualise::RolloutOptions rollout;
  std::vector<visualise::Observation> seen;  // one for each input
};

visualise::RolloutOptions rollout_options(const Arguments& args, bool signed_maps) {
  visualise::RolloutOptions o = visualise::default_rollout(signed_maps);
  if (!args.sign.empty()) o.sign = visualise::sign_from_name(args.sign);
  if (!args.normalise.empty()) {
    o.normalise = visualise::normalise_from_name(args.normalise);
  } else if (!args.sign.empty() && args.sign != "raw") {
    o.normalise = visualise::Normalise::kSum;  // unsigned maps: the usual rollout
  }
  o.fusion = visualise::fusion_from_name(args.fusion);
  o.discard = args.discard;
  o.alpha = args.alpha;
  o.start_layer = args.start_layer;
  return o;
}

Subject open_run(const std::string& folder, const Arguments& args) {
  experiment::RunOptions options;
  options.threads = args.threads;
  Subject s;
  s.run = std::make_unique<experiment::Run>(experiment::load_config(folder), options);
  s.name = s.run->experiment().name;
  experiment::load_run_weights(folder, args.checkpoint, args.ema, s.run->model(), s.run->device());
  s.dataset = data::make_dataset(s.run->experiment().dataset, data::split_from_name(args.split));
  const std::string type = s.run->experiment().model.options.at("attention").at("type").as_string();
  s.signed_maps = attention::find_variant(type).info.map == attention::MapKind::kSigned;
  s.rollout = rollout_options(args, s.signed_maps);
  return s;
}

// Runs of one experiment are told apart by their folders.
void tell_apart(std::vector<Subject>& subjects, const std::vector<std::string>& folders) {
  std::map<std::string, int> count;
  for (const Subject& s : subjects) ++count[s.name];
  for (std::size_t i = 0; i < subjects.size(); ++i) {
    if (count[subjects[i].name] == 1) continue;
    const io::fs::path folder = io::fs::canonical(folders[i]);
    subjects[i].name = fmt::format("{} ({})", subjects[i].name, folder.filename().string());
  }
}

bool is_index(const std::string& text) {
  return !text.empty() &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

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
    const std::int64_t index = std::stoll(text.substr(0, 18));
    FOVEA_CHECK(
        index < dataset.size(), ConfigError,
        fmt::format("--input {}: the split has {} samples, counted from 0", text, dataset.size()));
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

Tensor prepared(const Input& input, const Subject& s) {
  std::vector<float> values = input.values;
  const data::Planes planes{s.dataset->channels(), s.dataset->height(), s.dataset->width(),
                            values.data()};
  data::normalise(planes, s.dataset->mean(), s.dataset->std());
  return Tensor::from(values, {1, planes.channels, planes.height, planes.width}, s.run->device());
}

// The class that a run sees in an input.
const std::string& predicted(const Subject& s, std::size_t input) {
  return s.dataset->class_names()[static_cast<std::size_t>(s.seen[input].prediction())];
}

std::string slug(std::string text) {
  for (char& c : text) {
    if (!std::isalnum(static_cast<unsigned char>(c)) && c != '.' && c != '-') c = '_';
  }
  return text;
}

void write_montage(const std::vector<Subject>& subjects, const std::vector<Input>& inputs,
                   const Arguments& args, const io::fs::path& path) {
  const visualise::HeatOptions heat{visualise::scale_from_name(args.scale),
                                    visualise::colour_map_from_name(args.colours), args.overlay};
  visualise::Montage montage;
  montage.column_labels.push_back("input");
  for (const Subject& s : subjects) {
    montage.column_labels.push_back(fmt::format("{} ({}, {})", s.name,
                                                visualise::name_of(s.rollout.sign),
                                                visualise::name_of(s.rollout.normalise)));
  }
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    montage.row_labels.push_back(inputs[i].name);
    std::vector<Canvas> row{inputs[i].picture};
    for (const Subject& s : subjects) {
      const auto weights = visualise::patch_weights(s.seen[i], s.rollout);
      row.push_back(visualise::heat_picture(weights, s.seen[i], inputs[i].picture, heat));
    }
    montage.rows.push_back(std::move(row));
  }
  const bool symmetric = heat.scale == visualise::Scale::kSymmetric;
  visualise::MontageBar bar;
  bar.bar = {heat.colours, symmetric ? -1.0 : 0.0, 1.0,
             symmetric ? "rollout / largest |rollout|" : "rollout, min-max of each image"};
  montage.bars.push_back(bar);
  montage.title = "attention rollout";
  const std::int64_t size = std::max(inputs[0].picture.height, inputs[0].picture.width);
  montage.factor = args.factor > 0 ? args.factor : std::max<std::int64_t>(1, 128 / size);
  visualise::write_png(path, visualise::render(montage));
}

void write_numbers(const std::vector<Subject>& subjects, const std::vector<Input>& inputs,
                   const io::fs::path& out, const Device& device) {
  TensorFile file;
  std::string csv = "run,input,prediction,row,column,weight\n";
  for (const Subject& s : subjects) {
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const visualise::Observation& seen = s.seen[i];
      const std::string key = slug(s.name) + "/" + slug(inputs[i].name);
      for (std::size_t layer = 0; layer < seen.layers.size(); ++layer) {
        const auto& map = seen.layers[layer];
        file.tensors.emplace(fmt::format("{}/attn/{}", key, layer),
                             Tensor::from(map.values, {map.heads, map.n, map.n}, device));
      }
      const visualise::Matrix rollout = visualise::attention_rollout(seen.layers, s.rollout);
      file.tensors.emplace(key + "/rollout",
                           Tensor::from(rollout.values, {rollout.rows, rollout.cols}, device));
      const auto weights = visualise::patch_weights(seen, s.rollout);
      for (std::int64_t patch = 0; patch < seen.grid_h * seen.grid_w; ++patch) {
        csv += fmt::format("{},{},{},{},{},{}\n", slug(s.name), slug(inputs[i].name),
                           slug(predicted(s, i)), patch / seen.grid_w, patch % seen.grid_w,
                           weights[static_cast<std::size_t>(patch)]);
      }
    }
  }
  write_safetensors(out / "maps.safetensors", file);
  io::write_atomic(out / "weights.csv", csv);
}

visualise::Explorer explorer_of(const std::vector<Subject>& subjects,
                                const std::vector<Input>& inputs) {
  visualise::Explorer explorer;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    visualise::ExplorerSample sample{inputs[i].name, inputs[i].picture, {}};
    for (const Subject& s : subjects) {
      const visualise::Observation& seen = s.seen[i];
      visualise::ExplorerModel model;
      model.name = s.name;
      model.note = "predicts " + predicted(s, i);
      model.layers = seen.layers;
      model.rollout = visualise::attention_rollout(seen.layers, s.rollout);
      model.policy = fmt::format("{}, {}", visualise::name_of(s.rollout.sign),
                                 visualise::name_of(s.rollout.normalise));
      model.prefix_tokens = seen.prefix_tokens;
      model.grid_h = seen.grid_h;
      model.grid_w = seen.grid_w;
      sample.models.push_back(std::move(model));
    }
    explorer.samples.push_back(std::move(sample));
  }
  return explorer;
}

// Figures 2, 4 and 7 of kcla, a folder for each run where there are several.
int draw_across_depth(const Arguments& args, const apps::Common& common) {
  constexpr std::int64_t kBatch = 64;
  for (const std::string& folder : args.runs) {
    experiment::RunOptions options;
    options.threads = args.threads;
    experiment::Run run(experiment::load_config(folder), options);
    experiment::load_run_weights(folder, args.checkpoint, args.ema, run.model(), run.device());
    const auto dataset =
        data::make_dataset(run.experiment().dataset, data::split_from_name(args.split));
    const std::int64_t count = std::min(args.samples, dataset->size());
    std::int64_t at = 0;
    const auto next = [&]() -> Tensor {
      if (at == count) return {};
      const std::int64_t end = std::min(count, at + kBatch);
      std::vector<float> values;
      const Shape shape{end - at, dataset->channels(), dataset->height(), dataset->width()};
      for (; at < end; ++at) {
        std::vector<float> image = dataset->get(at).image;
        const data::Planes planes{dataset->channels(), dataset->height(), dataset->width(),
                                  image.data()};
        data::normalise(planes, dataset->mean(), dataset->std());
        values.insert(values.end(), image.begin(), image.end());
      }
      return Tensor::from(values, shape, run.device());
    };
    const io::fs::path out =
        args.runs.size() == 1
            ? io::fs::path(args.out)
            : io::fs::path(args.out) / slug(io::fs::path(folder).filename().string());
    for (const std::string& name : visualise::write_across_depth(run.model(), next, out.string())) {
      if (!common.quiet) fmt::print("{}\n", (out / name).string());
    }
  }
  return 0;
}

int visualise_runs(const Arguments& args, const apps::Common& common) {
  if (args.across_depth) return draw_across_depth(args, common);
  std::vector<Subject> subjects;
  for (const std::string& folder : args.runs) subjects.push_back(open_run(folder, args));
  tell_apart(subjects, args.runs);
  const data::Dataset& first = *subjects[0].dataset;
  std::vector<std::string> wanted = args.inputs;
  if (wanted.empty()) wanted = {"0", "1", "2", "3"};
  std::vector<Input> inputs;
  for (const std::string& text : wanted) inputs.push_back(read_input(text, first));
  for (Subject& s : subjects) {
    FOVEA_CHECK(
        s.dataset->sample_size() == first.sample_size() && s.dataset->height() == first.height(),
        ConfigError,
        fmt::format("{}: sees images of another size than {}", s.name, subjects[0].name));
    for (const Input& input : inputs)
      s.seen.push_back(visualise::observe(s.run->model(), prepared(input, s)));
  }
  const io::fs::path out = args.out;
  io::make_directories(out);
  write_montage(subjects, inputs, args, out / "rollout.png");
  write_numbers(subjects, inputs, out, subjects[0].run->device());
  std::vector<std::string> written = {"rollout.png", "maps.safetensors", "weights.csv"};
  for (const Subject& s : subjects) {
    for (std::size_t i = 0; args.heads && i < inputs.size(); ++i) {
      const std::string name = fmt::format("heads-{}-{}.png", slug(s.name), slug(inputs[i].name));
      visualise::write_png(out / name,
                           visualise::head_grid(s.seen[i], s.signed_maps, inputs[i].picture,
                                                s.name + ", " + inputs[i].name));
      written.push_back(name);
    }
  }
  if (!args.no_explorer) {
    visualise::write_explorer(out / "explorer.html", explorer_of(subjects, inputs));
    written.push_back("explorer.html");
  }
  if (common.quiet) return 0;
  for (const Subject& s : subjects) {
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      fmt::print("{:<20} {:<20} predicted {}\n", s.name, inputs[i].name, predicted(s, i));
    }
  }
  for (const std::string& name : written) fmt::print("{}\n", (out / name).string());
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  apps::Program program(
      "visualise-attention",
      "Draws attention rollouts of trained runs side by side (rollout.png), writes the maps as "
      "numbers\n(maps.safetensors, weights.csv) and as a page for the browser (explorer.html): "
      "hover a "
      "patch to see\nwhat it attends to in each layer and head; the page is one file and needs no "
      "network.\n\n"
      "Example: visualise-attention runs/dgvit runs/vit --input 0 --input 7 --input cat.jpg "
      "--heads\n");
  Arguments args;
  CLI::App& cli = program.cli();
  cli.add_option("RUN", args.runs, "folders of runs made by train")->required();
  cli.add_option("-i,--input", args.inputs,
                 "image file, or index into the split; repeatable (default: 0 1 2 3)")
      ->allow_extra_args(false);
  cli.add_option("--split", args.split, "train, val or test (default)");
  cli.add_option("--checkpoint", args.checkpoint, "last (default), best, or step-00001234");
  cli.add_flag("--ema", args.ema, "the averaged weights");
  cli.add_option("--sign", args.sign, "raw (default), abs, positive, negative");
  cli.add_option("--normalise", args.normalise,
                 "rows: sum, abs, none (default: sum; abs for raw signed maps)");
  cli.add_option("--fusion", args.fusion, "over heads: mean (default), max, min");
  cli.add_option("--discard", args.discard, "share of smallest entries set to zero")
      ->check(CLI::Range(0.0, 0.999));
  cli.add_option("--alpha", args.alpha, "weight of the map against the skip connection")
      ->check(CLI::Range(0.0, 1.0));
  cli.add_option("--start-layer", args.start_layer, "first layer of the rollout, from 0")
      ->check(CLI::NonNegativeNumber);
  cli.add_option("--scale", args.scale, "minmax (default), or symmetric around zero");
  cli.add_option("--colours", args.colours, "plasma (default), viridis, cividis, diverging, grey");
  cli.add_option("--overlay", args.overlay, "share of the image under the map, 0 to 1")
      ->check(CLI::Range(0.0, 1.0));
  cli.add_option("--factor", args.factor, "enlargement of the images")->check(CLI::Range(1, 64));
  cli.add_flag("--heads", args.heads, "also every layer and head");
  cli.add_flag("--no-explorer", args.no_explorer,
               "no explorer.html, which holds every map: about a byte a weight");
  cli.add_flag("--across-depth", args.across_depth,
               "instead: what layer attention does from layer to layer (likeness of keys, decay, "
               "weights of layers), over --samples images");
  cli.add_option("--samples", args.samples, "images of the split for --across-depth")
      ->check(CLI::PositiveNumber);
  cli.add_option("-o,--out", args.out, "folder for the pictures (default: attention)");
  cli.add_option("--threads", args.threads, "threads (0: all cores)")->check(CLI::Range(0, 1024));
  program.add_verbosity();
  return program.run(argc, argv, [&] { return visualise_runs(args, program.common); });
}
