// Diffusion transformers in the sizes of Peebles and Xie (ICCV 2023), with any token attention.
// Parameter names are facebookresearch/DiT's. mala 4.7.

#include <fmt/format.h>

#include <cmath>

#include "models/diffusion/denoiser.h"
#include "models/diffusion/dit_block.h"
#include "models/diffusion/embeddings.h"
#include "models/image_options.h"
#include "nn/embedding.h"
#include "nn/init.h"
#include "nn/sizes.h"
#include "ops/create.h"
#include "ops/elementwise.h"
#include "ops/in_place.h"
#include "ops/shape.h"

namespace {

using namespace fovea;
using models::DataShape;
using schema::at_least;
using schema::greater_than;
using schema::in_range;

struct DiTOptions : models::ImageOptions {
  std::int64_t patch_size = 2;
  std::int64_t embed_dim = 384;
  std::int64_t depth = 12;
  schema::Component attention{"softmax", {}};
  double mlp_ratio = 4;
  double class_dropout_prob = 0.1;
  bool learn_sigma = true;
  ops::BetaOptions noise;
};

nn::Build xavier(const nn::Build& outer) {
  nn::Build build = outer;
  build.init = nn::Init::kXavier;
  return build;
}

class DiT final : public models::Denoiser {
 public:
  DiT(const nn::Build& outer, const DiTOptions& o, const DataShape& data)
      : build_(xavier(outer)),
        o_(o),
        shape_(checked(o, data)),
        x_embedder_(child<nn::PatchEmbed>("x_embedder", build_, o.patch_size, shape_.channels,
                                          o.embed_dim)),
        t_embedder_(child<models::TimestepEmbedder>("t_embedder", build_, o.embed_dim)),
        y_embedder_(child<models::LabelEmbedder>("y_embedder", build_, shape_.classes, o.embed_dim,
                                                 o.class_dropout_prob)),
        pos_embed_(parameter("pos_embed", models::sincos_positions(o.embed_dim, rows(), columns(),
                                                                   build_.dtype, build_.device))) {
    pos_embed_.set_requires_grad(false);  // fixed, and yet in the files of weights
    for (std::int64_t i = 0; i < o.depth; ++i)
      blocks_.push_back(
          &child<models::DiTBlock>(fmt::format("blocks.{}", i), build_,
                                   models::DiTBlockOptions{o.embed_dim, o.attention, o.mlp_ratio},
                                   i + 1, o.depth, geometry()));
    final_layer_ = &child<models::DiTFinalLayer>("final_layer", build_, o.embed_dim,
                                                 o.patch_size * o.patch_size * channels_out());
    start_patches();
  }
  std::string type() const override { return "DiT"; }

  std::int64_t num_classes() const override { return shape_.classes; }
  bool has_null_class() const override { return o_.class_dropout_prob > 0; }
  bool learns_variance() const override { return o_.learn_sigma; }
  ops::DiffusionChain chain() const override {
    return ops::diffusion_chain(ops::noise_betas(o_.noise));
  }
  Shape image() const override { return {shape_.channels, shape_.height, shape_.width}; }

  attention::Context geometry() const override {
    attention::Context context;
    context.grid_h = rows();
    context.grid_w = columns();
    return context;
  }

 protected:
  models::Outputs forward(const models::Inputs& in, attention::Probe* probe) override {
    const Tensor& images = in.image;
    FOVEA_CHECK(
        images.rank() == 4 && images.shape().part(1, 4) == image(), ShapeError,
        fmt::format("dit: images are {}; expected (b, {}, {}, {})", to_string(images.shape()),
                    shape_.channels, shape_.height, shape_.width));
    for (const Tensor& each : {in.timestep, in.label})
      FOVEA_CHECK(
          each.shape() == Shape{images.size(0)}, ShapeError,
          fmt::format("dit: timesteps or labels are {} for images {}; expected one an image",
                      to_string(each.shape()), to_string(images.shape())));
    const Tensor patches = ops::add(x_embedder_(images), pos_embed_);
    const Tensor c = ops::add(t_embedder_(in.timestep), y_embedder_(in.label));
    attention::Context context = geometry();
    context.probe = probe;
    Tensor x = ops::cast(patches, build_.activation_dtype());
    for (models::DiTBlock* block : blocks_) x = (*block)(x, c, context);
    return {.maps = {image_of((*final_layer_)(x, c))}};
  }

 private:
  std::int64_t rows() const { return shape_.height / o_.patch_size; }
  std::int64_t columns() const { return shape_.width / o_.patch_size; }
  std::int64_t channels_out() const { return (o_.learn_sigma ? 2 : 1) * shape_.channels; }

