#include "models/vit/other_names.h"

#include "base/error.h"
#include "ops/shape.h"
#include "tests/models/network.h"

using namespace fovea;
using namespace fovea::test;
using models::NamesOf;
using Tensors = std::map<std::string, Tensor>;

namespace {

Tensor any(const Shape& shape, std::uint64_t seed = 1) { return random_tensor(shape, seed); }

std::string joined_names(const Tensors& tensors) {
  std::string text;
  for (const auto& [name, tensor] : tensors) text += name + " ";
  return text;
}

// Names in the order of files and timm's for them.
using Pairs = std::vector<std::pair<std::string, std::string>>;

void check_names(NamesOf names, const Pairs& pairs) {
  for (const auto& [from, to] : pairs) {
    INFO(from);
    CHECK(joined_names(models::timm_tensors({{from, any({1, 2, 3})}}, names, "x")) == to + " ");
  }
}

}  // namespace

TEST_CASE("other names: those of Hugging Face's networks", "[models]") {
  check_names(
      NamesOf::kHuggingFace,
      {{"vit.embeddings.cls_token", "cls_token"},
       {"dinov2.embeddings.position_embeddings", "pos_embed"},
       {"deit.embeddings.distillation_token", "dist_token"},
       {"embeddings.mask_token", "mask_token"},
       {"vision_model.embeddings.position_ids", "position_ids"},
       {"vit.pooler.dense.weight", "pooler.dense.weight"},
       {"vit.embeddings.patch_embeddings.projection.weight", "patch_embed.proj.weight"},
       {"vision_model.embeddings.patch_embedding.weight", "patch_embed.proj.weight"},
       {"vit.encoder.layer.11.layernorm_before.weight", "blocks.11.norm1.weight"},
       {"vit.encoder.layer.0.attention.output.dense.bias", "blocks.0.attn.proj.bias"},
       {"vit.encoder.layer.0.intermediate.dense.weight", "blocks.0.mlp.fc1.weight"},
       {"vit.encoder.layer.0.output.dense.weight", "blocks.0.mlp.fc2.weight"},
       {"vit.layers.3.attention.o_proj.weight", "blocks.3.attn.proj.weight"},
       {"dinov2_with_registers.encoder.layer.2.layer_scale1.lambda1", "blocks.2.ls1.gamma"},
       {"dinov2.encoder.layer.2.norm2.weight", "blocks.2.norm2.weight"},
       {"dinov2.encoder.layer.2.mlp.weights_in.weight", "blocks.2.mlp.fc1.weight"},
       {"vision_model.encoder.layers.7.self_attn.out_proj.weight", "blocks.7.attn.proj.weight"},
       {"vision_model.pre_layrnorm.weight", "norm_pre.weight"},
       {"vision_model.post_layernorm.bias", "norm.bias"},
       {"vit.layernorm.bias", "norm.bias"},
       {"distillation_classifier.weight", "head_dist.weight"}});
}

TEST_CASE("other names: those of torchvision's VisionTransformer", "[models]") {
  check_names(
      NamesOf::kTorchvision,
      {{"class_token", "cls_token"},
       {"conv_proj.bias", "patch_embed.proj.bias"},
       {"encoder.pos_embedding", "pos_embed"},
       {"encoder.layers.encoder_layer_10.ln_1.weight", "blocks.10.norm1.weight"},
       {"encoder.layers.encoder_layer_0.self_attention.in_proj_weight", "blocks.0.attn.qkv.weight"},
       {"encoder.layers.encoder_layer_0.self_attention.out_proj.bias", "blocks.0.attn.proj.bias"},
       {"encoder.layers.encoder_layer_0.mlp.3.weight", "blocks.0.mlp.fc2.weight"},
       {"encoder.layers.encoder_layer_0.mlp.linear_1.weight", "blocks.0.mlp.fc1.weight"},
       {"encoder.ln.weight", "norm.weight"},
       {"heads.head.weight", "head.weight"}});
}

