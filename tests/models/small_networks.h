// Small networks of every kind that keeps something of its last pass, and of most interfaces.
#pragma once

#include <array>
#include <stdexcept>
#include <string>

#include "models/model.h"
#include "tests/support/tensors.h"

namespace fovea::test {

inline constexpr std::array kSmallNetworks = {
    R"({"type": "vit", "patch_size": 8, "embed_dim": 32, "depth": 2,
        "attention": {"type": "softmax", "num_heads": 2, "rope_base": 10000}})",
    R"({"type": "vit", "patch_size": 8, "embed_dim": 32, "depth": 2,
        "attention": {"type": "mala", "num_heads": 2, "rope": "2d"}})",
    R"({"type": "dgvit", "patch_size": 8, "embed_dim": 32, "depth": 2,
        "attention": {"num_heads": 2}})",
    R"({"type": "dgt", "embed_dim": 32, "depth": 1, "attention": {"num_heads": 2}})",
    R"({"type": "resnet20"})",
    R"({"type": "rla_resnet50", "planes": [8, 8, 16, 16], "depths": [2, 1, 1, 1]})",
    R"({"type": "pvt_gdla", "num_heads": [1, 2, 2], "backbone": {"type": "pvt_v2_b0",
        "embed_dims": [16, 32, 32, 48], "depths": [1, 2, 2, 1], "num_heads": [1, 2, 2, 3]}})",
    R"({"type": "swin_t", "embed_dim": 16, "depths": [2, 2], "num_heads": [2, 4],
        "window_size": 3})",
    R"({"type": "mavit_t", "embed_dims": [16, 32], "depths": [2, 1], "num_heads": [2, 4],
        "mlp_ratios": [2, 2], "layer_scale_init": [1, 1], "flags": "lv", "projection": 64})",
    R"({"type": "dformer", "embed_dim": 8, "num_heads": [1, 1, 2, 2], "depths": [2, 2, 2, 2]})",
    R"({"type": "retinanet", "start_level": 0, "fpn_channels": 32, "feat_channels": 32,
        "stacked_convs": 1, "backbone": {"type": "resnet18", "planes": [16, 24, 32, 48],
        "depths": [1, 1, 1, 1], "stem_width": 16}})",
    R"({"type": "language_model", "embed_dim": 32, "depth": 2, "hidden_dim": 64,
        "attention": {"type": "mala", "num_heads": 2}})",
    R"({"type": "dit_s", "patch_size": 8, "embed_dim": 64, "depth": 2,
        "attention": {"num_heads": 4}})",
    R"({"type": "conformer_s", "embed_dim": 32, "depth": 1, "kernel_size": 5,
        "attention": {"type": "mala", "num_heads": 2}})",
};

inline const models::Entry& entry_of(const std::string& type) {
  for (const models::Entry& entry : models::entries()) {
    if (entry.name == type) return entry;
  }
  throw std::out_of_range(type);
}

// Whole numbers that every table of a network has a row for.
inline void fill(models::Inputs& inputs, const models::Entry& entry) {
  for (const models::InputField& field : models::info_of(entry.interface).reads) {
    const Tensor& input = inputs.*field.tensor;
    if (field.dtype == DType::kFloat32) {
      inputs.*field.tensor = random_tensor(input.shape(), 5, DType::kFloat32);
    } else if (field.dtype == DType::kInt64) {
      const std::int64_t value = field.name == "num_frames" ? 19 : 1;
      edit<std::int64_t>(input, [&](auto values) {
        for (std::int64_t& v : values) v = value;
      });
    }
  }
}

}  // namespace fovea::test
