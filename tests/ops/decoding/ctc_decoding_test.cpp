#include "ops/decoding/ctc_decoding.h"

#include <catch2/catch.hpp>

#include <algorithm>
#include <cmath>
#include <map>

#include "base/error.h"
#include "tensor/random.h"

using namespace fovea;

namespace {

using Numbers = std::vector<std::int64_t>;

std::vector<float> random_logits(std::int64_t frames, std::int64_t symbols, std::uint64_t seed) {
  const RandomStream random(seed);
  std::vector<float> values;
  for (std::int64_t i = 0; i < frames * symbols; ++i)
    values.push_back(static_cast<float>(1.5 * random.normal(static_cast<std::uint64_t>(i))));
  return values;
}

Numbers collapsed(const Numbers& path) {
  Numbers target;
  for (std::size_t t = 0; t < path.size(); ++t) {
    if (path[t] != 0 && (t == 0 || path[t] != path[t - 1])) target.push_back(path[t]);
  }
  return target;
}

// log p of every path, by the sequence it becomes: {sum, that of the likeliest path}.
struct Sums {
  double sum = 0, best = 0;
  Numbers path;
};
std::map<Numbers, Sums> all_paths(const ops::FrameLogits& logits) {
  const std::int64_t frames = logits.frames(), symbols = logits.symbols;
  std::vector<double> p;
  for (std::int64_t t = 0; t < frames; ++t) {
    double total = 0;
    for (std::int64_t k = 0; k < symbols; ++k)
      total += std::exp(double{logits.values[static_cast<std::size_t>(t * symbols + k)]});
    for (std::int64_t k = 0; k < symbols; ++k)
      p.push_back(std::exp(double{logits.values[static_cast<std::size_t>(t * symbols + k)]}) /
                  total);
  }
  std::map<Numbers, Sums> all;
  Numbers path(static_cast<std::size_t>(frames), 0);
  while (true) {
    double product = 1;
    for (std::int64_t t = 0; t < frames; ++t)
      product *= p[static_cast<std::size_t>(t * symbols + path[static_cast<std::size_t>(t)])];
    Sums& sums = all[collapsed(path)];
    sums.sum += product;
    if (product > sums.best) {
      sums.best = product;
      sums.path = path;
    }
    std::size_t digit = 0;
    while (digit < path.size() && ++path[digit] == symbols) path[digit++] = 0;
    if (digit == path.size()) return all;
  }
}

}  // namespace

TEST_CASE("ctc_greedy: repeats are merged and blanks dropped", "[ops]") {
  const auto frames = [](const Numbers& path) {
    std::vector<float> values(path.size() * 4, 0.0f);
    for (std::size_t t = 0; t < path.size(); ++t)
      values[t * 4 + static_cast<std::size_t>(path[t])] = 1;
    return values;
  };
  const auto decoded = [&](const Numbers& path) {
    const std::vector<float> values = frames(path);
    return ops::ctc_greedy({values, 4});
  };
  CHECK(decoded({0, 1, 1, 0, 1, 2, 2, 3, 0}) == Numbers{1, 1, 2, 3});
  CHECK(decoded({0, 0}) == Numbers{});
  CHECK(decoded({}) == Numbers{});
  CHECK(decoded({3}) == Numbers{3});
  // The first of equal ones, which is the blank here.
  const std::vector<float> equal(4, 0.5f);
  CHECK(ops::ctc_greedy({equal, 4}) == Numbers{});
  CHECK(ops::ctc_greedy({equal, 4, 1}) == Numbers{0});
}

TEST_CASE("ctc_beam_search: a wide beam finds what the sum over all paths gives", "[ops]") {
  for (const std::uint64_t seed : {1u, 2u, 3u, 4u, 5u}) {
    CAPTURE(seed);
    const std::vector<float> values = random_logits(6, 3, seed);
    const ops::FrameLogits logits{values, 3};
    std::vector<std::pair<double, Numbers>> expected;
    for (const auto& [target, sums] : all_paths(logits)) expected.emplace_back(sums.sum, target);
    std::sort(expected.rbegin(), expected.rend());
    const auto found = ops::ctc_beam_search(logits, {.width = 1000, .threshold = 1000});
    REQUIRE(found.size() == expected.size());
    for (std::size_t i = 0; i < 5; ++i) {
      CHECK(found[i].symbols == expected[i].second);
      CHECK(found[i].score == Approx(std::log(expected[i].first)).epsilon(1e-9));
    }
  }
}

