// A decoder in LLaMA's layout: RMS norms before attention and SwiGLU, no biases, the head tied to
// the embedding. The paper gives no layout for its 0.3 B model; this is the one of the table that
// it compares with. mala 4.6; the names are those listed there.
#include "models/sequences/language_model.h"

#include <fmt/format.h>

#include "attention/rotary.h"
#include "autograd/graph.h"
#include "autograd/mode.h"
#include "base/last_made.h"
#include "nn/dropout.h"
#include "nn/embedding.h"
#include "nn/norm.h"
#include "nn/sizes.h"
#include "ops/elementwise.h"
#include "ops/linear.h"
#include "ops/shape.h"

namespace fovea::models {

std::int64_t DecoderState::bytes() const {
  std::int64_t bytes = 0;
  for (const AttentionState& layer : layers) bytes += layer.bytes();
  return bytes;
}

Tensor LanguageModel::next(const Tensor& tokens, DecoderState& state) {
  FOVEA_CHECK(tokens.rank() == 2 && tokens.size(1) >= 1, ShapeError,
              fmt::format("{}: next tokens are {}; expected (b, n) with n at least 1", type(),
                          to_string(tokens.shape())));
  const autograd::NoGrad no_grad;
  const auto scope = enter();
  const Tensor logits = next_logits(tokens, state);
  state.tokens += tokens.size(1);
  return ops::cast(logits, compute_dtype(logits.dtype()));
}

}  // namespace fovea::models

namespace {

using namespace fovea;
using models::CausalAttention;
using models::DataShape;
using models::DecoderState;

constexpr double kInitStddev = 0.02;

struct DecoderOptions {
  std::optional<std::int64_t> vocab_size;
  std::int64_t embed_dim = 1024;
  std::int64_t depth = 24;
  schema::Component attention{"mala", {}};
  std::optional<std::int64_t> hidden_dim;
  double norm_eps = 1e-6;
  bool tie_word_embeddings = true;
  double drop_rate = 0;
  bool checkpointing = false;
};

// LLaMA's rule: 8/3 of the width, up to the next multiple of 256.
std::int64_t hidden_of(const DecoderOptions& o) {
  return o.hidden_dim.value_or((8 * o.embed_dim / 3 + 255) / 256 * 256);
}

// down(silu(gate(x)) * up(x)).
class GatedMlp final : public nn::UnaryModule {
 public:
  GatedMlp(const nn::Build& build, std::int64_t dim, std::int64_t hidden)
      : gate_proj_(child<nn::Linear>("gate_proj", build, dim, hidden, false)),
        up_proj_(child<nn::Linear>("up_proj", build, dim, hidden, false)),
        down_proj_(child<nn::Linear>("down_proj", build, hidden, dim, false)) {}
  std::string type() const override { return "GatedMlp"; }

 protected:
  Tensor forward(const Tensor& x) override {
    return down_proj_(ops::swiglu(gate_proj_(x), up_proj_(x)));
  }

 private:
  nn::Linear& gate_proj_;
  nn::Linear& up_proj_;
  nn::Linear& down_proj_;
};

class DecoderLayer final : public nn::Module {
 public:
  DecoderLayer(const nn::Build& build, const DecoderOptions& o)
      : input_norm_(child<nn::RMSNorm>("input_layernorm", build, o.embed_dim, o.norm_eps)),
        attention_(child("self_attn", models::causal_attentions()
                                          .find(o.attention.type, "model.attention.type")
                                          .make(build.at("self_attn"), o.attention, o.embed_dim))),
        mlp_norm_(child<nn::RMSNorm>("post_attention_layernorm", build, o.embed_dim, o.norm_eps)),
        mlp_(child<GatedMlp>("mlp", build, o.embed_dim, hidden_of(o))) {
    if (o.drop_rate > 0) drop_ = &child<nn::Dropout>("drop", build, o.drop_rate);
  }
  std::string type() const override { return "DecoderLayer"; }
  bool is_block() const override { return true; }

