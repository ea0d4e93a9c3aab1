// The ViT family, wholly from configuration, and its presets: vit, diff_vit, dgvit, and DeiT in
// three sizes. Parameter names are timm's VisionTransformer. dgsa 3.2, mala 4.2.

#include <fmt/format.h>

#include "autograd/mode.h"
#include "models/counting.h"
#include "models/model.h"
#include "models/vit/token_input.h"
#include "nn/embedding.h"
#include "ops/elementwise.h"
#include "ops/reduce.h"
#include "ops/shape.h"

namespace {

using namespace fovea;
using models::DataShape;
using models::Pool;
using models::Positions;
using schema::at_least;

struct ViTOptions : models::TokenOptions {
  std::optional<std::array<std::int64_t, 2>> img_size;
  std::int64_t patch_size = 4;
  std::optional<std::int64_t> in_chans;
  bool class_token = true;
  std::optional<std::int64_t> pos_rows;
  bool paper_counts_modules = false;  // of presets: the paper leaves out the products of attention
};

class ViT final : public models::ImageClassifier {
 public:
  ViT(const nn::Build& outer, const ViTOptions& o, const DataShape& data)
      : build_(models::with_init(outer, o.init)),
        o_(o),
        grid_(checked_grid(o, data)),
        input_(child<models::TokenInput>("", build_, o, o.class_token, position_rows())),
        patch_embed_(child<nn::PatchEmbed>("patch_embed", build_, o.patch_size,
                                           o.in_chans.value_or(data.channels), o.embed_dim)) {
    encoder_ = &child<models::Encoder>("", build_, o, geometry());
    const std::int64_t classes = o.num_classes.value_or(data.num_classes);
    head_ =
        &child("head", models::make_head(build_.at("head"), o.embed_dim, o.head_hidden, classes));
  }
  std::string type() const override { return "ViT"; }

  attention::Context geometry() const override {
    attention::Context context;
    context.prefix_tokens = prefix();
    context.grid_h = grid_[0];
    context.grid_w = grid_[1];
    return context;
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
    const Tensor x = input_(ops::cast(patch_embed_(images), build_.activation_dtype()));
    attention::Context context = geometry();
    context.probe = probe;
    const Tensor pooled = pool((*encoder_)(x, context));
    return {.logits = (*head_)(pooled), .embedding = pooled};
  }

 private:
  std::int64_t prefix() const { return o_.class_token ? 1 : 0; }

  std::int64_t position_rows() const {
    const std::int64_t tokens = grid_[0] * grid_[1] + prefix();
    if (o_.pos_embed != Positions::kLearned) return tokens;
    const std::int64_t rows = o_.pos_rows.value_or(tokens);
    FOVEA_CHECK(rows >= tokens, ConfigError,
                fmt::format("model.pos_rows: {} rows for {} tokens; expected at least as many",
                            rows, tokens));
    return rows;
  }

  static std::array<std::int64_t, 2> checked_grid(const ViTOptions& o, const DataShape& data) {
    const auto size = o.img_size.value_or(std::array<std::int64_t, 2>{data.height, data.width});
    FOVEA_CHECK(size[0] > 0 && size[1] > 0, ConfigError,
                fmt::format("model.img_size: {} x {}; expected positive sizes", size[0], size[1]));
    FOVEA_CHECK(size[0] % o.patch_size == 0 && size[1] % o.patch_size == 0, ConfigError,
                fmt::format("model.patch_size: image {} x {} is not divisible by patch {}", size[0],
                            size[1], o.patch_size));
    FOVEA_CHECK(o.class_token || o.global_pool == Pool::kAvg, ConfigError,
                "model.global_pool: \"token\" needs class_token=true; set model.global_pool=avg");
    FOVEA_CHECK(o.num_classes.value_or(data.num_classes) > 0, ConfigError,
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

  // (b, n, dim) -> (b, dim): the class token, or the mean over patches.
  Tensor pool(const Tensor& x) const {
    if (o_.global_pool == Pool::kToken) return models::class_token_of(x);
    return ops::mean(ops::slice(x, 1, prefix(), x.size(1) - prefix()), {1});
  }

  nn::Build build_;
  ViTOptions o_;
  std::array<std::int64_t, 2> grid_;
  models::TokenInput& input_;
  nn::PatchEmbed& patch_embed_;
  models::Encoder* encoder_ = nullptr;
  nn::UnaryModule* head_ = nullptr;
};

schema::Fields<ViTOptions> vit_fields(const ViTOptions& defaults) {
  return schema::Fields<ViTOptions>(defaults)
      .add("img_size", &ViTOptions::img_size, at_least(1),
           "height and width; null = the data set's")
      .add("patch_size", &ViTOptions::patch_size, at_least(1),
           "side of a patch in pixels; must divide img_size")
      .add("in_chans", &ViTOptions::in_chans, at_least(1),
           "channels of the images; null = the data set's")
      .add("num_classes", &ViTOptions::num_classes, at_least(1),
           "outputs of the head; null = the data set's")
      .add("class_token", &ViTOptions::class_token, "prepend a learned class token")
      .add_enum("global_pool", &ViTOptions::global_pool,
                {{"token", Pool::kToken}, {"avg", Pool::kAvg}},
                "what the head sees: the class token, or the mean over patches")
      .add_enum("pos_embed", &ViTOptions::pos_embed,
                {{"learned", Positions::kLearned},
                 {"sinusoidal", Positions::kSinusoidal},
                 {"none", Positions::kNone}},
                "positions added to the tokens")
      .add("pos_rows", &ViTOptions::pos_rows, at_least(1),
           "rows of the learned table; the first n are used; null = as many as tokens")
      .add("head_hidden", &ViTOptions::head_hidden, at_least(1),
           "width of a hidden layer with GELU in the head; null = a linear head")
      .include(models::encoder_fields(defaults));
}

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
            vit_fields(vit_preset({"softmax", {}}, {"mlp", {}})))
FOVEA_MODEL(diff_vit, ViT, "DIFF-ViT: differential attention, SwiGLU (dgsa 3.2)",
            vit_fields(vit_preset({"differential", {}}, {"swiglu", {}})))
FOVEA_MODEL(dgvit, ViT, "DGViT: M-DGSA with inner residual, SwiGLU (dgsa 3.2)",
            vit_fields(vit_preset(schema::with_options("m_dgsa", {{"q_residual", true}}),
                                  {"swiglu", {}})))
FOVEA_MODEL(deit_tiny, ViT, "DeiT-T: 3 heads of 64, timm's deit_tiny_patch16_224 (mala 4.2)",
            vit_fields(deit_preset(3)))
FOVEA_MODEL(deit_small, ViT, "DeiT-S: 6 heads of 64, timm's deit_small_patch16_224 (mala 4.2)",
            vit_fields(deit_preset(6)))
FOVEA_MODEL(deit_base, ViT, "DeiT-B: 12 heads of 64, timm's deit_base_patch16_224 (mala 4.2)",
            vit_fields(deit_preset(12)))
