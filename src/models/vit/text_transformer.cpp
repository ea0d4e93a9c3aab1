// Encoders for text, wholly from configuration, and their presets: transformer, diff_transformer,
// dgt. dgsa 3.3; the parameter names are those listed there.

#include <fmt/format.h>

#include <cmath>

#include "autograd/hooks.h"
#include "models/model.h"
#include "models/vit/token_input.h"
#include "nn/embedding.h"
#include "nn/sizes.h"
#include "ops/create.h"
#include "ops/elementwise.h"
#include "ops/reduce.h"
#include "ops/shape.h"

namespace {

using namespace fovea;
using models::DataShape;
using models::Pool;
using models::Positions;

struct TextOptions : models::TokenOptions {
  TextOptions() {
    pos_embed = Positions::kSinusoidal;
    global_pool = Pool::kAvg;
  }
  std::optional<std::int64_t> vocab_size;
  std::optional<std::int64_t> max_len;
  bool scale_embed = true;
};

class TextTransformer final : public models::TextClassifier {
 public:
  TextTransformer(const nn::Build& outer, const TextOptions& o, const DataShape& data)
      : build_(models::with_init(outer, o.init)),
        o_(o),
        max_len_(given("max_len", o.max_len, data.max_len)),
        input_(child<models::TokenInput>(
            "", build_, o, models::PrefixTokens{.class_token = prefix() > 0}, max_len_ + prefix())),
        embed_(child<nn::Embedding>(
            "embed", build_, given("vocab_size", o.vocab_size, data.vocab_size), o.embed_dim)) {
    check_masks(o.attention.type);
    encoder_ = &child<models::Encoder>("", build_, o);
    head_ =
        &child("head", models::make_head(build_.at("head"), o.embed_dim, o.head_hidden,
                                         given("num_classes", o.num_classes, data.num_classes)));
  }
  std::string type() const override { return "TextTransformer"; }

  attention::Context geometry() const override {
    attention::Context context;
    context.prefix_tokens = prefix();
    return context;
  }

 protected:
  models::Outputs forward(const models::Inputs& in, attention::Probe* probe) override {
    const Tensor& ids = in.tokens;
    check_ids(ids);
    check_mask(in.valid, ids);
    const Tensor valid = in.valid.defined()
                             ? in.valid
                             : ops::not_equal(ids, ops::zeros({}, DType::kInt64, ids.device()));
    Tensor x = ops::cast(embed_(ids), build_.activation_dtype());
    if (o_.scale_embed) x = ops::mul(x, std::sqrt(static_cast<double>(o_.embed_dim)));
    x = autograd::hooked(x, models::kWordRows);
    attention::Context context = geometry();
    context.probe = probe;
    context.key_mask = valid;
    if (prefix() > 0) {
      const Tensor always = ops::ones({ids.size(0), prefix()}, DType::kUint8, ids.device());
      context.key_mask = ops::concat({always, valid}, 1);
    }
    const Tensor pooled = pool((*encoder_)(input_(x), context), valid);
    if (probe != nullptr) probe->record("pooled", pooled);
    return {.logits = (*head_)(pooled)};
  }

 private:
  static std::int64_t given(const char* key, const std::optional<std::int64_t>& option,
                            std::int64_t of_data) {
    const std::int64_t value = option.value_or(of_data);
    FOVEA_CHECK(value > 0, ConfigError,
                fmt::format("model.{}: not given, and the data set has none", key));
    return value;
  }
  std::int64_t prefix() const { return o_.global_pool == Pool::kToken ? 1 : 0; }

  // Padding would count as words, and a text's logits would depend on the batch around it.
  static void check_masks(const std::string& attention) {
    FOVEA_CHECK(attention::variants().find(attention).info.masks, ConfigError,
                fmt::format("model.attention: {} does not honour the padding mask of texts; choose "
                            "another attention (run: inspect --list attention)",
                            attention));
  }

