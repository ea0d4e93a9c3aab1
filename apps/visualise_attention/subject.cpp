#include "visualise_attention/subject.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <iostream>
#include <map>
#include <utility>

#include "base/error.h"
#include "tensor/safetensors.h"
#include "visualise/run_names.h"

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

// Runs of one experiment are told apart by their folders.
void tell_apart(std::vector<Subject>& subjects, const std::vector<std::string>& folders) {
  std::vector<std::string> names;
  for (const Subject& s : subjects) names.push_back(s.name);
  names = visualise::without_sweep(std::move(names));
  for (std::size_t i = 0; i < subjects.size(); ++i) subjects[i].name = names[i];
  std::map<std::string, int> count;
  for (const Subject& s : subjects) ++count[s.name];
  for (std::size_t i = 0; i < subjects.size(); ++i) {
    if (count[subjects[i].name] == 1) continue;
    const io::fs::path folder = io::fs::canonical(folders[i]);
    subjects[i].name = fmt::format("{} ({})", subjects[i].name, folder.filename().string());
  }
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

std::unique_ptr<experiment::Run> open_run(const std::string& folder, const Arguments& args) {
  auto run = experiment::open_run({folder, args.checkpoint, args.ema, args.threads});
  for (const std::string& note : run->notes()) std::cerr << "visualise-attention: " << note << "\n";
  return run;
}

std::vector<Subject> open_subjects(const Arguments& args) {
  std::vector<Subject> subjects;
  for (const std::string& folder : args.runs) {
    Subject s;
    s.run = open_run(folder, args);
    const experiment::Experiment& e = s.run->experiment();
    s.name = e.name;
    const std::string type = e.model.options.at("attention").at("type").as_string();
    s.signed_maps = attention::find_variant(type).info.map == attention::MapKind::kSigned;
    s.rollout = rollout_options(args, s.signed_maps);
    subjects.push_back(std::move(s));
  }
  tell_apart(subjects, args.runs);
  return subjects;
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

std::string slug(std::string text) {
  for (char& c : text) {
    if (!std::isalnum(static_cast<unsigned char>(c)) && c != '.' && c != '-') c = '_';
  }
  return text;
}

void write_maps(const io::fs::path& path, const std::vector<Subject>& subjects,
                const std::vector<std::string>& inputs) {
  TensorFile file;
  for (const Subject& s : subjects) {
    const Device& host = s.run->task().source().options().host;
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
  model.rollout = visualise::attention_rollout(seen.layers, s.rollout);
  model.policy = s.policy();
  model.prefix_tokens = seen.prefix_tokens;
  return model;
}

}  // namespace fovea::apps
