#include "inspect/network.h"

#include <fmt/format.h>

#include <optional>

#include "backend/devices.h"
#include "experiment/costs/costs.h"
#include "experiment/costs/profile.h"
#include "experiment/costs/training_step.h"
#include "experiment/file/experiment.h"
#include "experiment/run/runner.h"
#include "experiment/run/summary.h"

namespace fovea::apps {

int summarise(const schema::Value& resolved, int depth, bool json) {
  const auto e = experiment::parse(resolved);
  const models::DataShape shape = experiment::data_shape(e);
  auto summary = experiment::summarise(
      [&](const Device& device) { return experiment::make_model(e, device, shape); },
      experiment::sample_shape(e, shape), e.train.batch_size);
  // With its loss and optimiser, and without what train.freeze spares.
  summary.train_peak_bytes = experiment::step_peak_bytes(e, shape);
  const std::string size = experiment::cost_size_text(e);  // of tables, where it is another one
  const std::optional<experiment::Summary> costs =
      size.empty() ? std::nullopt : std::optional(experiment::count_costs(e, shape));
  if (json) {
    schema::Value object = schema::Value::object({{"name", e.name}});
    const schema::Value details = experiment::to_json(summary);
    for (const auto& member : details.members()) object.set(member.key, member.value);
    if (costs) {
      schema::Value of_tables = schema::Value::object({{"img_size", size}, {"macs", costs->macs}});
      if (costs->macs_paper) of_tables.set("macs_paper", *costs->macs_paper);
      object.set("costs_in_tables", of_tables);
    }
    fmt::print("{}\n", object.dump());
  } else {
    fmt::print("{}", experiment::to_text(summary, depth));
    if (costs)
      fmt::print("tables count at {} (cost_img_size): {} MACs{}\n", size,
                 experiment::count_text(costs->macs),
                 costs->macs_paper
                     ? ", " + experiment::count_text(*costs->macs_paper) + " as the paper counts"
                     : "");
  }
  return 0;
}

int profile_step(const schema::Value& resolved, bool json) {
  const auto e = experiment::parse(resolved);
  const Device device =
      make_device(e.train.device, e.train.device_settings(static_cast<int>(e.train.threads)));
  const auto profile = experiment::profile_step(e, device);
  fmt::print("{}",
             json ? experiment::to_json(profile).dump() + "\n" : experiment::to_text(profile));
  return 0;
}

}  // namespace fovea::apps
