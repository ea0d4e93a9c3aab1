#include "explain/interventions/dropped_inputs.h"

#include <algorithm>

#include "explain/targets.h"
#include "visualise/maps/attention_maps.h"

namespace fovea::explain {

Tensor prepared(const visualise::ImageInput& input, const visualise::ShownRun& run,
                const visualise::FigureRequest& request, const std::optional<PatchDrop>& drop) {
  const Tensor image = visualise::prepared(input, run, request);
  if (!drop) return image;
  const RandomStream draws = input.index
                                 ? drawing_patches(*drop, place_of(input, run, request))
                                 : RandomStream(drop->seed).fork("drop patches").fork(input.name);
  const attention::Context geometry = run.model.geometry();
  return without_patches(image, *drop, {geometry.grid_h, geometry.grid_w}, colours_of(run),
                         {draws});
}

visualise::Canvas picture_of(const Tensor& image, const visualise::ShownRun& run) {
  const Image seen = image_at(image, 0);
  const Colours colours = colours_of(run);
  std::vector<float> values = seen.values;
  for (std::size_t p = 0; p < values.size(); ++p) {
    const std::size_t channel = p / static_cast<std::size_t>(seen.pixels());
    const double value = values[p] * colours.std[channel] + colours.mean[channel];
    values[p] = static_cast<float>(std::clamp(value, 0.0, 1.0));
  }
  return visualise::picture_of(values, seen.channels, seen.height, seen.width);
}

}  // namespace fovea::explain
