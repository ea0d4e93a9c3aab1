#include "visualise/maps/probed.h"

#include <vector>

#include "autograd/mode.h"
#include "ops/elementwise.h"
#include "tensor/host.h"

namespace fovea::visualise {

models::Outputs run_probed(models::Model& model, const Tensor& input, attention::Probe& probe) {
  const autograd::NoGrad no_grad;
  model.train(false);
  const Tensor there = ops::to(input, model.parameters().front().tensor.device());
  if (model.interface() != models::Interface::kDetector)
    return model(models::only_input(model.interface(), there), &probe);
  std::vector<std::int64_t> sizes;
  for (std::int64_t i = 0; i < input.size(0); ++i)
    sizes.insert(sizes.end(), {input.size(2), input.size(3)});
  return model(
      {.image = there, .image_size = Tensor::from(sizes, {input.size(0), 2}, input.device())},
      &probe);
}

std::vector<AttentionMap> recorded_maps(const attention::Probe& probe) {
  std::vector<AttentionMap> layers;
  for (const Tensor& map : probe.all("attn"))
    layers.push_back({map.size(1), map.size(2), host_doubles(map)});
  return layers;
}

}  // namespace fovea::visualise
