#include "training/trainer.h"

#include <catch2/catch.hpp>

#include <cmath>

#include "base/error.h"
#include "tests/support/tensors.h"
#include "tests/training/run_bytes.h"
#include "tests/training/toy_task.h"

using namespace fovea;
using schema::Value;
using training::Trainer;
using training::TrainerSetup;

namespace {

std::vector<double> all_weights(training::Task& task) {
  std::vector<double> values;
  for (const auto& [name, tensor] : nn::named_tensors(task.model())) {
    for (const double value : test::to_doubles(tensor)) values.push_back(value);
  }
  return values;
}

std::vector<Value> log_lines(const io::fs::path& folder) {
  std::vector<Value> lines;
  std::istringstream stream(io::read_text(folder / "metrics.jsonl"));
  for (std::string line; std::getline(stream, line);) lines.push_back(schema::parse(line, "log"));
  return lines;
}

}  // namespace

TEST_CASE("trainer: learns, logs, saves and sums up", "[training]") {
  const test::Folder folder("trainer");
  test::ToyTask task(test::cpu(), 0.0);
  TrainerSetup setup = test::toy_setup(folder.path / "run", test::cpu());
  setup.train.epochs = 20;
  setup.train.ema_decay = 0.5;
  setup.about = Value::object({{"version", "1"}});
  Trainer trainer(task, setup);
  CHECK(trainer.total_steps() == 100);
  const Value summary = trainer.run();

  const io::fs::path run = setup.run_folder;
  CHECK(summary == schema::parse(io::read_text(run / "summary.json"), "summary"));
  CHECK(summary.at("steps").as_int() == 100);
  CHECK(summary.at("epochs").as_int() == 20);
  CHECK(summary.at("version").as_string() == "1");
  CHECK(summary.at("parameters").as_int() == 8 * 3 + 8 + 8 * 4 + 4);
  CHECK(summary.at("peak_bytes").as_int() > 0);
  CHECK(summary.at("stop_reason").as_string() == "completed");
  CHECK(summary.at("metrics").at("val").find("ema_loss") != nullptr);
  CHECK(summary.at("metrics").at("test").find("loss") != nullptr);

  const std::vector<Value> lines = log_lines(run);
  const double first = lines.front().at("loss").as_double();
  double last = 0;
  std::int64_t samples = 0;
  for (const Value& line : lines) {
    if (line.at("split").as_string() != "train") continue;
    last = line.at("loss").as_double();
    samples += line.at("samples").as_int();
    for (const char* key : {"step", "epoch", "lr", "grad_norm", "samples_per_s", "time_s"}) {
      CHECK(line.find(key) != nullptr);
    }
  }
  CHECK(samples == 20 * 18);
  CHECK(last < 0.8 * first);
  const std::string csv = io::read_text(run / "metrics.csv");
  CHECK(
      csv.starts_with("epoch,train_loss,val_loss,val_score,val_ema_loss,val_ema_score,test_loss"));
  CHECK(std::count(csv.begin(), csv.end(), '\n') == 21);  // 20 epochs, header
  CHECK(io::fs::exists(test::in_checkpoint(run, "ema.safetensors")));
  CHECK(io::fs::exists(test::in_checkpoint(run, "model.safetensors", "best")));
  CHECK_FALSE(io::fs::exists(run / "run.lock"));
}

TEST_CASE("trainer: a run that another program took over is written to no more", "[training]") {
  // As one that was suspended sees it: everything goes on, but its claim is another's.
  struct Takeover final : training::ProgressSink {
    io::fs::path run;
    std::string after;  // what is in the folder from then on
    void update(const training::Progress& progress) override {
      if (progress.step != 7) return;
      io::write_atomic(run / "run.lock", "process 1\nhost elsewhere\ntoken 0123456789abcdef\n");
      after = test::run_bytes(run);
    }
    void message(const std::string&) override {}
  };
  const test::Folder folder("taken_over");
  test::ToyTask task(test::cpu());
  TrainerSetup setup = test::toy_setup(folder.path, test::cpu());
  Takeover takeover;
  takeover.run = folder.path;
  setup.progress = &takeover;
  {
    Trainer trainer(task, setup);
    CHECK_THROWS_WITH(trainer.run(), Catch::Contains("the run was taken over by process 1 on "
                                                     "elsewhere while this process gave no sign"));
  }
  CHECK_FALSE(takeover.after.empty());
  CHECK(test::run_bytes(folder.path) == takeover.after);
  CHECK(io::fs::exists(folder.path / "run.lock"));  // the other's
}

