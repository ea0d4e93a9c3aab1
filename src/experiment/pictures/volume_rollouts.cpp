#include "experiment/pictures/volume_rollouts.h"

#include <fmt/format.h>

#include <vector>

#include "training/inference/inferer.h"
#include "visualise/maps/rollouts/volume_rollout.h"
#include "visualise/maps/volume_window.h"

namespace fovea::experiment {
namespace {

using visualise::Sides3;

struct Rollouts {
  visualise::StageRollouts seen;
  Tensor maps;  // undefined without attention
};

Rollouts of_voxel(models::Model& model, const Tensor& image, const Sides3& voxel,
                  const Sides3& size, const Sides3& sides) {
  Rollouts made;
  const visualise::VolumeWindow window(voxel, size, sides);
  made.seen = visualise::stage_rollouts(model, window.cut(image), window.inside(voxel));
  if (!made.seen.stages.empty()) made.maps = window.put_back(made.seen.maps);
  return made;
}

// Windows lie over each other by half and count less towards their borders.
Rollouts of_all_tokens(models::Model& model, const Tensor& image, const Sides3& window) {
  Rollouts made;
  const auto windows = training::make_sliding_window({.roi_size = {window.begin(), window.end()},
                                                      .overlap = 0.5,
                                                      .mode = training::WindowMode::kGaussian});
  const std::vector<Tensor> maps = (*windows)(image, [&](const Tensor& part) {
    made.seen = visualise::stage_rollouts(model, part);
    return made.seen.stages.empty() ? std::vector<Tensor>() : std::vector<Tensor>{made.seen.maps};
  });
  if (!maps.empty()) made.maps = maps.front();
  return made;
}

}  // namespace

void add_rollouts(Run& run, const Tensor& image, const std::optional<Sides3>& voxel,
                  visualise::CaseVolume& to) {
  const std::vector<std::int64_t> sides = training::make_inferer(run.experiment().eval.inferer)
                                              ->window_of({to.size.begin(), to.size.end()});
  const Sides3 window{sides.at(0), sides.at(1), sides.at(2)};
  const Rollouts made = voxel ? of_voxel(run.model(), image, *voxel, to.size, window)
                              : of_all_tokens(run.model(), image, window);
  // Without a voxel it is places that are seen more or less than others that tell something.
  const float less = voxel ? 0.0f : 1.0f;
  for (std::size_t s = 0; s < made.seen.stages.size(); ++s) {
    const auto& [d, h, w] = made.seen.grids[s];
    const auto place = static_cast<std::int64_t>(s);
    const Tensor map = made.maps.alias(made.maps.shape().part(1, 5)).rows(place, place + 1);
    const auto values = map.host_values<float>();
    visualise::CaseMap& added = to.maps.emplace_back();
    added.name = made.seen.stages[s];
    added.note = fmt::format("{} x {} x {} tokens", d, h, w);
    added.values.assign(values.begin(), values.end());
    for (float& value : added.values) value -= less;
  }
  to.quantity = voxel ? visualise::Quantity{false, "rollout, in even shares"}
                      : visualise::Quantity{true, "rollout less an even share"};
}

}  // namespace fovea::experiment
