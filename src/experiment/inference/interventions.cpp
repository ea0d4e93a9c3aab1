#include "experiment/inference/interventions.h"

#include <fmt/format.h>

#include "base/error.h"
#include "data/images/image_dataset.h"
#include "schema/compare.h"

namespace fovea::experiment {
namespace {

using explain::GridSize;
using explain::PatchDrop;
using schema::Value;

GridSize patch_grid(const models::Model& model) {
  const attention::Context geometry = model.geometry();
  return {geometry.grid_h, geometry.grid_w};
}

// Images of the batch without the patches that their samples draw.
data::Batch dropped_batch(const data::Batch& batch, const PatchDrop& drop, GridSize patches,
                          const explain::Colours& colours) {
  std::vector<RandomStream> draws;
  for (const std::int64_t i : batch.indices) draws.push_back(drawing_patches(drop, i));
  data::Batch changed = batch;
  changed.set("image", without_patches(batch.at("image"), drop, patches, colours, draws));
  return changed;
}

void drop_inputs(training::Task& task, const PatchDrop& drop, data::Split split) {
  const models::Interface network = task.model().interface();
  const bool images =
      network == models::Interface::kImageClassifier || network == models::Interface::kDenseNetwork;
  const data::Batch first = images ? task.source().one(split, 0) : data::Batch();
  FOVEA_CHECK(images && first.at("image").shape().rank() == 4, ConfigError,
              fmt::format("--drop-patches: the network is {}; expected one of images, not volumes, "
                          "with classes or masks",
                          models::info_of(network).name));
  const data::ImageDataset& dataset = data::images_of(task.source().at(split));
  const explain::Colours colours{{dataset.mean().begin(), dataset.mean().end()},
                                 {dataset.std().begin(), dataset.std().end()}};
  const GridSize patches = patch_grid(task.model());
  dropped_batch(first, drop, patches, colours);  // a number that is not there is refused now
  task.change_inputs(
      [=](const data::Batch& batch) { return dropped_batch(batch, drop, patches, colours); });
}

}  // namespace

std::vector<std::string> Interventions::lines() const {
  std::vector<std::string> all;
  for (const explain::HeadSetting& setting : heads) all.push_back("set_heads=" + setting.text);
  if (drop) all.push_back("drop_patches=" + drop->described());
  return all;
}

Value Interventions::record() const {
  Value record = Value::object();
  if (!heads.empty()) {
    Value list = Value::array();
    for (const explain::HeadSetting& setting : heads) list.push_back(setting.text);
    record.set("set_heads", std::move(list));
  }
  if (drop) record.set("drop_patches", drop->described());
  return record;
}

std::string Interventions::suffix() const {
  return empty() ? "" : "-changed-" + schema::content_hash(record()).substr(0, 8);
}

Intervened::Intervened(const std::vector<Opened>& opened, const Interventions& asked,
                       data::Split split) {
  for (const Opened& one : opened) {
    training::Task& task = one.run->task();
    if (!asked.heads.empty()) {
      const auto sites = explain::head_sites(
          task.model(), [&](attention::Probe& probe) { task.look(split, probe); });
      heads_.push_back(std::make_unique<explain::SetHeads>(sites, asked.heads));
    }
    if (!asked.drop) continue;
    drop_inputs(task, *asked.drop, split);
    tasks_.push_back(&task);
  }
}

Intervened::~Intervened() {
  for (training::Task* task : tasks_) task->change_inputs({});
}

}  // namespace fovea::experiment