  void check_ids(const Tensor& ids) const {
    FOVEA_CHECK(ids.rank() == 2 && ids.dtype() == DType::kInt64 && ids.size(1) <= max_len_,
                ShapeError,
                fmt::format("transformer: ids are {} {}; expected int64 (b, n) with n at most {} "
                            "(model.max_len)",
                            name_of(ids.dtype()), to_string(ids.shape()), max_len_));
  }

  static void check_mask(const Tensor& valid, const Tensor& ids) {
    if (!valid.defined()) return;
    FOVEA_CHECK(
        valid.dtype() == DType::kUint8 && valid.shape() == ids.shape(), ShapeError,
        fmt::format("transformer: the mask of valid tokens is {} {}; expected uint8 {}",
                    name_of(valid.dtype()), to_string(valid.shape()), to_string(ids.shape())));
  }

  // (b, n, dim) -> (b, dim): the class token, or the mean over words.
  Tensor pool(const Tensor& x, const Tensor& valid) const {
    if (o_.global_pool == Pool::kToken) return models::class_token_of(x);
    const Tensor weights = ops::cast(valid, compute_dtype(x.dtype()));
    const Tensor words = ops::reshape(ops::cast(weights, x.dtype()), {x.size(0), x.size(1), 1});
    const Tensor sum = ops::sum(ops::mul(x, words), {1});
    const Tensor one = ops::ones({}, weights.dtype(), weights.device());
    const Tensor count = ops::maximum(ops::sum(weights, {1}, true), one);
    return ops::mul(sum, ops::reciprocal(count));
  }

  nn::Build build_;
  TextOptions o_;
  std::int64_t max_len_;
  models::TokenInput& input_;
  nn::Embedding& embed_;
  models::Encoder* encoder_ = nullptr;
  nn::UnaryModule* head_ = nullptr;
};

schema::Fields<TextOptions> text_fields(const TextOptions& defaults) {
  return schema::Fields<TextOptions>(defaults)
      .add("vocab_size", &TextOptions::vocab_size, nn::class_count(2),
           "rows of the embedding, padding and unknown words included; null = the data set's")
      .add("max_len", &TextOptions::max_len, nn::side_length(),
           "longest text in tokens; null = the data set's")
      .add("num_classes", &TextOptions::num_classes, nn::class_count(),
           "outputs of the head; null = the data set's")
      .add("scale_embed", &TextOptions::scale_embed,
           "multiply the vectors of words by sqrt(embed_dim)")
      .add_enum("pos_embed", &TextOptions::pos_embed,
                {{"learned", Positions::kLearned},
                 {"sinusoidal", Positions::kSinusoidal},
                 {"none", Positions::kNone}},
                "positions added to the tokens")
      .add_enum("global_pool", &TextOptions::global_pool,
                {{"avg", Pool::kAvg}, {"token", Pool::kToken}},
                "what the head sees: the mean over words, or a class token put before them")
      .add("head_hidden", &TextOptions::head_hidden, nn::channel_count(),
           "width of a hidden layer with GELU in the head; null = a linear head")
      .include(models::encoder_fields(defaults));
}

schema::Component ffn(const char* type, const char* activation = nullptr) {
  schema::Value options = schema::Value::object({{"type", type}});
  if (activation != nullptr) options.set("activation", activation);
  return {type, options};
}

TextOptions text_preset(const char* attention, schema::Component ffn) {
  TextOptions options;
  options.depth = 6;
  options.drop_rate = 0.1;
  options.attention = {attention, {}};
  options.ffn = std::move(ffn);
  return options;
}

}  // namespace

FOVEA_MODEL(transformer, TextTransformer, "Transformer: softmax attention, ReLU MLP (dgsa 3.3)",
            text_fields(text_preset("softmax", ffn("mlp", "relu"))))
FOVEA_MODEL(diff_transformer, TextTransformer,
            "DIFF Transformer: differential attention, SwiGLU (dgsa 3.3)",
            text_fields(text_preset("differential", ffn("swiglu"))))
FOVEA_MODEL(dgt, TextTransformer, "DGT: M-DGSA without inner residual, SwiGLU (dgsa 3.3)",
            text_fields(text_preset("m_dgsa", ffn("swiglu"))))
