// Explanations and ensembles run whole passes of one network in several threads.
#include <catch2/catch.hpp>

#include <array>
#include <stdexcept>
#include <string>
#include <vector>

#include "autograd/mode.h"
#include "backend/in_parallel.h"
#include "schema/json/parse.h"
#include "tests/models/network.h"
#include "tests/support/tensors.h"

using namespace fovea;
using namespace fovea::test;

namespace {

// Whole numbers that every table of a network has a row for.
void fill(models::Inputs& inputs, const models::Entry& entry) {
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

// Small ones: of every kind that keeps something of its last pass, and of most interfaces.
constexpr std::array kNetworks = {
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

const models::Entry& entry_of(const std::string& type) {
  for (const models::Entry& entry : models::entries()) {
    if (entry.name == type) return entry;
  }
  throw std::out_of_range(type);
}

}  // namespace

TEST_CASE("networks: passes in several threads give the bits of one after another",
          "[models][host]") {
  for (const char* text : kNetworks) {
    INFO(text);
    const schema::Value options = schema::parse(text, "network");
    const models::Entry& entry = entry_of(options.at("type").as_string());
    const auto model = build(options, cpu(), shape_for(entry));
    model->train(false);
    models::Inputs inputs = zeros_for(entry, 1, cpu());
    fill(inputs, entry);
    const auto pass = [&] {
      const autograd::NoGrad no_grad;
      std::vector<std::vector<double>> values;
      for (const Tensor& t : (*model)(inputs).tensors()) values.push_back(to_doubles(t));
      return values;
    };
    std::vector<std::vector<std::vector<double>>> found(2);
    in_parallel(cpu(), 2, [&](std::int64_t i) { found[static_cast<std::size_t>(i)] = pass(); });
    const auto alone = pass();
    REQUIRE(!alone.empty());
    CHECK(found[0] == alone);
    CHECK(found[1] == alone);
  }
}