  static models::ImageShape checked(const DiTOptions& o, const DataShape& data) {
    const models::ImageShape shape = models::image_shape(o, data);
    FOVEA_CHECK(shape.height > 0 && shape.width > 0, ConfigError,
                "model.img_size: not given, and the data set's images have no size of their own");
    FOVEA_CHECK(shape.height % o.patch_size == 0 && shape.width % o.patch_size == 0, ConfigError,
                fmt::format("model.patch_size: image {} x {} is not divisible by patch {}",
                            shape.height, shape.width, o.patch_size));
    return shape;
  }

  // As the weight of a linear layer of the patch's values.
  void start_patches() {
    for (const nn::NamedTensor& named : x_embedder_.parameters()) {
      if (named.name != "proj.weight") continue;
      const Tensor& weight = named.tensor;
      const std::int64_t values = weight.numel() / weight.size(0);
      ops::copy_into(nn::init_weight(build_.at("x_embedder.proj.weight"), weight.shape(), values),
                     weight);
    }
  }

  // (b, n, p p c) -> (b, c, h, w): the values of a patch row by row, the channels of each together.
  Tensor image_of(const Tensor& patches) const {
    const std::int64_t p = o_.patch_size;
    const Tensor grid =
        ops::reshape(patches, Shape{patches.size(0), rows(), columns(), p, p, channels_out()});
    return ops::reshape(ops::permute(grid, {0, 5, 1, 3, 2, 4}),
                        Shape{patches.size(0), channels_out(), shape_.height, shape_.width});
  }

  nn::Build build_;
  DiTOptions o_;
  models::ImageShape shape_;
  nn::PatchEmbed& x_embedder_;
  models::TimestepEmbedder& t_embedder_;
  models::LabelEmbedder& y_embedder_;
  Tensor pos_embed_;
  std::vector<models::DiTBlock*> blocks_;
  models::DiTFinalLayer* final_layer_ = nullptr;
};

const schema::Fields<ops::BetaOptions>& noise_fields() {
  using O = ops::BetaOptions;
  static const auto fields =
      schema::Fields<O>{}
          .add_enum("schedule", &O::schedule,
                    {{"linear", ops::BetaSchedule::kLinear},
                     {"squaredcos_cap_v2", ops::BetaSchedule::kSquaredCosine}},
                    "how the noise of a step grows: evenly, or so that what is left of the image "
                    "falls as a squared cosine")
          .add("steps", &O::steps, schema::at_least(2), "steps of the chain")
          .add("beta_start", &O::beta_start, schema::greater_than(0),
               "of linear: variance of the first step's noise; null = 0.1 / steps")
          .add("beta_end", &O::beta_end, schema::greater_than(0),
               "of linear: that of the last step's; null = 20 / steps");
  return fields;
}

schema::Fields<DiTOptions> dit_fields(std::int64_t embed_dim, std::int64_t depth,
                                      std::int64_t num_heads) {
  using O = DiTOptions;
  O defaults;
  defaults.embed_dim = embed_dim;
  defaults.depth = depth;
  defaults.attention = schema::with_options("softmax", {{"num_heads", num_heads}});
  schema::Fields<O> fields(defaults);
  return models::add_image_fields(fields, "labels; null = the data set's")
      .add("patch_size", &O::patch_size, nn::side_length(),
           "side of a patch in pixels; must divide img_size")
      .add("embed_dim", &O::embed_dim, nn::channel_count(4),
           "channels of the tokens; a multiple of 4")
      .add("depth", &O::depth, nn::block_count(), "number of blocks")
      .add_component("attention", &O::attention, attention::variants().choices(),
                     "token attention of every block")
      .for_every_type({"num_heads"})
      .add("mlp_ratio", &O::mlp_ratio, nn::width_ratio(),
           "hidden width of the feed-forward networks relative to embed_dim")
      .add("class_dropout_prob", &O::class_dropout_prob, in_range(0, 1),
           "probability that an image's label is left out in training, which guidance needs; 0: "
           "the network knows no image without a label")
      .add("learn_sigma", &O::learn_sigma,
           "learn the variance of steps back too, in as many more channels")
      .add_object("noise", &O::noise, noise_fields(), "the chain of steps whose noise it learns");
}

}  // namespace

FOVEA_MODEL(dit_s, DiT, "DiT-S/2: 12 blocks of 384, 6 heads (mala 4.7)", dit_fields(384, 12, 6))
FOVEA_MODEL(dit_b, DiT, "DiT-B/2: 12 blocks of 768, 12 heads (mala 4.7)", dit_fields(768, 12, 12))
FOVEA_MODEL(dit_l, DiT, "DiT-L/2: 24 blocks of 1024, 16 heads (mala 4.7)", dit_fields(1024, 24, 16))
FOVEA_MODEL(dit_xl, DiT, "DiT-XL/2: 28 blocks of 1152, 16 heads (mala 4.7)",
            dit_fields(1152, 28, 16))
