#include "experiment/pictures/shown_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "base/distinct_names.h"
#include "base/error.h"
#include "base/file.h"
#include "data/volumes/volume_dataset.h"
#include "experiment/file/usual_settings.h"
#include "experiment/pictures/denoising_steps.h"
#include "experiment/pictures/volume_case.h"
#include "experiment/pictures/volume_rollouts.h"
#include "experiment/run/run_draw.h"
#include "training/selection.h"
#include "training/store/model_file.h"
#include "training/tasks/task_registry.h"
#include "visualise/figures/shared/image_inputs.h"
#include "visualise/plots/run_names.h"

namespace fovea::experiment {
namespace {

using visualise::ShownRun;

// A model file is called as the run that it was made of.
std::string name_of(const io::fs::path& path) {
  return (training::is_model_file(path) ? path.stem() : path.filename()).string();
}

// By their folders or files.
std::vector<std::string> names_of(const std::vector<std::string>& paths) {
  std::vector<std::string> names;
  for (const std::string& path : paths) names.push_back(name_of(path));
  return distinct(std::move(names));
}

std::vector<std::string> experiment_names(const std::vector<Opened>& opened) {
  std::vector<std::string> names;
  for (const Opened& one : opened) names.push_back(one.run->experiment().name);
  return visualise::without_sweep(std::move(names));
}

// By their experiments; networks of one experiment are told apart by their folders or files of
// weights.
std::vector<std::string> titles_of(const std::vector<Opened>& opened,
                                   const std::vector<std::string>& paths) {
  std::vector<std::string> titles = experiment_names(opened);
  std::map<std::string, int> count;
  for (const std::string& title : titles) ++count[title];
  for (std::size_t i = 0; i < titles.size(); ++i) {
    if (count[titles[i]] == 1) continue;
    io::fs::path path = io::fs::canonical(paths[i]);
    if (is_experiment_file(path)) path = opened[i].weights.file;
    titles[i] = fmt::format("{} ({})", titles[i], name_of(path));
  }
  return distinct(std::move(titles));
}

std::string text_of(const WeightsUsed& weights) {
  return weights.text() + (weights.random_text.empty() ? "" : "; " + weights.random_text);
}

std::optional<bool> signed_maps_of(const Experiment& e) {
  const schema::Value* attention = e.model.options.find("attention");
  const schema::Value* type = attention == nullptr ? nullptr : attention->find("type");
  for (const attention::Variant& variant : attention::variants()) {
    if (type != nullptr && *type == schema::Value(variant.name))
      return variant.info.map == attention::MapKind::kSigned;
  }
  return std::nullopt;
}

// The task that a run or an experiment file is of.
std::string task_of(const io::fs::path& path) {
  const schema::Value config =
      is_experiment_file(path) ? load_unresolved(path, {}) : load_config(path);
  const schema::Value settled = with_usual_settings(config);
  const schema::Value* task = settled.find("task");
  return task == nullptr ? default_task() : task->as_string();
}

ShownRun shown(const Opened& opened, data::Split split) {
  Run& run = *opened.run;
  const training::BatchSource& source = run.task().source();
  const data::Dataset& samples = source.parts().empty() ? source.any() : source.at(split);
  ShownRun result{.name = {},
                  .title = {},
                  .weights = text_of(opened.weights),
                  .split = split,
                  .model = run.model(),
                  .samples = samples,
                  .device = run.device(),
                  .host = source.options().host,
                  .signed_maps = signed_maps_of(run.experiment()),
                  .pixel_classes = {},
                  .predicted_classes = {},
                  .seen_volume = {},
                  .volume_on_file = {},
                  .add_rollouts = {},
                  .denoising = {},
                  .fresh = {}};
  result.pixel_classes = [&run, split](std::int64_t i) {
    run.model().train(false);
    const auto classes = run.task().pixel_classes(split, i);
    return visualise::PixelClasses{classes.truth, classes.predicted};
  };
  result.predicted_classes = [&run](const Tensor& image) {
    run.model().train(false);
    data::Batch batch;
    batch.set("image", image);
    batch.indices = {0};
    return run.task().predicted_classes(batch);
  };
  result.denoising = [&run](std::int64_t label, std::int64_t count, std::uint64_t seed) {
    return denoising_steps(run, label, count, seed);
  };
  result.fresh = [&run](std::int64_t seed) {
    Experiment other = run.experiment();
    other.seed = seed;
    return make_model(other, run.device(), run.shape());
  };
  if (const data::VolumeDataset* volumes = data::find_volumes(samples)) {
    result.seen_volume = [&run, split, volumes](const visualise::VolumeInput& input) {
      return seen_volume(run, split, *volumes, input);
    };
    result.volume_on_file = [&run, split, volumes](const visualise::VolumeInput& input) {
      return volume_on_file(run, split, *volumes, input);
    };
    result.add_rollouts = [&run](const Tensor& image, const auto& voxel, auto& to) {
      add_rollouts(run, image, voxel, to);
    };
  }
  return result;
}

}  // namespace

WantedSamples samples_shown(const io::fs::path& path, const std::vector<std::string>& inputs,
                            const std::vector<std::string>& texts, const std::string& split) {
  const bool by_number = std::any_of(inputs.begin(), inputs.end(), visualise::is_index);
  const bool unnamed = inputs.empty() && texts.empty();
  if (!by_number && !unnamed) return WantedSamples::none();
  const auto network = training::tasks().find(task_of(path)).info.network;
  if (network == models::Interface::kDenoiser) return WantedSamples::none();
  return WantedSamples::of(split);
}

std::vector<Opened> open_shown(const ShownPaths& paths) {
  const auto experiments =
      std::count_if(paths.runs.begin(), paths.runs.end(),
                    [](const std::string& path) { return is_experiment_file(path); });
  FOVEA_CHECK(experiments == std::ssize(paths.weights), ConfigError,
              fmt::format("--weights: {} given for {} experiment files; expected one for each",
                          paths.weights.size(), experiments));
  std::vector<Opened> runs;
  std::size_t used = 0;  // files of weights
  for (const std::string& path : paths.runs) {
    const WantedSamples samples = samples_shown(path, paths.inputs, paths.texts, paths.split);
    if (is_experiment_file(path)) {
      training::ForeignWeights weights = paths.reading;
      weights.file = paths.weights[used++];
      runs.push_back(open_experiment({path, weights, paths.threads, paths.overrides, samples}));
    } else {
      runs.push_back(open_run(
          {path, paths.checkpoint, paths.averaged, paths.threads, paths.overrides, samples}));
    }
  }
  return runs;
}

std::vector<ShownRun> shown_runs(const std::vector<Opened>& opened,
                                 const std::vector<std::string>& paths, const std::string& split) {
  const std::vector<std::string> names = names_of(paths), titles = titles_of(opened, paths),
                                 experiments = experiment_names(opened);
  std::vector<ShownRun> all;
  for (std::size_t i = 0; i < opened.size(); ++i) {
    const std::vector<data::Split> parts = opened[i].run->task().source().parts();
    const data::Split part = !split.empty()  ? data::split_from_name(split)
                             : parts.empty() ? data::Split::kTest
                                             : training::reported_part(parts);
    all.push_back(shown(opened[i], part));
    all.back().name = names[i];
    all.back().title = titles[i];
    const RunDraw draw = run_draw(opened[i].run->config());
    all.back().configuration = {experiments[i], draw.settings, draw.draw};
  }
  return all;
}

}  // namespace fovea::experiment
