// The ViT family, wholly from configuration, and its presets: vit, diff_vit, dgvit, and DeiT in
// three sizes. Parameter names are timm's VisionTransformer. dgsa 3.2, mala 4.2.

#include <fmt/format.h>

#include <utility>

#include "autograd/mode.h"
#include "models/counting.h"
#include "models/model.h"
#include "models/vit/vit_head.h"
#include "nn/embedding.h"
#include "ops/elementwise.h"

namespace {

using namespace fovea;
using models::DataShape;
using models::Positions;
using models::ViTOptions;

class ViT final : public models::ImageClassifier {
 public:
  ViT(const nn::Build& outer, const ViTOptions& o, const DataShape& data)
      : build_(models::with_init(outer, o.init)),
        o_(checked(o)),
        grid_(checked_grid(o, data)),
        input_(child<models::TokenInput>("", build_, o, o.prefix(), position_rows())),
        patch_embed_(child<nn::PatchEmbed>("patch_embed", build_, o.patch_size,
                                           o.in_chans.value_or(data.channels), o.embed_dim,
                                           embed_options())) {
    if (o.pre_norm)
      norm_pre_ =
          &child("norm_pre", nn::make_norm(o.norm, build_.at("norm_pre"), o.embed_dim, o.norm_eps));
    models::EncoderOptions encoder = o;
    encoder.final_norm = o.norm_before_pool();
    encoder_ = &child<models::Encoder>("", build_, encoder, geometry());
    head_ = &child<models::ViTHead>("", build_, o, o.num_classes.value_or(data.num_classes));
  }
  std::string type() const override { return "ViT"; }

  bool has_head() const override { return o_.num_classes != 0; }

  attention::Context geometry() const override {
    attention::Context context;
    context.prefix_tokens = o_.prefix().count();
    context.class_token = o_.class_token;
    context.grid_h = grid_[0];
    context.grid_w = grid_[1];
    return context;
  }

  bool reads_class_token() const override {
    return o_.class_token && o_.global_pool == models::Pool::kToken;
  }

  std::optional<std::int64_t> paper_macs(
      const std::vector<autograd::Event>& events) const override {
    if (!o_.paper_counts_modules) return std::nullopt;
    return models::module_macs(events, *this);
  }

 protected:
  models::Outputs forward(const models::Inputs& in, attention::Probe* probe) override {
    const Tensor& images = in.image;
    check_images(images);
    Tensor x = input_(ops::cast(patch_embed_(images), build_.activation_dtype()));
    if (norm_pre_ != nullptr) x = (*norm_pre_)(x);
    attention::Context context = geometry();
    context.probe = probe;
    return (*head_)((*encoder_)(std::move(x), context));
  }

  // Of training with masked patches (DINOv2); a table of numbers and a layer behind the encoder
  // that transformers stores and its classifiers do not read.
  bool keeps_unused(const std::string& name) const override {
    return name == "mask_token" || name == "position_ids" || name.starts_with("pooler.");
  }

 private:
  static const ViTOptions& checked(const ViTOptions& o) {
    models::check_options(o);
    return o;
  }

  std::int64_t position_rows() const {
    const std::int64_t prefix = o_.no_embed_class ? 0 : o_.prefix().count();
    const std::int64_t tokens = grid_[0] * grid_[1] + prefix;
    if (o_.pos_embed != Positions::kLearned) return tokens;
    const std::int64_t rows = o_.pos_rows.value_or(tokens);
    FOVEA_CHECK(rows >= tokens, ConfigError,
                fmt::format("model.pos_rows: {} rows for {} tokens; expected at least as many",
                            rows, tokens));
    return rows;
  }

  nn::PatchEmbedOptions embed_options() const {
    nn::PatchEmbedOptions options{.bias = !o_.pre_norm, .norm_eps = o_.norm_eps};
    if (o_.embed_norm) options.norm = o_.norm;
    return options;
  }

  static std::array<std::int64_t, 2> checked_grid(const ViTOptions& o, const DataShape& data) {
    const auto size = o.img_size.value_or(std::array<std::int64_t, 2>{data.height, data.width});
    FOVEA_CHECK(size[0] > 0 && size[1] > 0, ConfigError,
                fmt::format("model.img_size: {} x {}; expected positive sizes", size[0], size[1]));
    FOVEA_CHECK(size[0] % o.patch_size == 0 && size[1] % o.patch_size == 0, ConfigError,
                fmt::format("model.patch_size: image {} x {} is not divisible by patch {}", size[0],
                            size[1], o.patch_size));
    FOVEA_CHECK(o.num_classes || data.num_classes > 0, ConfigError,
                "model.num_classes: not given, and the data set has no classes");
    return {size[0] / o.patch_size, size[1] / o.patch_size};
  }

  void check_images(const Tensor& x) const {
    const bool fits = x.rank() == 4 && x.size(2) == grid_[0] * o_.patch_size &&
                      x.size(3) == grid_[1] * o_.patch_size;
    FOVEA_CHECK(fits, ShapeError,
                fmt::format("vit: images are {}; expected (b, c, {}, {})", to_string(x.shape()),
                            grid_[0] * o_.patch_size, grid_[1] * o_.patch_size));
  }

  nn::Build build_;
  ViTOptions o_;
  std::array<std::int64_t, 2> grid_;
  models::TokenInput& input_;
  nn::PatchEmbed& patch_embed_;
  nn::UnaryModule* norm_pre_ = nullptr;
  models::Encoder* encoder_ = nullptr;
  models::ViTHead* head_ = nullptr;
};

ViTOptions vit_preset(schema::Component attention, schema::Component ffn) {
  ViTOptions options;
  options.attention = std::move(attention);
  options.ffn = std::move(ffn);
  return options;
}

// Heads of 64 channels. The published networks are trained with dropout nowhere and stochastic
// depth.
ViTOptions deit_preset(std::int64_t num_heads) {
  ViTOptions options;
  options.patch_size = 16;
  options.embed_dim = 64 * num_heads;
  options.depth = 12;
  options.attention = schema::with_options("softmax", {{"num_heads", num_heads}});
  options.ffn = std::nullopt;
  options.drop_path_rate = 0.1;
  options.init = nn::Init::kTruncNormal;
  options.paper_counts_modules = true;
  return options;
}

}  // namespace

FOVEA_MODEL(vit, ViT, "ViT: softmax attention, GELU MLP (dgsa 3.2)",
            models::vit_fields(vit_preset({"softmax", {}}, {"mlp", {}})))
FOVEA_MODEL(diff_vit, ViT, "DIFF-ViT: differential attention, SwiGLU (dgsa 3.2)",
            models::vit_fields(vit_preset({"differential", {}}, {"swiglu", {}})))
FOVEA_MODEL(dgvit, ViT, "DGViT: M-DGSA with inner residual, SwiGLU (dgsa 3.2)",
            models::vit_fields(vit_preset(schema::with_options("m_dgsa", {{"q_residual", true}}),
                                          {"swiglu", {}})))
FOVEA_MODEL(deit_tiny, ViT, "DeiT-T: 3 heads of 64, timm's deit_tiny_patch16_224 (mala 4.2)",
            models::vit_fields(deit_preset(3)))
FOVEA_MODEL(deit_small, ViT, "DeiT-S: 6 heads of 64, timm's deit_small_patch16_224 (mala 4.2)",
            models::vit_fields(deit_preset(6)))
FOVEA_MODEL(deit_base, ViT, "DeiT-B: 12 heads of 64, timm's deit_base_patch16_224 (mala 4.2)",
            models::vit_fields(deit_preset(12)))
