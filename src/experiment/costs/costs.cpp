#include "experiment/costs/costs.h"

#include <fmt/format.h>

#include "base/error.h"

namespace fovea::experiment {
void bring_to_cost_size(Experiment& e, models::DataShape& shape) {
  if (e.cost_img_size.empty()) return;
  const std::vector<std::int64_t>& size = e.cost_img_size;
  const models::Entry& network = models::entries().find(e.model.type);
  FOVEA_CHECK(models::info_of(network.interface).reads.front().name == "image", ConfigError,
              "cost_img_size: the network reads no images");
  const std::size_t axes = network.axes == 3 ? 3 : 2;
  FOVEA_CHECK(size.size() == axes, ConfigError,
              fmt::format("cost_img_size: {} number{}, expected {}: {}", size.size(),
                          size.size() == 1 ? "" : "s", axes,
                          axes == 3 ? "depth, height and width" : "height and width"));
  shape.width = size[axes - 1];
  shape.height = size[axes - 2];
  if (axes == 3) shape.depth = size[0];
  const schema::Value* given = e.model.options.find("img_size");
  if (given != nullptr && !given->is_null())
    e.model.options.set("img_size", schema::Value::array(size));
}

Summary count_costs(const Experiment& experiment, const models::DataShape& shape) {
  Experiment counted = experiment;
  models::DataShape of = shape;
  bring_to_cost_size(counted, of);
  return summarise([&](const Device& device) { return make_model(counted, device, of); },
                   sample_shape(counted, of), counted.train.batch_size);
}

std::string cost_size_text(const Experiment& experiment) {
  return fmt::format("{}", fmt::join(experiment.cost_img_size, " x "));
}

}  // namespace fovea::experiment
