// Conformers: parameters of mala 5.1, relative positions as the formula has them, recordings of
// different lengths in one batch.
#include <cmath>

#include "base/error.h"
#include "models/sequences/conformer_block.h"
#include "models/sequences/transcriber.h"
#include "nn/embedding.h"
#include "ops/elementwise.h"
#include "ops/linear.h"
#include "ops/reduce.h"
#include "ops/shape.h"
#include "tests/models/network.h"

using namespace fovea;
using namespace fovea::test;
using schema::Value;

namespace {

models::DataShape recordings(std::int64_t mels, std::int64_t symbols) {
  models::DataShape data;
  data.mels = mels;
  data.num_classes = symbols;
  return data;
}

Value small(const std::string& attention) {
  return options_of("conformer_s",
                    {{"embed_dim", 8},
                     {"depth", 2},
                     {"kernel_size", 5},
                     {"attention", Value::object({{"type", attention}, {"num_heads", 2}})}});
}

Tensor lengths(const std::vector<std::int64_t>& numbers) {
  return Tensor::from(numbers, {std::ssize(numbers)}, cpu());
}

// Two recordings, the second of 19 frames, with something behind its end.
struct TwoRecordings {
  Tensor features = random_tensor({2, 31, 16}, 5);
  Tensor both = lengths({31, 19});
  Tensor second = ops::slice(ops::slice(features, 0, 1, 1), 1, 0, 19);
};

}  // namespace

TEST_CASE("conformer_s: parameters of the encoder", "[models]") {
  struct Expected {
    const char* attention;
    std::int64_t parameters;
  };
  for (const Expected& e :
       {Expected{"softmax", 8690400}, Expected{"linear", 8354016}, Expected{"mala", 8354016}}) {
    INFO(e.attention);
    const auto model =
        build(options_of("conformer_s", {{"attention", Value::object({{"type", e.attention}})}}),
              make_meta(), recordings(80, 1000));
    std::int64_t encoder = 0;
    for (const nn::NamedTensor& named : model->parameters()) {
      if (named.name.starts_with("encoder.")) encoder += named.tensor.numel();
    }
    CHECK(encoder == e.parameters);
    CHECK(model->parameter_count() == e.parameters + 145 * 1000);
  }
}

TEST_CASE("conformer: relative positions are those of the formula", "[models]") {
  constexpr std::int64_t kTokens = 5, kDim = 6, kHeads = 2, kHead = kDim / kHeads;
  models::ConformerAttentionOptions options;
  options.num_heads = kHeads;
  models::ConformerAttention attention({cpu(), DType::kFloat64, RandomStream(2)}, kDim, options);
  std::map<std::string, Tensor> parameters;
  for (const nn::NamedTensor& named : attention.parameters()) parameters[named.name] = named.tensor;
  const Tensor x = random_tensor({1, kTokens, kDim}, 1);
  attention::Probe probe;
  attention::Context context;
  context.probe = &probe;
  const autograd::NoGrad no_grad;
  attention(x, context);
  const std::vector<double> map = to_doubles(probe.all("attn").at(0));

  const auto projected = [&](const std::string& name) {
    return to_doubles(
        ops::linear(x, parameters.at(name + ".weight"), parameters.at(name + ".bias")));
  };
  const std::vector<double> q = projected("linear_q"), k = projected("linear_k");
  const std::vector<double> u = to_doubles(parameters.at("pos_bias_u")),
                            v = to_doubles(parameters.at("pos_bias_v")),
                            w = to_doubles(parameters.at("linear_pos.weight"));
  const auto position = [&](std::int64_t row, std::int64_t distance) {
    double sum = 0;
    for (std::int64_t c = 0; c < kDim; ++c) {
      const double angle =
          static_cast<double>(distance) * std::pow(10000.0, -static_cast<double>(c / 2 * 2) / kDim);
      sum += w[static_cast<std::size_t>(row * kDim + c)] *
             (c % 2 == 0 ? std::sin(angle) : std::cos(angle));
    }
    return sum;
  };
  for (std::int64_t h = 0; h < kHeads; ++h) {
    for (std::int64_t i = 0; i < kTokens; ++i) {
      std::vector<double> scores;
      double total = 0;
      for (std::int64_t j = 0; j < kTokens; ++j) {
        double score = 0;
        for (std::int64_t c = 0; c < kHead; ++c) {
          const auto channel = static_cast<std::size_t>(h * kHead + c);
          const auto of = [&](std::int64_t token) {
            return static_cast<std::size_t>(token * kDim) + channel;
          };
          score += (q[of(i)] + u[channel]) * k[of(j)];
          score += (q[of(i)] + v[channel]) * position(h * kHead + c, i - j);
        }
        scores.push_back(std::exp(score / std::sqrt(double{kHead})));
        total += scores.back();
      }
      for (std::int64_t j = 0; j < kTokens; ++j)
        CHECK(map[static_cast<std::size_t>((h * kTokens + i) * kTokens + j)] ==
              Approx(scores[static_cast<std::size_t>(j)] / total).epsilon(1e-10));
    }
  }
}

