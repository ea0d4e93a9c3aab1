#include "visualise_attention/subject.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <utility>

#include "base/distinct_names.h"
#include "base/error.h"
#include "base/suggest.h"
#include "tensor/safetensors.h"
#include "training/selection.h"
#include "visualise/plots/run_names.h"

namespace fovea::apps {
namespace {

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

// Networks of one experiment are told apart by their folders or files of weights.
void tell_apart(std::vector<Subject>& subjects, const std::vector<std::string>& folders) {
  std::vector<std::string> names;
  for (const Subject& s : subjects) names.push_back(s.name);
  names = visualise::without_sweep(std::move(names));
  for (std::size_t i = 0; i < subjects.size(); ++i) subjects[i].name = names[i];
  std::map<std::string, int> count;
  for (const Subject& s : subjects) ++count[s.name];
  for (std::size_t i = 0; i < subjects.size(); ++i) {
    if (count[subjects[i].name] == 1) continue;
    io::fs::path folder = io::fs::canonical(folders[i]);
    if (io::fs::is_regular_file(folder)) folder = subjects[i].weights.file;
    subjects[i].name = fmt::format("{} ({})", subjects[i].name, folder.filename().string());
  }
  names.clear();
  for (const Subject& s : subjects) names.push_back(s.name);
  names = distinct(std::move(names));
  for (std::size_t i = 0; i < subjects.size(); ++i) subjects[i].name = names[i];
}

}  // namespace

const std::string& Subject::predicted(std::size_t input) const {
  const auto best = static_cast<std::size_t>(seen[input].prediction());
  return run->task().source().class_names()[best];
}

std::string Subject::policy() const {
  return fmt::format("{}, {}", visualise::name_of(rollout.sign),
                     visualise::name_of(rollout.normalise));
}

visualise::Quantity Subject::quantity() const {
  return visualise::rollout_quantity(rollout, signed_maps);
}

double Subject::even_share(std::size_t input) const {
  return visualise::even_share(rollout, signed_maps, seen[input].layers.front().n);
}

experiment::Opened open_run(std::size_t place, const Arguments& args) {
  const auto is_experiment = [](const std::string& path) { return io::fs::is_regular_file(path); };
  const auto first = args.runs.begin();
  const auto before = static_cast<std::size_t>(
      std::count_if(first, first + static_cast<std::ptrdiff_t>(place), is_experiment));
  const auto experiments =
      static_cast<std::size_t>(std::count_if(first, args.runs.end(), is_experiment));
  FOVEA_CHECK(experiments == args.weights.size(), ConfigError,
              fmt::format("--weights: {} given for {} experiment files; expected one for each",
                          args.weights.size(), experiments));
  const std::string& path = args.runs[place];
  if (!is_experiment(path)) {
    return experiment::open_run(
        {path, args.checkpoint, args.averaged, args.threads, args.overrides});
  }
  training::ForeignWeights weights = args.reading;
  weights.file = args.weights[before];
  return experiment::open_experiment({path, weights, args.threads, args.overrides});
}

std::string split_of(const Arguments& args, experiment::Run& run) {
  return args.split.empty() ? training::reported_part(run.task().parts()) : args.split;
}

std::vector<std::string> folder_names(const Arguments& args) {
  std::vector<std::string> names;
  for (const std::string& folder : args.runs)
    names.push_back(io::fs::path(folder).filename().string());
  return distinct(std::move(names));
}

std::string weights_text(const experiment::WeightsUsed& weights) {
  return weights.text() + (weights.random_text.empty() ? "" : "; " + weights.random_text);
}

std::vector<experiment::Opened> open_runs(const Arguments& args) {
  std::vector<experiment::Opened> runs;
  for (std::size_t place = 0; place < args.runs.size(); ++place) {
    runs.push_back(open_run(place, args));
    for (const std::string& note : runs.back().run->notes()) fmt::print(stderr, "note: {}\n", note);
  }
  return runs;
}

std::vector<Subject> subjects_of(std::vector<experiment::Opened> opened, const Arguments& args) {
  std::vector<Subject> subjects;
  for (experiment::Opened& one : opened) {
    Subject s;
    s.run = std::move(one.run);
    s.weights = one.weights;
    const experiment::Experiment& e = s.run->experiment();
    s.name = e.name;
    const schema::Value* attention = e.model.options.find("attention");
    FOVEA_CHECK(attention != nullptr, ConfigError,
                fmt::format("{}: has no attention over tokens to show", e.name));
    const std::string type = attention->at("type").as_string();
    s.signed_maps = attention::variants().find(type).info.map == attention::MapKind::kSigned;
    s.rollout = rollout_options(args, s.signed_maps);
    subjects.push_back(std::move(s));
  }
  tell_apart(subjects, args.runs);
  return subjects;
}

void check_word(const std::string& flag, const std::string& word,
                const std::vector<std::string>& known) {
  FOVEA_CHECK(std::find(known.begin(), known.end(), word) != known.end(), ConfigError,
              fmt::format("{} {}: unknown{} (known: {})", flag, word, did_you_mean(word, known),
                          fmt::join(known, ", ")));
}

bool is_index(const std::string& text) {
  return !text.empty() &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

std::int64_t sample_index(const std::string& text, std::int64_t size) {
  const std::int64_t index = std::stoll(text.substr(0, 18));
  FOVEA_CHECK(index < size, ConfigError,
              fmt::format("--input {}: the split has {} samples, counted from 0", text, size));
  return index;
}

std::size_t layer_place(const std::vector<std::string>& names, const std::string& wanted,
                        const std::string& run) {
  const auto named = std::find(names.begin(), names.end(), wanted);
  const std::size_t place = named == names.end() && is_index(wanted)
                                ? std::stoull(wanted.substr(0, 18))
                                : static_cast<std::size_t>(named - names.begin());
  FOVEA_CHECK(place < names.size(), ConfigError,
              fmt::format("--layer {}: {} has no such layer (known: 0..{}, {})", wanted, run,
                          names.size() - 1, fmt::join(names, ", ")));
  return place;
}

visualise::ColourMap colours_of(const Arguments& args) {
  return args.colours.empty() ? visualise::kHeat : visualise::sequential_from_name(args.colours);
}

visualise::HeatScale scale_of(const Arguments& args) {
  return args.scale.empty() ? visualise::HeatScale{} : visualise::heat_scale_from_text(args.scale);
}

visualise::HeadLook head_look_of(const Arguments& args) {
  return {scale_of(args).ends, colours_of(args), args.smooth};
}

double overlay_of(const Arguments& args) { return args.overlay >= 0 ? args.overlay : 0.5; }

void write_maps(const io::fs::path& path, const std::vector<Subject>& subjects,
                const std::vector<std::string>& inputs) {
  TensorFile file;
  for (const Subject& s : subjects) {
    const Device& host = s.run->task().source().options().host;
    file.metadata.emplace(slug(s.name), weights_text(s.weights));
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const visualise::Observation& seen = s.seen[i];
      const std::string key = slug(s.name) + "/" + slug(inputs[i]);
      for (std::size_t layer = 0; layer < seen.layers.size(); ++layer) {
        const auto& map = seen.layers[layer];
        file.tensors.emplace(fmt::format("{}/attn/{}", key, layer),
                             Tensor::from(map.values, {map.heads, map.n, map.n}, host));
      }
      const visualise::Matrix rollout = visualise::attention_rollout(seen.layers, s.rollout);
      file.tensors.emplace(key + "/rollout",
                           Tensor::from(rollout.values, {rollout.rows, rollout.cols}, host));
    }
  }
  write_safetensors(path, file);
}

visualise::ExplorerModel explorer_model(const Subject& s, std::size_t input) {
  const visualise::Observation& seen = s.seen[input];
  visualise::ExplorerModel model;
  model.name = s.name;
  model.note = "predicts " + s.predicted(input);
  model.layers = seen.layers;
  model.attention = visualise::attention_quantity(s.signed_maps);
  model.rollout = visualise::attention_rollout(seen.layers, s.rollout);
  model.rolled_out = s.quantity();
  model.attention_even = visualise::even_share(model.attention, seen.layers.front().n);
  model.rollout_even = s.even_share(input);
  model.policy = s.policy();
  model.prefix_tokens = seen.prefix_tokens;
  return model;
}

}  // namespace fovea::apps
