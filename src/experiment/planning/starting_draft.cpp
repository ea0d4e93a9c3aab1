#include "experiment/planning/starting_draft.h"

#include <algorithm>
#include <bit>

#include "base/error.h"
#include "data/registry.h"
#include "experiment/costs/machine_memory.h"
#include "experiment/file/experiment.h"
#include "experiment/file/usual_settings.h"

namespace fovea::experiment {

using schema::Value;

std::int64_t batch_for(std::int64_t samples, std::int64_t most) {
  const auto tenth = static_cast<std::uint64_t>(std::max<std::int64_t>(2, samples / 10));
  return std::min(most, static_cast<std::int64_t>(std::bit_floor(tenth)));
}

std::int64_t epochs_for(std::int64_t samples, std::int64_t batch, std::int64_t steps,
                        std::int64_t least, std::int64_t most) {
  const std::int64_t of_epoch = (samples + batch - 1) / batch;
  return std::clamp((steps + of_epoch / 2) / of_epoch, least, most);
}

Value adamw(double lr, double weight_decay) {
  return Value::object({{"type", "adamw"}, {"lr", lr}, {"weight_decay", weight_decay}});
}

std::string task_of(const Value& dataset) {
  return with_usual_settings(Value::object({{"dataset", dataset}})).at("task").as_string();
}

data::Splits opened(Draft& draft, const Value& more, const Value& model) {
  Value dataset = draft.found.dataset;
  for (const auto& member : more.members()) dataset.set(member.key, member.value);
  draft.trial = resolve(Value::object(
      {{"task", task_of(draft.found.dataset)}, {"dataset", dataset}, {"model", model}}));
  return data::make_splits(parse(draft.trial).dataset, {.survey = true});
}

const data::Dataset& train_of(const data::Splits& splits) {
  FOVEA_CHECK(splits.train && splits.train->size() > 0, ConfigError,
              "no sample of train can be read");
  return *splits.train;
}

std::int64_t memory_of(const Draft& draft) { return draft.processor ? machine_memory() : 0; }

}  // namespace fovea::experiment