TEST_CASE("conformer: a recording says the same alone and behind a longer one", "[models]") {
  const std::string attention = GENERATE("softmax", "linear", "mala");
  CAPTURE(attention);
  const auto model = build(small(attention), cpu(), recordings(16, 5), DType::kFloat64);
  model->train(false);
  const TwoRecordings two;
  const autograd::NoGrad no_grad;
  const Tensor both = (*model)({.features = two.features, .num_frames = two.both}).logits;
  const Tensor alone = (*model)({.features = two.second, .num_frames = lengths({19})}).logits;
  const auto& transcriber = dynamic_cast<const models::Transcriber&>(*model);
  CHECK(both.shape() == Shape{2, transcriber.frames_of(31), 5});
  REQUIRE(alone.size(1) == transcriber.frames_of(19));
  const Tensor part = ops::slice(ops::slice(both, 0, 1, 1), 1, 0, alone.size(1));
  CHECK(max_difference(part, alone) < 1e-12);
}

TEST_CASE("conformer: padding is not in the statistics of batch norms", "[models]") {
  models::ConformerConv conv({cpu(), DType::kFloat64, RandomStream(2)}, 4, 3);
  conv.train(true);
  const Tensor x = random_tensor({2, 6, 4}, 3);
  const Tensor other = ops::concat({ops::slice(x, 1, 0, 4), ops::mul(ops::slice(x, 1, 4, 2), 7)},
                                   1);  // behind the end
  const Tensor mask =
      Tensor::from<std::uint8_t>({1, 1, 1, 1, 0, 0, 1, 1, 1, 0, 0, 0}, {2, 6}, cpu());
  const auto valid = [](const Tensor& y) {
    return ops::concat(
        {ops::slice(ops::slice(y, 0, 0, 1), 1, 0, 4), ops::slice(ops::slice(y, 0, 1, 1), 1, 0, 3)},
        1);
  };
  const autograd::NoGrad no_grad;
  const Tensor y = valid(conv(x, mask));
  CHECK(max_difference(y, valid(conv(other, mask))) == 0);
  // The mean of what is valid, of one recording alone, which needs no mask.
  const Tensor one = ops::slice(ops::slice(x, 0, 0, 1), 1, 0, 4);
  const Tensor first = Tensor::from<std::uint8_t>({1, 1, 1, 1, 0, 0}, {1, 6}, cpu());
  CHECK(max_difference(ops::slice(conv(ops::slice(x, 0, 0, 1), first), 1, 0, 4), conv(one, {})) <
        1e-12);
}

TEST_CASE("conformer: gradients of all parameters, with padding", "[models]") {
  const std::string attention = GENERATE("softmax", "mala");
  const auto model = build(small(attention), cpu(), recordings(16, 5), DType::kFloat64);
  model->train(true);
  const TwoRecordings two;
  const Tensor weights = random_tensor({2, 7, 5}, 9);
  const auto& transcriber = dynamic_cast<const models::Transcriber&>(*model);
  REQUIRE(transcriber.frames_of(31) == 7);
  REQUIRE(transcriber.frames_of(19) == 4);
  const Tensor mask =
      Tensor::from<double>({1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0}, {2, 7, 1}, cpu());
  check_directions(*model, [&] {
    model->set_random(RandomStream(1));
    const Tensor logits = (*model)({.features = two.features, .num_frames = two.both}).logits;
    return ops::sum(ops::mul(ops::mul(logits, mask), weights));
  });
}

TEST_CASE("conformer: very short recordings", "[models]") {
  const auto model = build(small("mala"), cpu(), recordings(16, 5), DType::kFloat64);
  model->train(false);
  const autograd::NoGrad no_grad;
  const auto& transcriber = dynamic_cast<const models::Transcriber&>(*model);
  CHECK(transcriber.frames_of(6) == 0);
  CHECK(transcriber.frames_of(7) == 1);
  CHECK(transcriber.frames_of(10) == 1);
  CHECK(transcriber.frames_of(11) == 2);
  const Tensor logits =
      (*model)({.features = random_tensor({1, 3, 16}, 1), .num_frames = lengths({3})}).logits;
  CHECK(logits.shape() == Shape{1, 1, 5});
}

TEST_CASE("conformer: what does not fit is refused", "[models]") {
  const auto model = build(small("mala"), cpu(), recordings(16, 5));
  CHECK_THROWS_WITH((*model)({.features = random_tensor({1, 9, 8}, 1), .num_frames = lengths({9})}),
                    "conformer: features are (1, 9, 8); expected (b, t, 16)");
  CHECK_THROWS_WITH(
      (*model)({.features = random_tensor({1, 9, 16}, 1), .num_frames = lengths({10})}),
      "conformer: a recording has 10 frames; expected 0 to 9");
  CHECK_THROWS_WITH(build(small("mala"), cpu(), recordings(4, 5)),
                    "conformer: features have 4 mel channels; expected 7 or more");
  Value even = small("mala");
  even.set("kernel_size", 4);
  CHECK_THROWS_WITH(build(even, cpu(), recordings(16, 5)),
                    "conformer: kernel_size is 4; expected an odd number, which keeps the length");
}