TEST_CASE("trainer: k batches of b make the step of one batch of k b", "[training]") {
  const auto train = [](std::int64_t batch, std::int64_t accumulate) {
    const test::Folder folder("accumulate");
    // 18 samples: the last group is incomplete, and so is its last batch.
    test::ToyTask task(test::cpu(), 0.0, {.batch = batch});
    TrainerSetup setup = test::toy_setup(folder.path, test::cpu());
    setup.train.grad_accum_steps = accumulate;
    Trainer trainer(task, setup);
    trainer.run();
    std::vector<double> weights = all_weights(task);
    weights.pop_back();  // the buffer counts forward passes
    return weights;
  };
  const std::vector<double> whole = train(8, 1);
  const std::vector<double> parts = train(4, 2);
  const std::vector<double> other = train(4, 1);
  REQUIRE(whole.size() == parts.size());
  double difference = 0;
  double control = 0;
  for (std::size_t i = 0; i < whole.size(); ++i) {
    difference = std::max(difference, std::abs(whole[i] - parts[i]));
    control = std::max(control, std::abs(whole[i] - other[i]));
  }
  CHECK(difference < 1e-4);
  CHECK(control > 1e-2);
}

TEST_CASE("trainer: a value that is not finite stops the run before the update", "[training]") {
  const test::Folder folder("nan");
  test::ToyTask task(test::cpu());
  const TrainerSetup setup = test::toy_setup(folder.path, test::cpu());
  SECTION("an input") {
    task.values().poisoned = 7;
    const std::vector<double> before = all_weights(task);
    Trainer trainer(task, setup);
    CHECK_THROWS_WITH(trainer.run(),
                      Catch::Matches("step [0-4]: loss is .*; first non-finite value: "
                                     "fc1 linear output \\(forward\\); replay saved "
                                     "in nan-step-[0-4]/"));
    for (const double value : all_weights(task)) CHECK(std::isfinite(value));
    const std::int64_t step = trainer.state().step;
    if (step == 0) CHECK(all_weights(task).front() == before.front());
    const auto batches =
        io::fs::path(folder.path) / ("nan-step-" + std::to_string(step)) / "batches.safetensors";
    CHECK(read_safetensors(batches, test::cpu()).tensors.contains("0/image"));
  }
  SECTION("a gradient") {
    // Finite logits and loss, but the gradient of the first layer overflows float32.
    task.values().scale = 1e37;
    for (const auto& [name, tensor] : nn::named_tensors(task.model())) {
      if (name == "fc1.weight") {
        for (float& value : tensor.values<float>()) value *= 1e-37f;
      }
      if (name == "head.weight") {
        for (float& value : tensor.values<float>()) value *= 100.0f;
      }
    }
    Trainer trainer(task, setup);
    CHECK_THROWS_WITH(trainer.run(), Catch::Contains("gradient norm is") &&
                                         Catch::Contains("fc1 linear gradient (backward)"));
  }
  SECTION("with every operation checked") {
    TrainerSetup checked = setup;
    checked.train.detect_anomaly = true;
    task.values().poisoned = 7;
    Trainer trainer(task, checked);
    CHECK_THROWS_WITH(trainer.run(), Catch::Matches("step [0-4]: first non-finite value.*"));
  }
  const auto last = training::CheckpointStore(folder.path).load("last", test::cpu());
  CHECK(last.state.step == 0);
}

TEST_CASE("trainer: early stopping counts evaluations and reports the best", "[training]") {
  const test::Folder folder("early");
  test::ToyTask task(test::cpu(), 0.0);
  TrainerSetup setup = test::toy_setup(folder.path, test::cpu());
  setup.train.epochs = 50;
  setup.train.patience = 3;
  setup.train.min_delta = 1e6;  // nothing counts as an improvement after the first
  Trainer trainer(task, setup);
  const Value summary = trainer.run();
  CHECK(summary.at("epochs").as_int() == 4);
  CHECK(summary.at("best").at("epoch").as_int() == 1);
  CHECK(Catch::Contains("early stopping: val loss").match(summary.at("stop_reason").as_string()));
  // test was evaluated with the weights of the first epoch
  training::CheckpointStore store(folder.path);
  const auto best = store.load("best", test::cpu());
  CHECK(best.state.step == 5);
  CHECK(test::to_doubles(best.model.at("head.bias")) ==
        test::to_doubles(nn::named_tensors(task.model()).at("head.bias")));
}

