#include "nn/known_networks.h"

#include <algorithm>

#include "base/name_pattern.h"

namespace fovea::nn {
namespace {

struct Sign {
  std::vector<const char*> patterns;  // of names; one is enough
  const char* what;
  const char* has;
};

constexpr const char* kNotHere = "Fovea has no such network";

// More than a plain ViT or DeiT has. Names are timm's where nothing else is said.
const std::vector<Sign>& network_parts() {
  static const std::vector<Sign> all = {
      {{"reg_token"},
       "a ViT with register tokens (timm: *_reg*, DINOv2 with registers)",
       "Fovea has it with reg_tokens, and no_embed_class true where only patches have positions"},
      {{"dist_token", "head_dist.*"},
       "a distilled DeiT, with a second token and head (timm: deit_*_distilled_*)",
       "Fovea has it with distilled true"},
      {{"fc_norm.*"},
       "a ViT that is normed behind the mean over its patches (timm: fc_norm, global_pool=avg; "
       "MAE)",
       "Fovea has it with fc_norm true and global_pool avg"},
      {{"blocks.*.ls1.gamma", "blocks.*.ls2.gamma"},
       "a ViT with layer scale (timm: init_values; DeiT III, DINOv2)",
       "Fovea has it with init_values"},
      {{"blocks.*.gamma_1", "blocks.*.gamma_2"},
       "a CaiT or a BEiT, with layer scale under names of their own",
       kNotHere},
      {{"blocks_token_only.*"}, "a CaiT, with blocks for the class token alone", kNotHere},
      {{"blocks.*.attn.q_bias", "blocks.*.attn.relative_position_bias_table", "rel_pos_bias.*"},
       "a BEiT, with relative positions in its attention",
       kNotHere},
      {{"blocks.*.in_proj.*"},
       "a ViT whose attention and MLP stand beside each other (timm: ParallelScalingBlock)",
       kNotHere},
      {{"blocks.*.attns.*"},
       "a ViT with several attentions beside each other (timm: ParallelThingsBlock, *_18x2_*)",
       kNotHere},
      {{"blocks.*.attn.lambda_q1", "blocks.*.attn.lambda_a"},
       "a ViT with timm's differential attention (attn_layer=diff)",
       "Fovea's differential attention is the one of its paper (diff_vit)"},
      {{"blocks.*.attn.norm.*", "blocks.*.mlp.norm.*"},
       "a ViT with norms inside attention or MLP (timm: scale_attn_norm, scale_mlp_norm; EVA-02)",
       kNotHere},
      {{"blocks.*.attn.gate.*"}, "a ViT with gated attention (timm: gated)", kNotHere},
      {{"blocks.*.attn.q_norm.*", "blocks.*.attn.k_norm.*"},
       "a ViT with norms of queries and keys (timm: qk_norm)",
       "Fovea has it with attention.qk_norm true"},
      {{"blocks.*.mlp.fc1_g.*", "blocks.*.mlp.fc1_x.*"},
       "a ViT with a gated MLP in two layers (timm: SwiGLU; AIMv2)",
       "Fovea has it with ffn swiglu and packed false"},
      {{"blocks.*.mlp.w12.*", "blocks.*.mlp.w1.*"},
       "a ViT with a gated MLP under names of its own (DINOv2 giant, EVA-02)",
       "Fovea reads timm's names (ffn swiglu)"},
      {{"norm_pre.*"},
       "the image encoder of a CLIP, with a norm before its blocks (timm: pre_norm)",
       "Fovea has it with pre_norm true"},
      {{"attn_pool.latent"},
       "a ViT with attention pooling (timm: global_pool=map; SigLIP)",
       "Fovea has it with global_pool map and class_token false"},
      {{"patch_embed.norm.*"},
       "a ViT with a norm in its patch embedding (timm: embed_norm_layer; AIMv2)",
       "Fovea has it with embed_norm true"},
      {{"patch_embed.backbone.*"}, "a ViT over a convolutional network (timm: *_r50_*)", kNotHere},
      {{"*.attn.logit_scale", "*.attn.cpb_mlp.*"},
       "a Swin Transformer V2",
       "Fovea has the first version (swin_t, swin_s, swin_b)"},
      {{"layer*.*.downsample.2.*"},
       "a ResNet-D, whose shortcuts average before they convolve (timm: resnet*d)",
       kNotHere},
      {{"conv1.0.weight"},
       "a ResNet whose stem is three convolutions",
       "Fovea has it with stem deep_pool"},
      {{"layer*.*.se.fc1.*"},
       "an SE-ResNet with biases (timm: seresnet*)",
       "Fovea's layer attention se has none, which is another network"},
      {{"swinViT.*"}, "a Swin UNETR", "Fovea has unetr and dformer"},
      {{"vit.blocks.*.attn.rel_pos_embedding.*"},
       "a UNETR with relative positions (MONAI: use_rel_pos_embed)",
       kNotHere}};
  return all;
}

// Networks whose names differ from those of this one.
const std::vector<Sign>& network_signs() {
  static const std::vector<Sign> all = {
      {{"*embeddings.patch_embeddings.projection.weight", "*embeddings.patch_embedding.weight"},
       "a ViT under the names of Hugging Face's transformers",
       "pass --names hf"},
      {{"encoder.layers.encoder_layer_0.*"},
       "a ViT under torchvision's names",
       "pass --names torchvision"},
      {{"visual.transformer.resblocks.*", "transformer.resblocks.*"}, "an OpenAI CLIP", kNotHere},
      {{"layers.0.blocks.0.attn.relative_position_bias_table"},
       "a Swin Transformer",
       "Fovea has swin_t, swin_s and swin_b"},
      {{"layers.0.blocks.0.attn.qkvo.*"},
       "a MAViT",
       "Fovea has mavit_t, mavit_s, mavit_b, mavit_l"},
      {{"block1.0.attn.kv.*", "stages.0.blocks.0.attn.kv.*"},
       "a PVTv2",
       "Fovea has pvt_v2_b0 to pvt_v2_b5"},
      {{"stages.0.blocks.0.conv_dw.*", "stages.0.0.dwconv.*"}, "a ConvNeXt", kNotHere},
      {{"vit.patch_embedding.patch_embeddings.*"}, "a UNETR", "Fovea has unetr"},
      {{"encoder.stages.0.0.convs.*", "encoder.stages.0.blocks.*"},
       "a U-Net of nnU-Net v2",
       kNotHere},
      {{"stages.0.blocks.0.conv1.weight"},
       "a ResNet that is normed before its convolutions (timm: resnetv2_*)",
       kNotHere},
      {{"layer1.0.conv1.weight"}, "a ResNet", "Fovea has resnet18, resnet50 and resnet101"},
      {{"blocks.0.attn.qkv.weight"},
       "a ViT",
       "Fovea has vit, deit_tiny, deit_small and deit_base"}};
  return all;
}

// Less than the networks here have by default.
const std::vector<Sign>& missing_parts() {
  static const std::vector<Sign> all = {
      {{"cls_token"},
       "a ViT without a class token",
       "Fovea has it with class_token false and global_pool avg"},
      {{"patch_embed.proj.bias"},
       "a ViT without a bias in its patch embedding (timm: pre_norm; CLIP)",
       "Fovea has it with pre_norm true"},
      {{"*.attn.qkv.bias"},
       "a network whose queries, keys and values have no biases",
       "Fovea has it with qkv_bias false"}};
  return all;
}

bool shows(const Sign& sign, const std::string& name) {
  return std::any_of(sign.patterns.begin(), sign.patterns.end(),
                     [&](const char* pattern) { return matches_pattern(name, pattern); });
}

bool is_shown(const Sign& sign, const std::vector<std::string>& names) {
  return std::any_of(names.begin(), names.end(),
                     [&](const std::string& name) { return shows(sign, name); });
}

}  // namespace

std::vector<KnownNetwork> known_networks(const std::vector<std::string>& left_over) {
  std::vector<KnownNetwork> found;
  for (const Sign& sign : network_parts()) {
    if (is_shown(sign, left_over)) found.push_back({sign.what, sign.has, true});
  }
  if (!found.empty()) return found;
  for (const Sign& sign : network_signs()) {
    if (is_shown(sign, left_over)) return {{sign.what, sign.has, false}};
  }
  return {};
}

std::vector<KnownNetwork> known_without(const std::vector<std::string>& missing) {
  std::vector<KnownNetwork> found;
  for (const Sign& sign : missing_parts()) {
    if (is_shown(sign, missing)) found.push_back({sign.what, sign.has, true});
  }
  return found;
}

bool explains(const std::string& name) {
  return std::any_of(network_parts().begin(), network_parts().end(),
                     [&](const Sign& sign) { return shows(sign, name); });
}

}  // namespace fovea::nn
