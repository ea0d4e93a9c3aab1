#include "models/network.h"

#include "base/error.h"
#include "models/detectors/detector.h"
#include "models/diffusion/denoiser.h"
#include "tests/models/network.h"

using namespace fovea;
using namespace fovea::test;

TEST_CASE("networks: every one reads and gives what its entry says", "[models]") {
  for (const models::Entry& entry : models::entries()) {
    INFO(entry.name);
    const Device meta = make_meta();
    const bool volumes = entry.axes == 3;
    const auto model = build(schema::Value::object({{"type", entry.name}}), meta, shape_for(entry));
    CHECK(model->interface() == entry.interface);
    const models::InterfaceInfo& info = models::info_of(entry.interface);
    const models::Inputs inputs = zeros_for(entry, 2, meta);
    const autograd::NoGrad no_grad;
    const models::Outputs out = (*model)(inputs);
    if (info.gives == "texts") {
      CHECK(out.logits.shape() == Shape{2, 4, 5});
      continue;
    }
    CHECK(out.logits.defined() == (info.gives == "logits"));
    if (info.gives == "boxes") {
      CHECK(dynamic_cast<const models::Detector*>(model.get()) != nullptr);
      // Scores and deltas of every level.
      CHECK(out.maps.size() >= 2);
      CHECK(out.maps.size() % 2 == 0);
      CHECK(out.tensors().size() == out.maps.size() + out.features.size());
      continue;
    }
    if (info.gives == "noise") {
      CHECK(dynamic_cast<const models::Denoiser*>(model.get()) != nullptr);
      REQUIRE(out.maps.size() == 1);
      CHECK(out.maps.front().shape() == Shape{2, 6, 64, 64});
      continue;
    }
    CHECK(out.maps.empty() == (info.gives != "maps"));
    const bool of_tokens = entry.interface == models::Interface::kLanguageModel;
    if (out.logits.defined())
      CHECK(out.logits.shape() == (of_tokens ? Shape{2, 7, 20} : Shape{2, 5}));
    const bool images = entry.interface == models::Interface::kImageClassifier;
    REQUIRE(out.embedding.defined() == images);
    if (images) {
      CHECK(out.embedding.rank() == 2);
      CHECK(out.embedding.size(0) == 2);
    }
    const Shape map = volumes ? Shape{2, 5, 32, 64, 64} : Shape{2, 5, 64, 64};
    if (!out.maps.empty()) CHECK(out.maps.front().shape() == map);
    CHECK(out.tensors().size() == std::max<std::size_t>(1, out.maps.size()));
  }
}

TEST_CASE("networks: an input that is not there is named", "[models]") {
  const auto vit = build(schema::Value::object({{"type", "vit"}}), make_meta(), {3, 8, 8, 5});
  const Tensor tokens = Tensor::empty({2, 7}, DType::kInt64, make_meta());
  CHECK_THROWS_WITH((*vit)({.tokens = tokens}),
                    "ViT: no image given; an image classifier reads it");
}

TEST_CASE("networks: the only input of an interface", "[models]") {
  const Tensor x = random_tensor({2, 3}, 1);
  CHECK(models::only_input(models::Interface::kTextClassifier, x).tokens.defined());
  CHECK_FALSE(models::only_input(models::Interface::kDenseNetwork, x).tokens.defined());
  CHECK(models::only_input(models::Interface::kDenseNetwork, x).image.defined());
}