  Tensor operator()(const Tensor& x, const CausalAttention::Pass& pass) {
    const auto scope = enter();
    const Tensor y = ops::add(x, dropped(attention_(input_norm_(x), pass)));
    const Tensor z = ops::add(y, dropped(mlp_(mlp_norm_(y))));
    if (pass.probe != nullptr) pass.probe->record("features", z);
    return z;
  }
  const CausalAttention& attention() const { return attention_; }

 private:
  Tensor dropped(const Tensor& x) { return drop_ != nullptr ? (*drop_)(x) : x; }

  nn::RMSNorm& input_norm_;
  CausalAttention& attention_;
  nn::RMSNorm& mlp_norm_;
  GatedMlp& mlp_;
  nn::Dropout* drop_ = nullptr;
};

// `model` of the names: all but the head.
class Decoder final : public nn::Module {
 public:
  Decoder(const nn::Build& build, const DecoderOptions& o, std::int64_t vocab_size)
      : checkpointing_(o.checkpointing),
        embed_tokens_(child<nn::Embedding>(
            "embed_tokens", build, vocab_size, o.embed_dim,
            nn::EmbeddingOptions{.padding = false, .init_stddev = kInitStddev})) {
    for (std::int64_t i = 0; i < o.depth; ++i)
      layers_.push_back(&child<DecoderLayer>(fmt::format("layers.{}", i), build, o));
    norm_ = &child<nn::RMSNorm>("norm", build, o.embed_dim, o.norm_eps);
    if (o.drop_rate > 0) drop_ = &child<nn::Dropout>("drop", build, o.drop_rate);
  }
  std::string type() const override { return "Decoder"; }
  const Tensor& embedding() const { return embed_tokens_.weight(); }

  // Whole sequences.
  Tensor operator()(const Tensor& tokens, DType dtype, attention::Probe* probe) {
    const auto scope = enter();
    Tensor x = embedded(tokens, dtype);
    const CausalAttention::Pass pass{tables(0, x), probe};
    for (DecoderLayer* layer : layers_) {
      const bool recompute = checkpointing_ && training();
      x = recompute ? autograd::checkpoint(
                          [layer, pass](const auto& t) { return (*layer)(t[0], pass); }, {x})
                    : (*layer)(x, pass);
    }
    return (*norm_)(x);
  }
  // The next tokens; of the last one alone.
  Tensor operator()(const Tensor& tokens, DType dtype, DecoderState& state) {
    const auto scope = enter();
    state.layers.resize(layers_.size());
    Tensor x = embedded(tokens, dtype);
    const ops::RotaryTables rotary = tables(state.tokens, x);
    for (std::size_t i = 0; i < layers_.size(); ++i)
      x = (*layers_[i])(x, {rotary, nullptr, &state.layers[i]});
    return (*norm_)(ops::slice(x, 1, x.size(1) - 1, 1));
  }

 private:
  Tensor embedded(const Tensor& tokens, DType dtype) {
    const Tensor x = ops::cast(embed_tokens_(tokens), dtype);
    return drop_ != nullptr ? (*drop_)(x) : x;
  }

  // Positions of tokens from `first` on, one table for all layers; those of whole sequences are
  // kept.
  ops::RotaryTables tables(std::int64_t first, const Tensor& x) {
    const CausalAttention& attention = layers_.front()->attention();
    if (!attention.rope_base()) return {};
    const DType dtype = compute_dtype(x.dtype());
    const auto made = [&] {
      return attention::sequence_rotary(x.size(1), attention.head_dim(), *attention.rope_base(),
                                        dtype, x.device(), first);
    };
    return first > 0 ? made() : tables_.of({x.size(1), dtype}, made);
  }

