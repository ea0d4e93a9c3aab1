// Pictures with classes.
#include <fmt/format.h>

#include <algorithm>

#include "experiment/planning/starting_draft.h"

namespace fovea::experiment {

using schema::Value;

// Of pictures some are looked at: their sizes, and whether they have colours.
void draft_images(Draft& draft) {
  constexpr std::int64_t kLookedAt = 200;
  constexpr std::int64_t kSmall = 48;
  const data::Splits splits =
      opened(draft, Value::object({{"img_size", 32}}), Value::object({{"type", "resnet20"}}));
  const data::Dataset& train = train_of(splits);
  std::vector<std::int64_t> sides;
  bool grey = true;
  const std::int64_t looked_at = std::min(train.size(), kLookedAt);
  for (std::int64_t k = 0; k < looked_at; ++k) {
    const data::Sample sample = train.get(k * train.size() / looked_at);
    const auto& size = sample.geometry.original_size;
    sides.push_back(*std::ranges::min_element(size));
    const auto pixels = sample.at("image").values<float>();
    const std::size_t plane = pixels.size() / 3;
    for (std::size_t p = 0; grey && p < plane; ++p)
      grey = pixels[p] == pixels[plane + p] && pixels[p] == pixels[2 * plane + p];
  }
  std::ranges::sort(sides);
  const std::int64_t side = sides[sides.size() / 2];
  const bool small = side <= kSmall;
  const std::int64_t most = draft.processor ? kSideOfProcessors : 224;
  const std::int64_t size = small ? 32 : std::clamp(side / 32 * 32, std::int64_t{64}, most);
  draft.found.dataset.set("img_size", size);
  if (grey) draft.found.dataset.set("in_chans", 1);
  draft.found.dataset.set("augment",
                          small ? Value::array({"crop_flip"})
                                : Value::array({"random_resized_crop", "horizontal_flip"}));
  draft.about_data = {
      fmt::format("Pictures are brought to {} x {} (the shorter side of half of them "
                  "is {} or less); augment is for train alone.",
                  size, size, side)};
  draft.model = Value::object({{"type", small ? "resnet20" : "resnet18"}});
  draft.about_model = {
      small ? "A ResNet for small pictures. Attention across its depth: \"layer_attention\": "
              "\"kcla\"; a Transformer: {\"type\": \"vit\", \"patch_size\": 4, \"embed_dim\": "
              "128, \"depth\": 6}."
            : "A ResNet. Attention across its depth: \"layer_attention\": \"kcla\"; a "
              "Transformer (slower to learn from few pictures): \"deit_tiny\"."};
  const std::int64_t batch = batch_for(train.size(), small ? 128 : 32);
  draft.optimiser = adamw(1e-3, 0.05);
  draft.schedule = Value::object({{"type", "cosine"}, {"warmup_steps", 50}});
  draft.train = Value::object({{"epochs", epochs_for(train.size(), batch, 6000, 5, 60)},
                               {"batch_size", batch},
                               {"select", "best"}});
  draft.summary = fmt::format("{} pictures of {} classes to train on, {} at {} x {}", train.size(),
                              train.num_classes(), draft.model.at("type").as_string(), size, size);
}

}  // namespace fovea::experiment