TEST_CASE("ctc_beam_search: a narrow beam is no better, and a single prefix is enough to go on",
          "[ops]") {
  const std::vector<float> values = random_logits(12, 5, 7);
  const ops::FrameLogits logits{values, 5};
  double last = -1e9;
  for (const std::int64_t width : {1, 3, 30, 3000}) {
    const auto found = ops::ctc_beam_search(logits, {.width = width, .threshold = 1000});
    CHECK(std::ssize(found) <= width);
    CHECK(found.front().score >= last - 1e-12);
    last = found.front().score;
  }
  CHECK(ops::ctc_beam_search({{}, 5}, {}).front().symbols == Numbers{});
  CHECK_THROWS_WITH(ops::ctc_beam_search(logits, {.width = 0}),
                    "ctc decoding: width 0; expected 1 or more");
  CHECK_THROWS_AS(ops::ctc_greedy({values, 7}), ShapeError);
}

TEST_CASE("ctc_beam_search: a language model changes the choice between near-equal sequences",
          "[ops]") {
  // Frames that cannot tell 1 from 2 behind a clear 3.
  const std::vector<float> values = {0, -9, -9, 9, 9, -9, -9, 0, 0, 5, 5.01f, -9};
  const ops::FrameLogits logits{values, 4};
  CHECK(ops::ctc_beam_search(logits, {}).front().symbols == Numbers{3, 2});
  const ops::NgramModel language({{3, 1}, {3, 1}, {3, 1}, {2}}, 2, 4);
  const auto found =
      ops::ctc_beam_search(logits, {.language = &language, .language_weight = 1}).front();
  CHECK(found.symbols == Numbers{3, 1});
  const auto bonus = ops::ctc_beam_search(
      logits, {.language = &language, .language_weight = 1, .symbol_bonus = 0.25});
  CHECK(bonus.front().score == Approx(found.score + 0.5));
}

TEST_CASE("ctc_alignment: it is the likeliest path to the target", "[ops]") {
  for (const std::uint64_t seed : {11u, 12u, 13u}) {
    const std::vector<float> values = random_logits(6, 3, seed);
    const ops::FrameLogits logits{values, 3};
    for (const auto& [target, sums] : all_paths(logits)) {
      CAPTURE(seed, target);
      const Numbers places = ops::ctc_alignment(logits, target);
      REQUIRE(places.size() == 6);
      Numbers path;
      for (const std::int64_t place : places)
        path.push_back(place < 0 ? 0 : target[static_cast<std::size_t>(place)]);
      CHECK(path == sums.path);
    }
  }
  const std::vector<float> two(6, 0.0f);
  CHECK(ops::ctc_alignment({two, 3}, {1, 1}).empty());
  CHECK(ops::ctc_alignment({two, 3}, {1, 2}) == Numbers{0, 1});
}

TEST_CASE("ngram: probabilities of everything that may follow sum to one", "[ops]") {
  const std::vector<Numbers> sentences = {{0, 1, 2}, {0, 1}, {2, 2, 1, 0}, {}};
  for (const std::int64_t order : {1, 2, 3, 5}) {
    CAPTURE(order);
    const ops::NgramModel model(sentences, order, 4);
    ops::NgramModel::State state = model.start();
    for (const std::int64_t symbol : {0, 1, 3, 2, 2}) {
      double sum = std::exp(model.log_p_end(state));
      for (std::int64_t next = 0; next < 4; ++next) sum += std::exp(model.next(state, next).log_p);
      CHECK(sum == Approx(1));
      state = model.next(state, symbol).state;
    }
  }
}

TEST_CASE("ngram: counts with Witten and Bell's share for what is new", "[ops]") {
  const ops::NgramModel model({{0, 1}, {0, 1}, {0, 2}}, 2, 3);
  // Unigrams: 0 three times, 1 twice, 2 once, the end three times: 9 of 4 kinds.
  const auto unigram = [](double count) { return (count + 4 * 0.25) / (9 + 4); };
  // Behind the start always 0: 3 of 1 kind.
  const auto first = model.next(model.start(), 0);
  CHECK(std::exp(first.log_p) == Approx((3 + unigram(3)) / 4));
  // Behind 0: 1 twice, 2 once.
  CHECK(std::exp(model.next(first.state, 1).log_p) == Approx((2 + 2 * unigram(2)) / 5));
  CHECK(std::exp(model.next(first.state, 0).log_p) == Approx(2 * unigram(3) / 5));
  CHECK(model.perplexity({{0, 1}}) < model.perplexity({{2, 0}}));
  CHECK(ops::NgramModel({}, 3, 4).perplexity({{1, 2}}) == Approx(5));
  CHECK_THROWS_WITH(ops::NgramModel({{4}}, 2, 4), "ngram: symbol 4; expected 0 to 3");
  CHECK_THROWS_AS(ops::NgramModel({}, 0, 4), ShapeError);
}
