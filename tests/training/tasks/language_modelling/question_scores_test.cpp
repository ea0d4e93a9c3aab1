#include "training/tasks/language_modelling/question_scores.h"

#include <catch2/catch.hpp>

#include <cmath>

#include "autograd/mode.h"
#include "backend/devices.h"
#include "base/error.h"
#include "data/registry.h"
#include "data/streams/stream_dataset.h"
#include "tests/support/tensors.h"
#include "tests/training/toy_task.h"
#include "training/tasks/language_modelling/language_modelling.h"

using namespace fovea;
using training::LanguageModelling;

namespace {

constexpr std::int64_t kContext = 24;

// An untrained model of bytes, and a task on a little text.
struct Asked {
  test::Folder folder{"questions"};
  Device device = make_cpu(2);
  std::unique_ptr<models::Model> model;
  std::unique_ptr<LanguageModelling> task;

  explicit Asked(std::int64_t batch_size = 3) {
    io::make_directories(folder.path / "data");
    io::write_atomic(folder.path / "data/train.txt", "some text to be read\n");
    io::write_atomic(folder.path / "data/test.txt", "and some other text\n");
    schema::Value options = schema::Value::object({{"type", "text_stream"}, {"context", kContext}});
    options.set("root", (folder.path / "data").string());
    models::DataShape shape;
    shape.vocab_size = 256;
    shape.max_len = kContext;
    model = models::make_model(
        test::component(R"({"type": "language_model", "embed_dim": 16, "depth": 1, "hidden_dim": 16,
                            "attention": {"type": "softmax", "num_heads": 2}})"),
        {device, DType::kFloat32, RandomStream(3).fork("init"), nn::Init::kTorch}, shape);
    // Logits of an untrained model are nearly equal; larger ones show more.
    for (const auto& parameter : model->parameters()) {
      Tensor tensor = parameter.tensor;
      auto* values = tensor.data<float>();
      for (std::int64_t i = 0; i < tensor.numel(); ++i) values[i] *= 3;
    }
    model->train(false);
    training::BatchOptions batches;
    batches.train.batch_size = batch_size;
    batches.host = device;
    task = std::make_unique<LanguageModelling>(
        *model, std::make_shared<training::BatchSource>(data::make_splits({"text_stream", options}),
                                                        batches));
  }

  schema::Component set(const std::string& type, const std::string& lines,
                        const std::string& labels = "") const {
    schema::Value options = schema::Value::object({{"type", type}});
    io::write_atomic(folder.path / (type + ".jsonl"), lines);
    options.set("file", (folder.path / (type + ".jsonl")).string());
    if (!labels.empty()) {
      io::write_atomic(folder.path / "labels.lst", labels);
      options.set("labels", (folder.path / "labels.lst").string());
    }
    return {type, options};
  }

  struct Plain {
    double log_likelihood = 0;
    bool greedy = true;
  };
  // By a plain forward pass over the bytes of both, at most the last ones.
  Plain plain(const std::string& context, const std::string& text) const {
    const autograd::NoGrad no_grad;
    std::string all = context + text;
    if (std::ssize(all) > kContext + 1) all = all.substr(all.size() - kContext - 1);
    std::vector<std::int64_t> ids;
    for (const char c : all) ids.push_back(static_cast<unsigned char>(c));
    models::Inputs inputs;
    inputs.tokens = Tensor::from(ids, {1, std::ssize(ids)}, device);
    const Tensor logits = (*model)(inputs).logits;
    Plain result;
    const std::size_t scored = std::min(text.size(), all.size() - 1);
    for (std::size_t i = all.size() - scored; i < all.size(); ++i) {
      const float* row = logits.data<float>() + (i - 1) * 256;
      double sum = 0;
      for (int k = 0; k < 256; ++k) sum += std::exp(double(row[k]));
      result.log_likelihood += double(row[ids[i]]) - std::log(sum);
      if (std::max_element(row, row + 256) - row != ids[i]) result.greedy = false;
    }
    return result;
  }
};

}  // namespace

