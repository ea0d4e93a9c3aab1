#include "training/tasks/transcription/transcription.h"

#include <catch2/catch.hpp>

#include <cmath>
#include <set>

#include "autograd/graph.h"
#include "base/error.h"
#include "base/file.h"
#include "data/registry.h"
#include "models/model.h"
#include "tests/training/toy_task.h"
#include "training/tasks/task_registry.h"

using namespace fovea;
using data::Split;
using training::Transcription;

namespace {

// Words as tones: "do", "re" and "mi", in this order of ids from 2 on where equally frequent.
std::shared_ptr<training::BatchSource> tones(const Device& host) {
  data::Splits splits = data::make_splits(test::component(
      R"({"type": "synthetic_speech", "units": "words", "num_words": 3, "max_words": 3, "word_seconds": 0.7,
          "features": {"num_mels": 8}, "train_size": 10, "test_size": 6})"));
  // What is said is told by the length.
  std::set<std::int64_t> lengths;
  for (std::int64_t i = 0; i < splits.test->size(); ++i) lengths.insert(splits.test->length(i));
  REQUIRE(std::ssize(lengths) == splits.test->size());
  training::BatchOptions options;
  options.train.batch_size = 4;
  options.host = host;
  return std::make_shared<training::BatchSource>(std::move(splits), options);
}

// Knows the truth of the test part by the numbers of frames, and writes what `told` makes of it.
class ToldTranscriber final : public models::Transcriber {
 public:
  using Told = std::function<std::vector<std::int64_t>(std::vector<std::int64_t>)>;
  ToldTranscriber(const Device& host, std::int64_t symbols, const data::SpeechDataset& data,
                  Told told)
      : symbols_(symbols), data_(data), told_(std::move(told)) {
    weight_ = parameter("weight", Tensor::from(std::vector<float>{1}, {1}, host));
  }
  std::string type() const override { return "ToldTranscriber"; }
  std::int64_t frames_of(std::int64_t frames) const override { return frames; }

 protected:
  models::Outputs forward(const models::Inputs& in, attention::Probe*) override {
    const std::int64_t b = in.features.size(0), t = in.features.size(1);
    std::vector<float> logits(static_cast<std::size_t>(b * t * symbols_), 0.0f);
    models::Outputs out;
    const auto frames = in.num_frames.host_values<std::int64_t>();
    for (std::int64_t i = 0; i < b; ++i) {
      out.frames.push_back(frames[static_cast<std::size_t>(i)]);
      std::vector<std::int64_t> path(static_cast<std::size_t>(t), 0);
      std::int64_t at = 0;
      for (const std::int64_t symbol : told_(truth(out.frames.back()))) {
        path[static_cast<std::size_t>(at)] = symbol;
        at += 2;
      }
      for (std::int64_t f = 0; f < t; ++f) {
        const std::int64_t symbol = f < out.frames.back() ? path[static_cast<std::size_t>(f)] : 2;
        logits[static_cast<std::size_t>((i * t + f) * symbols_ + symbol)] = 20;
      }
    }
    out.logits = Tensor::from(logits, {b, t, symbols_}, in.features.device());
    return out;
  }

 private:
  std::vector<std::int64_t> truth(std::int64_t frames) const {
    for (std::int64_t i = 0; i < data_.size(); ++i) {
      if (data_.length(i) == frames) return data_.symbols_of(data_.transcript(i));
    }
    return {};
  }

  std::int64_t symbols_;
  const data::SpeechDataset& data_;
  Told told_;
  Tensor weight_;
};

double metric(const training::Metrics& all, const std::string& name) {
  return metrics::value_of(all, name);
}

}  // namespace

