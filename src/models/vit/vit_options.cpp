#include "models/vit/vit_options.h"

#include "base/error.h"
#include "nn/sizes.h"

namespace fovea::models {

schema::Fields<ViTOptions> vit_fields(const ViTOptions& defaults) {
  using O = ViTOptions;
  return schema::Fields<O>(defaults)
      .add("img_size", &O::img_size, nn::side_length(), "height and width; null = the data set's")
      .add("patch_size", &O::patch_size, nn::side_length(),
           "side of a patch in pixels; must divide img_size")
      .add("in_chans", &O::in_chans, nn::channel_count(),
           "channels of the images; null = the data set's")
      .add("num_classes", &O::num_classes, nn::class_count(0),
           "outputs of the head; null = the data set's; 0: no head, and what it would see is put "
           "out, to look at an encoder")
      .add("class_token", &O::class_token, "prepend a learned class token")
      .add("distilled", &O::distilled,
           "a distillation token behind the class token, with a head of its own; the logits are "
           "the mean of both (distilled DeiT)")
      .add("reg_tokens", &O::reg_tokens, nn::channel_count(0),
           "learned register tokens before the patches, which no head reads")
      .add_enum("global_pool", &O::global_pool,
                {{"token", Pool::kToken}, {"avg", Pool::kAvg}, {"map", Pool::kMap}},
                "what the head sees: the class token, the mean over patches, or what a learned "
                "query reads from the patches in one more attention with an MLP (SigLIP)")
      .add_enum("pos_embed", &O::pos_embed,
                {{"learned", Positions::kLearned},
                 {"sinusoidal", Positions::kSinusoidal},
                 {"none", Positions::kNone}},
                "positions added to the tokens")
      .add("no_embed_class", &O::no_embed_class,
           "only patches have positions, tokens before them have none (DeiT III, DINOv2 with "
           "registers)")
      .add("pos_rows", &O::pos_rows, nn::side_length(),
           "rows of the learned table; the first n are used; null = as many as tokens")
      .add("embed_norm", &O::embed_norm, "a norm of the embedded patches (AIMv2)")
      .add("pre_norm", &O::pre_norm,
           "a norm before the first block, and no bias in the embedding of patches (CLIP)")
      .add("final_norm", &O::final_norm, "a norm behind the last block")
      .add("fc_norm", &O::fc_norm,
           "that norm comes behind the pooling instead of before; in timm the default with "
           "global_pool=avg")
      .add("head_hidden", &O::head_hidden, nn::channel_count(),
           "width of a hidden layer with GELU in the head; null = a linear head")
      .include(encoder_fields(defaults));
}

void check_options(const ViTOptions& o) {
  FOVEA_CHECK(o.class_token || o.global_pool != Pool::kToken, ConfigError,
              "model.global_pool: \"token\" needs class_token=true; set model.global_pool=avg");
  FOVEA_CHECK(!o.distilled || (o.class_token && o.global_pool == Pool::kToken && !o.fc_norm),
              ConfigError,
              "model.distilled: needs class_token=true, global_pool=token and fc_norm=false");
  FOVEA_CHECK(o.final_norm || !o.fc_norm, ConfigError,
              "model.fc_norm: is the final norm at another place, and final_norm is false");
}

}  // namespace fovea::models