  bool checkpointing_;
  nn::Embedding& embed_tokens_;
  std::vector<DecoderLayer*> layers_;
  nn::RMSNorm* norm_ = nullptr;
  nn::Dropout* drop_ = nullptr;
  LastMade<std::pair<std::int64_t, DType>, ops::RotaryTables> tables_;  // by number of tokens
};

class CausalDecoder final : public models::LanguageModel {
 public:
  CausalDecoder(const nn::Build& outer, const DecoderOptions& o, const DataShape& data)
      : dtype_(outer.activation_dtype()),
        decoder_(child<Decoder>("model", with_init(outer), o, vocabulary(o, data))) {
    if (!o.tie_word_embeddings)
      head_ =
          &child<nn::Linear>("lm_head", with_init(outer), o.embed_dim, vocabulary(o, data), false);
  }
  std::string type() const override { return "CausalDecoder"; }

 protected:
  models::Outputs forward(const models::Inputs& in, attention::Probe* probe) override {
    check(in.tokens);
    return {.logits = head(decoder_(in.tokens, dtype_, probe))};
  }
  Tensor next_logits(const Tensor& tokens, DecoderState& state) override {
    check(tokens);
    const Tensor logits = head(decoder_(tokens, dtype_, state));
    return ops::reshape(logits, {tokens.size(0), logits.size(2)});
  }

 private:
  // Normal(0, 0.02), as LLaMA begins.
  static nn::Build with_init(nn::Build build) {
    build.init = nn::Init::kTruncNormal;
    return build;
  }
  static std::int64_t vocabulary(const DecoderOptions& o, const DataShape& data) {
    const std::int64_t size = o.vocab_size.value_or(data.vocab_size);
    FOVEA_CHECK(size > 0, ConfigError, "model.vocab_size: not given, and the data set has none");
    FOVEA_CHECK(
        data.vocab_size <= size, ConfigError,
        fmt::format("model.vocab_size: is {}; the data set has {} tokens", size, data.vocab_size));
    return size;
  }
  static void check(const Tensor& tokens) {
    FOVEA_CHECK(tokens.rank() == 2 && tokens.dtype() == DType::kInt64, ShapeError,
                fmt::format("language_model: tokens are {} {}; expected int64 (b, n)",
                            name_of(tokens.dtype()), to_string(tokens.shape())));
  }
  Tensor head(const Tensor& x) {
    return head_ != nullptr ? (*head_)(x) : ops::linear(x, decoder_.embedding());
  }

  DType dtype_;
  Decoder& decoder_;
  nn::Linear* head_ = nullptr;  // null: the embedding
};

using Decoding = DecoderOptions;

}  // namespace

FOVEA_MODEL(language_model, CausalDecoder,
            "decoder that says the next token: softmax, linear or magnitude-aware attention (mala "
            "4.6)",
            fovea::schema::Fields<Decoding>{}
                .add("vocab_size", &Decoding::vocab_size, nn::class_count(2),
                     "tokens of the vocabulary; null = the data set's")
                .add("embed_dim", &Decoding::embed_dim, nn::channel_count(), "width of the tokens")
                .add("depth", &Decoding::depth, nn::block_count(), "number of layers")
                .add_component("attention", &Decoding::attention,
                               models::causal_attentions().choices(),
                               "attention to the tokens before")
                .for_every_type({"num_heads"})
                .add("hidden_dim", &Decoding::hidden_dim, nn::channel_count(),
                     "width inside the gated feed-forward networks; null = 8/3 embed_dim, up to "
                     "the next multiple of 256")
                .add("norm_eps", &Decoding::norm_eps, fovea::schema::greater_than(0),
                     "eps of the RMS norms")
                .add("tie_word_embeddings", &Decoding::tie_word_embeddings,
                     "the head shares the weights of the embedding")
                .add("drop_rate", &Decoding::drop_rate, fovea::schema::in_range(0, 0.99),
                     "dropout on embeddings and on what attention and feed-forward networks add")
                .add("checkpointing", &Decoding::checkpointing,
                     "layers are computed again in backward instead of kept"))