TEST_CASE("other names: queries, keys and values are joined in this order", "[models]") {
  const std::string attention = "vit.encoder.layer.0.attention.attention.";
  Tensors file;
  std::vector<Tensor> parts;
  for (const char* part : {"query", "key", "value"}) {
    parts.push_back(any({2, 2}, parts.size()));
    file[attention + part + ".weight"] = parts.back();
  }
  const Tensors timm = models::timm_tensors(file, NamesOf::kHuggingFace, "x");
  CHECK(joined_names(timm) == "blocks.0.attn.qkv.weight ");
  CHECK(to_doubles(timm.begin()->second) == to_doubles(ops::concat(parts, 0)));
  Tensors other = file;
  other[attention + "key.weight"] = any({2, 3});
  CHECK_THROWS_WITH(models::timm_tensors(other, NamesOf::kHuggingFace, "x"),
                    "x: " + attention + "query.weight is (2, 2), " + attention +
                        "key.weight is (2, 3); expected one shape and type");
  file.erase(attention + "key.weight");
  CHECK_THROWS_WITH(models::timm_tensors(file, NamesOf::kHuggingFace, "x.safetensors"),
                    "x.safetensors: " + attention + "key.weight is missing, which together with " +
                        attention + "value.weight makes blocks.0.attn.qkv.weight");
}

TEST_CASE("other names: what has another form in Hugging Face's networks", "[models]") {
  SECTION("with registers the class token takes its position along") {
    const Tensor cls = any({1, 1, 2}, 1), positions = any({1, 5, 2}, 2);
    const Tensors timm = models::timm_tensors({{"embeddings.cls_token", cls},
                                               {"embeddings.position_embeddings", positions},
                                               {"embeddings.register_tokens", any({1, 4, 2}, 3)}},
                                              NamesOf::kHuggingFace, "x");
    const std::vector<double> c = to_doubles(cls), p = to_doubles(positions);
    CHECK(to_doubles(timm.at("cls_token")) == std::vector<double>{c[0] + p[0], c[1] + p[1]});
    CHECK(timm.at("pos_embed").shape() == Shape{1, 4, 2});
    CHECK(to_doubles(timm.at("pos_embed")) == std::vector<double>(p.begin() + 2, p.end()));
  }
  SECTION("CLIP's class token, positions and projection") {
    const Tensors timm =
        models::timm_tensors({{"vision_model.embeddings.class_embedding", any({2})},
                              {"vision_model.embeddings.position_embedding.weight", any({5, 2})},
                              {"visual_projection.weight", any({3, 2})}},
                             NamesOf::kHuggingFace, "x");
    CHECK(timm.at("cls_token").shape() == Shape{1, 1, 2});
    CHECK(timm.at("pos_embed").shape() == Shape{1, 5, 2});
    CHECK(timm.at("head.weight").shape() == Shape{3, 2});
    CHECK(to_doubles(timm.at("head.bias")) == std::vector<double>{0, 0, 0});
  }
}

TEST_CASE("other names: words, other files, two tensors of one name", "[models]") {
  CHECK(models::names_of("hf") == NamesOf::kHuggingFace);
  CHECK_THROWS_WITH(models::names_of("torchvison"),
                    "--names torchvison: expected timm, hf, torchvision; did you mean "
                    "\"torchvision\"?");
  const Tensors timm = {{"blocks.0.norm1.weight", any({2})}, {"head.bias", any({2})}};
  CHECK(joined_names(models::timm_tensors(timm, NamesOf::kTimm, "x")) == joined_names(timm));
  CHECK_THROWS_WITH(models::timm_tensors(timm, NamesOf::kHuggingFace, "x"),
                    "--names: no name of x is one of Hugging Face's ViT, DeiT, DINOv2 or CLIP; it "
                    "has blocks.0.norm1.weight, ..., head.bias");
  // What has no form that is known is left as it is.
  const Tensor scalar = Tensor::scalar(1.0F, cpu());
  CHECK_NOTHROW(models::timm_tensors({{"embeddings.cls_token", scalar},
                                      {"embeddings.position_embeddings", scalar},
                                      {"embeddings.register_tokens", scalar},
                                      {"visual_projection.weight", scalar},
                                      {"layers.", scalar},
                                      {"layers.0", scalar}},
                                     NamesOf::kHuggingFace, "x"));
  CHECK_THROWS_AS(models::timm_tensors({{"classifier.weight", any({2, 2})},
                                        {"visual_projection.weight", any({2, 2})}},
                                       NamesOf::kHuggingFace, "x"),
                  FileError);
}