TEST_CASE("transcription: the truth has no errors, a missing word one each", "[training]") {
  const Device host = make_cpu(1);
  const auto source = tones(host);
  const data::SpeechDataset& test = *data::find_speech(source->at(Split::kTest));
  ToldTranscriber model(host, test.vocabulary().size(), test, [](auto truth) { return truth; });
  Transcription task(model, source, {"ctc", {}});
  const auto clean = task.evaluate_in_full(Split::kTest);
  CHECK(clean.indices == std::vector<std::int64_t>{0, 1, 2, 3, 4, 5});
  CHECK(metric(clean.metrics, "wer") == 0);
  CHECK(metric(clean.metrics, "cer") == 0);
  CHECK(metric(clean.metrics, "loss") < 1e-3);
  CHECK(clean.transcripts[2].hypothesis == test.transcript(2));

  ToldTranscriber forgetful(host, test.vocabulary().size(), test, [](auto truth) {
    truth.pop_back();
    return truth;
  });
  Transcription worse(forgetful, source, {"ctc", {}});
  std::int64_t words = 0;
  for (std::int64_t i = 0; i < test.size(); ++i)
    words += std::ssize(metrics::words_of(test.transcript(i)));
  CHECK(metric(worse.measure(Split::kTest, std::nullopt), "wer") ==
        Approx(100.0 * 6 / static_cast<double>(words)));
  const training::Report report = worse.report({.split = Split::kTest});
  CHECK(report.details.at("words").at("deletions").as_int() == 6);
  CHECK(report.details.at("words").at("reference").as_int() == words);
  REQUIRE(report.tables.size() == 1);
  CHECK(report.tables[0].name == "transcripts");
  CHECK_THAT(report.lines.at(0), Catch::Contains("6 deleted"));
}

TEST_CASE("transcription: a beam search with n-grams, and texts of single recordings",
          "[training]") {
  const Device host = make_cpu(1);
  const auto source = tones(host);
  const data::SpeechDataset& test = *data::find_speech(source->at(Split::kTest));
  ToldTranscriber model(host, test.vocabulary().size(), test, [](auto truth) { return truth; });
  Transcription task(model, source, {"ctc", {}});
  task.set_decoding({.beam_width = 4, .ngram_order = 2, .ngram_text = "", .language_weight = 0.1});
  CHECK(metric(task.measure(Split::kTest, std::nullopt), "wer") == 0);
  CHECK(task.report({.split = Split::kTest}).details.at("ngram_perplexity").as_double() > 1);
  CHECK(task.text_of(source->one(Split::kTest, 1)) == test.transcript(1));
  CHECK_THROWS_AS(task.set_decoding({.ngram_order = 2, .ngram_text = "/no/such/file.txt"}),
                  FileError);
}

TEST_CASE("transcription: what does not fit is refused", "[training]") {
  const Device host = make_cpu(1);
  const auto source = tones(host);
  const data::SpeechDataset& test = *data::find_speech(source->at(Split::kTest));
  ToldTranscriber few(host, 3, test, [](auto) { return std::vector<std::int64_t>{}; });
  Transcription task(few, source, {"ctc", {}});
  CHECK_THROWS_AS(task.measure(Split::kTest, std::nullopt), Error);
  CHECK_THROWS_AS(Transcription(few, source, {"cross_entropy", {}}), ConfigError);
}

TEST_CASE("ctc: what its options mean", "[training]") {
  const Device host = make_cpu(1);
  const std::vector<float> values = {0, 1, 2, 1, 0, 1, 2, 2, 1, 0, 0, 0};
  const Tensor symbols = Tensor::from<std::int64_t>({1, 2, 1, 0}, {2, 2}, host);
  const models::Outputs output{.logits = Tensor::from(values, {2, 2, 3}, host), .frames = {2, 1}};
  const auto loss = [&](const std::string& options) {
    return training::scalar_of(training::make_loss(
        test::component(options), training::Compares::kSequences)(output, symbols));
  };
  const auto log_p = [&](std::size_t row, std::size_t symbol) {
    double sum = 0;
    for (std::size_t k = 0; k < 3; ++k) sum += std::exp(double{values[3 * row + k]});
    return double{values[3 * row + symbol]} - std::log(sum);
  };
  const double first = -(log_p(0, 1) + log_p(1, 2)), second = -log_p(2, 1);
  CHECK(loss(R"({"type": "ctc"})") == Approx((first + second) / 2));
  CHECK(loss(R"({"type": "ctc", "reduction": "target_length"})") ==
        Approx((first / 2 + second) / 2));
  CHECK_THROWS_WITH(loss(R"({"type": "ctc", "map_weights": [1]})"),
                    Catch::Contains("loss.map_weights"));
}
