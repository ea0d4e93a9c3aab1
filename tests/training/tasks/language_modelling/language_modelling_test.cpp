#include "training/tasks/language_modelling/language_modelling.h"

#include <catch2/catch.hpp>

#include <atomic>
#include <cmath>

#include "autograd/mode.h"
#include "backend/devices.h"
#include "base/error.h"
#include "data/registry.h"
#include "data/streams/stream_dataset.h"
#include "tests/support/tensors.h"
#include "tests/training/run_bytes.h"
#include "tests/training/toy_task.h"

using namespace fovea;
using training::LanguageModelling;

namespace {

// A text whose letters follow one another.
std::string rhyme(int lines) {
  std::string text;
  for (int i = 0; i < lines; ++i) text += i % 3 == 0 ? "abcdefgh\n" : "abcdabcd\n";
  return text;
}

// A language model, a task and a trainer on one folder.
struct Writer {
  data::Splits data;
  Device device;
  std::unique_ptr<models::Model> model;
  std::unique_ptr<LanguageModelling> task;
  training::TrainerSetup trainer;

  explicit Writer(const io::fs::path& folder, const std::string& attention = "mala",
                  int threads = 1)
      : device(make_cpu(threads)), trainer(test::toy_setup(folder / "run", device)) {
    io::make_directories(folder / "data");
    io::write_atomic(folder / "data/train.txt", rhyme(60));
    io::write_atomic(folder / "data/test.txt", rhyme(11));
    data = data::make_splits(test::component(R"({"type": "text_stream", "context": 12, "root": ")" +
                                             (folder / "data").string() + "\"}"));
    models::DataShape shape;
    shape.vocab_size = 256;
    shape.max_len = 12;
    model = models::make_model(
        test::component(R"({"type": "language_model", "embed_dim": 16, "depth": 1, "hidden_dim": 16,
                            "drop_rate": 0.1, "attention": {"type": ")" +
                        attention + R"(", "num_heads": 2}})"),
        {device, DType::kFloat32, RandomStream(1).fork("init"), nn::Init::kTorch}, shape);
    training::BatchOptions options;
    options.train.batch_size = 8;
    options.seed = 7;
    options.host = device;
    task = std::make_unique<LanguageModelling>(
        *model, std::make_shared<training::BatchSource>(data, options));
    trainer.optimizer = test::component(R"({"type": "adamw", "lr": 0.02})");
    trainer.train.epochs = 3;
    trainer.train.clip_grad = 0;
    trainer.seed = 7;
  }
  schema::Value run() { return training::Trainer(*task, trainer).run(); }
};

}  // namespace

TEST_CASE("language modelling: it learns which letter follows", "[training]") {
  const test::Folder folder("language-learns");
  Writer writer(folder.path);
  writer.trainer.train.epochs = 25;
  const double before = metrics::value_of(writer.task->measure(data::Split::kTest, std::nullopt),
                                          metrics::kBitsPerByte.name);
  writer.run();
  writer.model->train(false);
  const double after = metrics::value_of(writer.task->measure(data::Split::kTest, std::nullopt),
                                         metrics::kBitsPerByte.name);
  CHECK(before > 7);
  CHECK(after < 1.5);  // of nine letters alone 3.2
}

TEST_CASE("language modelling: metrics count every byte of a text but the first", "[training]") {
  const test::Folder folder("language-metrics");
  Writer writer(folder.path);
  const auto measured = writer.task->measure(data::Split::kTest, std::nullopt);
  const double loss = metrics::value_of(measured, "loss");
  CHECK(metrics::value_of(measured, "perplexity") == Approx(std::exp(loss)));
  CHECK(metrics::value_of(measured, "bits_per_byte") == Approx(loss / std::log(2.0)));

  const training::Report report = writer.task->report({.split = data::Split::kTest});
  CHECK(report.metrics == measured);
  CHECK(report.indices.size() == 9);
  CHECK(report.details.at("tokens").as_int() == 11 * 9 - 1);
  CHECK(report.details.at("bytes").as_int() == 11 * 9 - 1);
  const training::Table& table = report.tables.at(0);
  const auto& tokens = std::get<0>(table.columns[1].values);
  const auto& losses = std::get<1>(table.columns[2].values);
  REQUIRE(tokens.size() == 12);
  CHECK(tokens[0] == 9);
  CHECK(tokens[11] == 8);
  double nats = 0;
  for (std::size_t i = 0; i < tokens.size(); ++i) nats += losses[i] * double(tokens[i]);
  CHECK(nats / 98 == Approx(loss));
  CHECK(report.curves.at(0).curves.at(0).x.size() == 12);
}

TEST_CASE("language modelling: a run that was stopped goes on to the same bytes", "[training]") {
  const char* attention = GENERATE("softmax", "mala");
  const auto setup = [](Writer& writer) {
    writer.trainer.train.eval_every_steps = 4;
    writer.trainer.train.checkpoint_every_steps = 3;
    writer.trainer.train.log_every = 5;
    writer.trainer.train.select_on = training::SelectOn::kTest;
  };
  const test::Folder straight("language-straight");
  Writer whole(straight.path, attention);
  setup(whole);
  whole.run();
  const std::string expected = test::run_bytes(straight.path / "run");

  // Interrupted after the fifth step.
  const test::Folder stopped(std::string("language-stopped"));
  class Stop final : public training::ProgressSink {
   public:
    std::atomic<bool> stop = false;
    void update(const training::Progress& progress) override { stop = progress.step == 5; }
    void message(const std::string&) override {}
  };
  Stop stop;
  Writer first(stopped.path, attention);
  setup(first);
  first.trainer.progress = &stop;
  first.trainer.stop = &stop.stop;
  CHECK_THROWS_AS(first.run(), Interrupted);
  Writer second(stopped.path, attention, 3);
  setup(second);
  second.trainer.resume = true;
  second.run();
  CHECK(test::run_bytes(stopped.path / "run") == expected);
}

TEST_CASE("language modelling: evaluations by steps", "[training]") {
  const test::Folder folder("language-steps");
  Writer writer(folder.path);
  writer.trainer.train.steps = 10;
  writer.trainer.train.epochs = 99;
  writer.trainer.train.eval_every_steps = 4;
  writer.trainer.train.select_on = training::SelectOn::kTest;
  writer.run();
  std::vector<std::int64_t> steps;
  std::istringstream lines(io::read_text(folder.path / "run/metrics.jsonl"));
  for (std::string line; std::getline(lines, line);) {
    const schema::Value value = schema::parse(line, "metrics.jsonl");
    if (value.at("split").as_string() == "test" && value.find("weights") == nullptr)
      steps.push_back(value.at("step").as_int());
  }
  CHECK(steps == std::vector<std::int64_t>{4, 8, 10});
}

TEST_CASE("language modelling: patience counts evaluations by steps", "[training]") {
  const test::Folder folder("language-patience");
  Writer writer(folder.path);
  writer.trainer.train.min_delta = 100;
  writer.trainer.train.steps = 30;
  writer.trainer.train.eval_every_steps = 2;
  writer.trainer.train.patience = 2;
  writer.trainer.train.select_on = training::SelectOn::kTest;
  const schema::Value summary = writer.run();
  CHECK(summary.at("steps").as_int() == 6);  // the first is the best, two more are not better
}