TEST_CASE("questions: log likelihoods are those of a plain forward pass", "[training]") {
  const std::int64_t batch_size = GENERATE(1, 3, 40);
  Asked asked(batch_size);
  const std::vector<std::pair<std::string, std::string>> words = {
      {"the cat sat on the", " mat"},
      {"to be or not to", " be"},
      {"a rose is a rose is a", " rose"}};
  std::string lambada, hellaswag, piqa, winogrande;
  for (const auto& [context, word] : words) lambada += "{\"text\": \"" + context + word + "\"}\n";
  hellaswag =
      R"({"activity_label": "A", "ctx": "we go", "endings": ["home", "to the sea and back", "x"], "label": 1})"
      "\n"
      R"({"activity_label": "B", "ctx": "they", "endings": ["sing a song", "run", "of"], "label": 0})"
      "\n";
  piqa = R"({"goal": "drink", "sol1": "a cup", "sol2": "a shoe of tea"})"
         "\n";
  winogrande = R"({"sentence": "the _ fell", "option1": "cup", "option2": "sky", "answer": "1"})"
               "\n";
  asked.task->set_questions({asked.set("lambada", lambada), asked.set("hellaswag", hellaswag),
                             asked.set("piqa", piqa, "1\n"), asked.set("winogrande", winogrande)});
  const training::Metrics measured = asked.task->measure(data::Split::kTest, std::nullopt);

  double nats = 0, right = 0;
  for (const auto& [context, word] : words) {
    const Asked::Plain plain = asked.plain(context, word);
    nats -= plain.log_likelihood;
    right += plain.greedy ? 1 : 0;
  }
  CHECK(metrics::value_of(measured, "lambada_perplexity") ==
        Approx(std::exp(nats / 3)).epsilon(1e-4));
  CHECK(metrics::value_of(measured, "lambada_acc") == Approx(100 * right / 3));

  const auto best = [&](const std::vector<std::pair<std::string, std::string>>& choices,
                        bool per_byte) {
    std::vector<double> scores;
    for (const auto& [context, text] : choices) {
      const double sum = asked.plain(context, " " + text).log_likelihood;
      scores.push_back(per_byte ? sum / double(text.size()) : sum);
    }
    return std::max_element(scores.begin(), scores.end()) - scores.begin();
  };
  const std::vector<std::pair<std::string, std::string>> first = {
      {"A: we go", "home"}, {"A: we go", "to the sea and back"}, {"A: we go", "x"}};
  const std::vector<std::pair<std::string, std::string>> second = {
      {"B: they", "sing a song"}, {"B: they", "run"}, {"B: they", "of"}};
  CHECK(metrics::value_of(measured, "hellaswag_acc") ==
        50.0 * ((best(first, false) == 1) + (best(second, false) == 0)));
  CHECK(metrics::value_of(measured, "hellaswag_acc_norm") ==
        50.0 * ((best(first, true) == 1) + (best(second, true) == 0)));
  const std::string goal = "Question: drink\nAnswer:";
  CHECK(metrics::value_of(measured, "piqa_acc") ==
        100.0 * (best({{goal, "a cup"}, {goal, "a shoe of tea"}}, false) == 1));
  CHECK(metrics::value_of(measured, "winogrande_acc") ==
        100.0 * (best({{"the cup", "fell"}, {"the sky", "fell"}}, false) == 0));

  // What a list of metrics promises is measured.
  std::vector<std::string> promised, there;
  for (const auto& info : asked.task->metrics()) promised.push_back(info.name);
  for (const auto& one : measured) there.push_back(one.info.name);
  CHECK(promised == there);
  const training::Report report = asked.task->report({.split = data::Split::kTest});
  CHECK(report.metrics == measured);
  const schema::Value& facts = report.details.at("questions");
  CHECK(facts.at("hellaswag").at("questions").as_int() == 2);
  CHECK(facts.at("hellaswag").at("cut_contexts").as_int() == 1);
  CHECK(facts.at("piqa").at("cut_contexts").as_int() == 2);
  CHECK(facts.at("piqa").at("cut_continuations").as_int() == 0);
}

TEST_CASE("questions: a word is right where each of its tokens is the most probable",
          "[training]") {
  const Asked asked;
  // Behind a blank comes an a, behind all else a blank.
  const auto network = [&](const Tensor& tokens) {
    const auto ids = tokens.host_values<std::int64_t>();
    std::vector<float> logits(ids.size() * 256, 0.0f);
    for (std::size_t i = 0; i < ids.size(); ++i) logits[i * 256 + (ids[i] == ' ' ? 'a' : ' ')] = 4;
    return Tensor::from(logits, {tokens.size(0), tokens.size(1), 256}, asked.device);
  };
  const auto score = [&](const std::string& lines) {
    return training::QuestionScorer({asked.set("lambada", lines)}, *data::byte_tokeniser(),
                                    kContext)
        .measure(network, 2, asked.device);
  };
  const double other = std::log(std::exp(4.0) + 255), foreseen = other - 4;
  const auto right = score("{\"text\": \"x y a\"}\n");
  CHECK(metrics::value_of(right, "lambada_acc") == 100);
  CHECK(metrics::value_of(right, "lambada_perplexity") == Approx(std::exp(2 * foreseen)));
  const auto both = score("{\"text\": \"x y a\"}\n{\"text\": \"x y ab\"}\n");
  CHECK(metrics::value_of(both, "lambada_acc") == 50);
  CHECK(metrics::value_of(both, "lambada_perplexity") ==
        Approx(std::exp(2 * foreseen + other / 2)));
}

TEST_CASE("questions: what cannot be asked is refused", "[training]") {
  Asked asked;
  const schema::Component set = asked.set("lambada", "{\"text\": \"a b\"}\n");
  CHECK_THROWS_WITH(asked.task->set_questions({set, set}),
                    "eval.questions: lambada is given twice");
  CHECK_THROWS_WITH(training::question_metrics({{"arc", {}}}), Catch::Contains("arc"));
  CHECK_THROWS_WITH(
      asked.task->set_questions(
          {asked.set("hellaswag",
                     R"({"activity_label": "A", "ctx": "b", "endings": ["d", "e"], "label": 7})")}),
      Catch::Contains("hellaswag.jsonl, line 1: the right answer is 7"));
  asked.task->set_questions({});
  CHECK(asked.task->measure(data::Split::kTest, std::nullopt).size() == 3);
}
