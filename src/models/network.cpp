#include "models/network.h"

#include <fmt/format.h>

#include <array>

#include "base/error.h"

namespace fovea::models {

std::vector<Tensor> Outputs::tensors() const {
  std::vector<Tensor> all;
  if (logits.defined()) all.push_back(logits);
  all.insert(all.end(), maps.begin(), maps.end());
  all.insert(all.end(), features.begin(), features.end());
  return all;
}

const InterfaceInfo& info_of(Interface interface) {
  static const InputField image{"image", &Inputs::image, DType::kFloat32};
  static const InputField tokens{"tokens", &Inputs::tokens, DType::kInt64};
  static const InputField size{"image_size", &Inputs::image_size, DType::kInt64, Shape{2}};
  static const InputField timestep{"timestep", &Inputs::timestep, DType::kInt64, Shape{}, false};
  static const InputField label{"label", &Inputs::label, DType::kInt64, Shape{}};
  static const InputField features{"features", &Inputs::features, DType::kFloat32};
  static const InputField frames{"num_frames", &Inputs::num_frames, DType::kInt64, Shape{}};
  static const std::array<InterfaceInfo, 7> all = {{
      {"an image classifier", "logits", {image}},
      {"a text classifier", "logits", {tokens}},
      {"a dense network", "maps", {image}},
      {"a detector", "boxes", {image, size}},
      {"a language model", "logits", {tokens}},
      {"a denoiser", "noise", {image, timestep, label}},
      {"a transcriber", "texts", {features, frames}},
  }};
  return all.at(static_cast<std::size_t>(interface));
}

Inputs only_input(Interface interface, const Tensor& tensor) {
  const InterfaceInfo& info = info_of(interface);
  FOVEA_CHECK(
      info.reads.size() == 1, ShapeError,
      fmt::format("network: {} reads {} tensors; expected one", info.name, info.reads.size()));
  Inputs inputs;
  inputs.*info.reads.front().tensor = tensor;
  return inputs;
}

}  // namespace fovea::models
