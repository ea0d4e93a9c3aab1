#include "visualise/figures/shared/rollouts.h"

#include <fmt/format.h>

#include <utility>

#include "base/distinct_names.h"
#include "base/error.h"

namespace fovea::visualise {

std::string RolledOut::predicted(std::size_t input) const {
  if (seen[input].logits.empty()) return {};
  const auto prediction = static_cast<std::size_t>(seen[input].prediction());
  const std::vector<std::string>& names = run.samples.class_names();
  // Other outputs than the classes of the data, as of CLIP's projection.
  if (seen[input].logits.size() != names.size()) return fmt::format("output {}", prediction);
  return names[prediction];
}

Quantity RolledOut::quantity() const { return rollout_quantity(rollout, signed_maps); }

double RolledOut::even_share_of(std::size_t input) const {
  return even_share(rollout, signed_maps, seen[input].layers.front().n);
}

std::string RolledOut::policy() const {
  return fmt::format("{}, {}", name_of(rollout.sign), name_of(rollout.normalise));
}

std::vector<RolledOut> rolled_out(const FigureRequest& request, const RolloutSettings& settings) {
  std::vector<RolledOut> all;
  for (const ShownRun& run : request.runs) {
    FOVEA_CHECK(run.signed_maps, ConfigError,
                fmt::format("{}: has no attention over tokens to show", run.title));
    all.push_back({run, *run.signed_maps, settings.options(*run.signed_maps)});
  }
  return all;
}

void add_rollout(TensorFile& file, const std::string& key, const std::vector<AttentionMap>& layers,
                 const Matrix& rollout, const Device& host) {
  for (std::size_t layer = 0; layer < layers.size(); ++layer) {
    const AttentionMap& map = layers[layer];
    file.tensors.emplace(fmt::format("{}/attn/{}", key, layer),
                         Tensor::from(map.values, {map.heads, map.n, map.n}, host));
  }
  if (rollout.values.empty()) return;
  file.tensors.emplace(key + "/rollout",
                       Tensor::from(rollout.values, {rollout.rows, rollout.cols}, host));
}

void write_rollout_maps(const std::filesystem::path& path, const std::vector<RolledOut>& all,
                        const std::vector<std::string>& inputs) {
  TensorFile file;
  for (const RolledOut& one : all) {
    file.metadata.emplace(slug(one.run.title), one.run.weights);
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const Observation& seen = one.seen[i];
      add_rollout(file, slug(one.run.title) + "/" + slug(inputs[i]), seen.layers,
                  attention_rollout(seen.layers, one.rollout), one.run.host);
    }
  }
  write_safetensors(path, file);
}

ExplorerModel explorer_model(const RolledOut& one, std::size_t input) {
  const Observation& seen = one.seen[input];
  ExplorerModel model;
  model.name = one.run.title;
  if (const std::string predicted = one.predicted(input); !predicted.empty())
    model.note = "predicts " + predicted;
  model.layers = seen.layers;
  model.attention = attention_quantity(one.signed_maps);
  model.rollout = attention_rollout(seen.layers, one.rollout);
  model.rolled_out = one.quantity();
  model.attention_even = even_share(model.attention, seen.layers.front().n);
  model.rollout_even = one.even_share_of(input);
  model.policy = one.policy();
  model.prefix_tokens = seen.prefix_tokens;
  model.class_token = seen.class_token;
  return model;
}

void say_rollouts(const FigureRequest& request, const std::vector<RolledOut>& all,
                  const std::vector<std::string>& inputs, const std::vector<std::string>& files) {
  for (const RolledOut& one : all)
    request.say(fmt::format("{:<20} {}", one.run.title, one.run.weights));
  for (const RolledOut& one : all) {
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const std::string predicted = one.predicted(i);
      if (predicted.empty()) continue;
      request.say(fmt::format("{:<20} {:<20} predicted {}", one.run.title, inputs[i], predicted));
    }
  }
  request.say_files(files);
}

}  // namespace fovea::visualise