TEST_CASE("trainer: steps instead of epochs, kept checkpoints, another monitor", "[training]") {
  const test::Folder folder("steps");
  test::ToyTask task(test::cpu());
  TrainerSetup setup = test::toy_setup(folder.path, test::cpu());
  setup.train.steps = 12;
  setup.train.keep_every = 1;
  setup.train.monitor = "score";
  Trainer trainer(task, setup);
  const Value summary = trainer.run();
  CHECK(summary.at("steps").as_int() == 12);
  CHECK(summary.at("epochs").as_int() == 3);
  CHECK(summary.at("best").at("metric").as_string() == "score");
  CHECK(io::fs::exists(folder.path / "checkpoints" / "step-00000005"));
  CHECK(io::fs::exists(folder.path / "checkpoints" / "step-00000010"));

  const test::Folder other("monitor");
  TrainerSetup wrong = test::toy_setup(other.path, test::cpu());
  wrong.train.monitor = "accuracy";
  // Said before anything is trained or written.
  CHECK_THROWS_WITH(Trainer(task, wrong),
                    "train.monitor: no metric called \"accuracy\" (known: loss, score)");
  wrong.train.monitor = "ema_score";
  CHECK_THROWS_WITH(Trainer(task, wrong),
                    Catch::EndsWith("averaged weights need train.ema_decay)"));
  wrong.train.ema_decay = 0.5;
  CHECK_NOTHROW(Trainer(task, wrong));
}

TEST_CASE("trainer: folders with and without a run are told apart", "[training]") {
  const test::Folder folder("folders");
  test::ToyTask task(test::cpu());
  TrainerSetup setup = test::toy_setup(folder.path / "run", test::cpu());
  setup.resume = true;
  CHECK_THROWS_WITH(Trainer(task, setup).run(), Catch::Contains("no run to resume"));
  setup.resume = false;
  setup.train.steps = 2;
  Trainer(task, setup).run();
  CHECK_THROWS_WITH(Trainer(task, setup).run(), Catch::Contains("--resume"));
  setup.resume = true;
  setup.identity = [](const Value& stored) {
    Value config = stored;
    config.find("train")->erase("num_workers");
    return config;
  };
  setup.config.find("train")->set("num_workers", 8);
  CHECK_NOTHROW(Trainer(task, setup).run());
  setup.config.find("train")->set("epochs", 5);
  CHECK_THROWS_WITH(Trainer(task, setup).run(), Catch::Contains("train.epochs: 4 -> 5"));
  // The checkpoint knows its configuration itself, also without config.json.
  io::remove_all(folder.path / "run" / "config.json");
  CHECK_THROWS_WITH(Trainer(task, setup).run(), Catch::Contains("step-00000002: this run began") &&
                                                    Catch::Contains("train.epochs: 4 -> 5"));
}

TEST_CASE("trainer: a dry run reports one step and leaves nothing behind", "[training]") {
  const test::Folder folder("dry");
  test::ToyTask task(test::cpu(), 0.0);
  const std::vector<double> before = all_weights(task);
  Trainer trainer(task, test::toy_setup(folder.path / "run", test::cpu()));
  const training::DryRun report = trainer.dry_run();
  CHECK(report.parameters == 68);
  CHECK(report.total_steps == 20);
  CHECK(std::isfinite(report.loss));
  CHECK(report.grad_norm > 0);
  CHECK(report.peak_bytes > 0);
  CHECK(report.files.size() >= 8);
  CHECK_FALSE(io::fs::exists(folder.path / "run"));
  std::vector<double> after = all_weights(task);
  after.back() = before.back();  // forward passes
  CHECK(after == before);
  test::ToyTask broken(test::cpu(), 0.0, {.batch = 18});
  broken.values().poisoned = 7;
  Trainer failing(broken, test::toy_setup(folder.path / "run", test::cpu()));
  CHECK_THROWS_AS(failing.dry_run(), NumericError);
  CHECK_FALSE(io::fs::exists(folder.path / "run"));
}
