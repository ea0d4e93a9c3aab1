// What a transcriber makes of a recording: symbols of the best path, their times, their rows.
#include "visualise/maps/sequences/speech_maps.h"

#include <catch2/catch.hpp>

#include "base/error.h"
#include "ops/shape.h"
#include "tests/models/network.h"

using namespace fovea;
using namespace fovea::test;
using namespace fovea::visualise;
using schema::Value;

namespace {

std::unique_ptr<models::Model> conformer(const char* attention) {
  models::DataShape data;
  data.mels = 16;
  data.num_classes = 5;
  return build(options_of("conformer_s",
                          {{"embed_dim", 8},
                           {"depth", 2},
                           {"kernel_size", 5},
                           {"attention", Value::object({{"type", attention}, {"num_heads", 2}})}}),
               cpu(), data);
}

// Rows of probabilities whose best symbols are these.
Matrix path(const std::vector<std::pair<std::int64_t, double>>& best) {
  Matrix m{std::ssize(best), 3, std::vector<double>(best.size() * 3, 0.0)};
  for (std::size_t t = 0; t < best.size(); ++t)
    m.at(static_cast<std::int64_t>(t), best[t].first) = best[t].second;
  return m;
}

}  // namespace

TEST_CASE("speech maps: equal neighbours of the best path are one symbol, blanks part them",
          "[visualise]") {
  const auto heard = best_path(
      path({{0, 1}, {1, 0.5}, {1, 0.9}, {1, 0.7}, {0, 1}, {1, 0.6}, {2, 0.8}, {0, 1}}), 0);
  CHECK(heard == std::vector<HeardSymbol>{{1, 1, 3, 2, 0.9}, {1, 5, 5, 5, 0.6}, {2, 6, 6, 6, 0.8}});
  CHECK(best_path(path({{0, 1}, {0, 1}}), 0).empty());
  const Matrix rollout{3, 3, {1, 2, 3, 4, 5, 6, 7, 8, 9}};
  const std::vector<HeardSymbol> symbols{{1, 1, 2, 2, 1}, {2, 0, 0, 0, 1}};
  const Matrix rows = rows_of(rollout, symbols);
  CHECK(rows.rows == 2);
  CHECK(rows.values == std::vector<double>{7, 8, 9, 1, 2, 3});
}

TEST_CASE("speech maps: a token stands for four frames, the first for frames around the fourth",
          "[visualise]") {
  const auto network = conformer("softmax");
  const TokenTimes times = token_times(dynamic_cast<models::Transcriber&>(*network));
  CHECK(times.step == 4);   // two convolutions of stride 2
  CHECK(times.first == 3);  // of frames 0 to 6
}

TEST_CASE("speech maps: probabilities, the path of the truth and a map for every layer",
          "[visualise]") {
  const char* attention = GENERATE("softmax", "linear", "mala");
  INFO(attention);
  const auto network = conformer(attention);
  auto& transcriber = dynamic_cast<models::Transcriber&>(*network);
  const Tensor features = random_tensor({1, 43, 16}, 5, DType::kFloat32);
  const HeardSpeech seen = observe_speech(transcriber, features, {3, 1, 1}, 0);
  const std::int64_t tokens = transcriber.frames_of(43);
  CHECK(seen.probabilities.rows == tokens);
  CHECK(seen.probabilities.cols == 5);
  for (std::int64_t t = 0; t < tokens; ++t) {
    double sum = 0;
    for (std::int64_t s = 0; s < 5; ++s) sum += seen.probabilities.at(t, s);
    CHECK(sum == Approx(1));
  }
  REQUIRE(seen.aligned.size() == 3);
  CHECK(seen.aligned[0].symbol == 3);
  CHECK(seen.aligned[1].symbol == 1);
  CHECK(seen.aligned[2].symbol == 1);
  CHECK(seen.aligned[0].last < seen.aligned[1].first);
  CHECK(seen.aligned[1].last + 1 < seen.aligned[2].first);  // a blank between
  REQUIRE(seen.layers.size() == 2);
  for (const AttentionMap& map : seen.layers) {
    CHECK(map.heads == 2);
    CHECK(map.n == tokens);
    double row = 0;
    for (std::int64_t key = 0; key < tokens; ++key)
      row += map.values[static_cast<std::size_t>(key)];
    CHECK(row == Approx(1).epsilon(1e-3));
  }
  CHECK(observe_speech(transcriber, features, {}, 0).aligned.empty());
  // More symbols than there are tokens: no path says them.
  const std::vector<std::int64_t> many(static_cast<std::size_t>(tokens + 1), 2);
  CHECK(observe_speech(transcriber, features, many, 0).aligned.empty());
  CHECK_THROWS_WITH(
      observe_speech(transcriber, random_tensor({1, 5, 16}, 5, DType::kFloat32), {}, 0),
      "recording: has 5 frames of features, of which the network makes no frame of symbols; "
      "expected a longer one");
}
