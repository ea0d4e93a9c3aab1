// Texts with classes.
#include <fmt/format.h>

#include <algorithm>

#include "data/texts/text_dataset.h"
#include "experiment/planning/starting_draft.h"

namespace fovea::experiment {

using schema::Value;

void draft_texts(Draft& draft) {
  constexpr std::int64_t kLongest = 256;
  constexpr std::int64_t kMany = 20000;
  const data::Splits splits =
      opened(draft, Value::object(), Value::object({{"type", "transformer"}}));
  const data::Dataset& train = train_of(splits);
  std::vector<std::int64_t> lengths;
  for (std::int64_t i = 0; i < train.size(); ++i) lengths.push_back(train.length(i));
  std::ranges::sort(lengths);
  const std::int64_t usual = lengths[lengths.size() * 95 / 100];
  const std::int64_t longest = std::clamp((usual + 15) / 16 * 16, std::int64_t{16}, kLongest);
  draft.found.dataset.set("max_len", longest);
  draft.about_data = {
      fmt::format("95 % of the texts have {} words or less; longer ones are cut at "
                  "max_len.",
                  usual)};
  const bool many = train.size() >= kMany && !draft.processor;
  draft.model = Value::object({{"type", "transformer"},
                               {"embed_dim", many ? 256 : 64},
                               {"depth", many ? 6 : 2},
                               {"drop_rate", 0.1},
                               {"attention", Value::object({{"num_heads", many ? 8 : 4}})}});
  draft.about_model = {
      "A small Transformer. \"dgt\" and \"diff_transformer\" take the same keys: other "
      "attention."};
  const std::int64_t batch = batch_for(train.size(), 32);
  draft.optimiser = adamw(1e-3, 0.01);
  draft.schedule = Value::object({{"type", "linear"}, {"unit", "step"}, {"warmup_steps", 50}});
  draft.train = Value::object({{"epochs", epochs_for(train.size(), batch, 3000, 3, 30)},
                               {"batch_size", batch},
                               {"clip_grad", 1.0},
                               {"select", "best"}});
  draft.summary = fmt::format("{} texts of {} classes to train on, a Transformer of {} blocks",
                              train.size(), train.num_classes(), draft.model.at("depth").as_int());
}

}  // namespace fovea::experiment
