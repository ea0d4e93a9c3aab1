// What chooses the weights of a run, and that the run says so.
#include "training/selection.h"

#include <catch2/catch.hpp>

#include <algorithm>
#include <sstream>

#include "base/error.h"
#include "tests/support/tensors.h"
#include "tests/training/toy_task.h"

using namespace fovea;
using schema::Value;
using training::Select;
using training::SelectOn;
using training::TrainOptions;

namespace {

using Parts = std::vector<data::Split>;
using Names = std::vector<std::string>;
using data::Split;

training::Selection select(const Parts& parts, const TrainOptions& options = {}) {
  return training::select(parts, metrics::kLoss, options);
}

struct Messages final : training::ProgressSink {
  std::string text;
  void update(const training::Progress&) override {}
  void message(const std::string& line) override { text += line + "\n"; }
};

// Eight epochs of five steps.
struct ToyRun {
  test::Folder folder;
  test::ToyTask task;
  training::TrainerSetup setup;
  Messages messages;

  ToyRun(const std::string& name, const Parts& parts)
      : folder("selection_" + name), task(test::cpu(), 0.0, holding_out(parts)) {
    setup = test::toy_setup(folder.path, test::cpu());
    setup.train.epochs = 8;
    setup.progress = &messages;
  }
  // Learning makes the loss fall, so that "the best" is not the last epoch.
  void prefer_high_loss() { setup.train.monitor_mode = training::MonitorMode::kMax; }
  static test::ToySizes holding_out(const Parts& parts) {
    const auto has = [&](Split part) {
      return std::find(parts.begin(), parts.end(), part) != parts.end();
    };
    return {.val = has(Split::kVal), .test = has(Split::kTest)};
  }
  Value run() { return training::Trainer(task, setup).run(); }
  std::string log() const { return io::read_text(folder.path / "log.txt"); }
  bool has_best() const { return io::fs::exists(folder.path / "checkpoints/best"); }
};

double loss_of(const Value& summary, const std::string& part) {
  return summary.at("metrics").at(part).at("loss").as_double();
}

}  // namespace

TEST_CASE("selection: val chooses where there is one, test only on demand", "[training]") {
  const training::Selection val = select({Split::kVal, Split::kTest});
  CHECK(val.on == Split::kVal);
  CHECK(val.best);
  CHECK(val.during == Parts{Split::kVal});
  CHECK(val.reported == Split::kTest);

  const training::Selection none = select({Split::kTest});
  CHECK_FALSE(none.monitored());
  CHECK_FALSE(none.best);
  CHECK(none.during == Parts{Split::kTest});
  CHECK(none.reported == Split::kTest);

  const training::Selection only_val = select({Split::kVal});
  CHECK(only_val.on == Split::kVal);
  CHECK(only_val.reported == Split::kVal);

  TrainOptions test;
  test.select_on = SelectOn::kTest;
  CHECK(select({Split::kTest}, test).on == Split::kTest);
  CHECK(select({Split::kTest}, test).best);
  CHECK(select({Split::kVal, Split::kTest}, test).on == Split::kTest);
  CHECK(select({Split::kVal, Split::kTest}, test).during == Parts{Split::kTest, Split::kVal});
  CHECK_THROWS_WITH(select({Split::kTrain}, test), Catch::Contains("no test part"));
  TrainOptions on_val;
  on_val.select_on = SelectOn::kVal;
  CHECK_THROWS_WITH(select({Split::kTest}, on_val),
                    Catch::Contains("no validation part") && Catch::Contains("dataset.split.val"));
}

TEST_CASE("selection: what needs a part to select on is refused without one", "[training]") {
  const auto refuses = [](const TrainOptions& options, const std::string& name) {
    for (const Parts& parts : {Parts{Split::kTest}, Parts{Split::kTrain}}) {
      CHECK_THROWS_WITH(select(parts, options),
                        Catch::StartsWith(name + ": the data set has no validation part") &&
                            Catch::Contains("dataset.split.val") &&
                            Catch::Contains("train.select_on=test"));
      CHECK_THROWS_AS(select(parts, options), ConfigError);
    }
    CHECK_NOTHROW(select({Split::kVal, Split::kTest}, options));
  };
  TrainOptions options;
  SECTION("select") {
    options.select = Select::kBest;
    refuses(options, "train.select=best");
  }
  SECTION("patience") {
    options.patience = 3;
    refuses(options, "train.patience=3");
  }
  SECTION("monitor") {
    options.monitor = "top1";
    refuses(options, "train.monitor=top1");
  }
  SECTION("several") {
    options.select = Select::kBest;
    options.min_delta = 0.5;
    refuses(options, "train.select=best, train.min_delta=0.5");
  }
}

TEST_CASE("selection: a run that is refused leaves nothing", "[training]") {
  ToyRun toy("refused", {Split::kTest});
  toy.setup.run_folder = toy.folder.path / "run";
  toy.setup.train.select = Select::kBest;
  CHECK_THROWS_AS(toy.run(), ConfigError);
  CHECK_FALSE(io::fs::exists(toy.folder.path / "run"));
}

TEST_CASE("selection: without a validation part the last weights are reported, and nothing is best",
          "[training]") {
  ToyRun toy("none", {Split::kTest});
  const Value summary = toy.run();
  CHECK(summary.at("weights").as_string() == "last");
  CHECK(summary.at("selected_on").is_null());
  CHECK(summary.find("best") == nullptr);
  CHECK(summary.find("last") == nullptr);
  CHECK_FALSE(toy.has_best());
  const std::string said =
      "final numbers: last weights, of step 40 (epoch 8); nothing was selected";
  CHECK_THAT(toy.log(), Catch::Contains(said));
  CHECK_THAT(toy.messages.text, Catch::Contains(said));
  toy.task.model().train(false);
  CHECK(loss_of(summary, "test") == toy.task.measure(Split::kTest, {})[0].value);
  CHECK_THAT(io::read_text(toy.folder.path / "metrics.csv"),
             Catch::StartsWith("epoch,train_loss,test_loss,test_score,lr\n"));
  CHECK_THROWS_WITH(training::CheckpointStore(toy.folder.path).load("best", test::cpu()),
                    Catch::Contains("the run selected nothing"));
}

TEST_CASE("selection: the best weights on val are scored on test once, and all numbers are theirs",
          "[training]") {
  ToyRun toy("val", {Split::kVal, Split::kTest});
  toy.setup.train.ema_decay = 0.6;
  toy.setup.train.monitor = GENERATE("loss", "ema_loss");
  toy.prefer_high_loss();
  const Value summary = toy.run();
  const Value& best = summary.at("best");
  REQUIRE(best.at("step").as_int() < 40);  // else this test would show nothing
  CHECK(summary.at("weights").as_string() == "best");
  CHECK(summary.at("selected_on").as_string() == "val");
  CHECK(best.at("split").as_string() == "val");
  CHECK(best.at("value") == summary.at("metrics").at("val").at(toy.setup.train.monitor));
  CHECK(summary.at("last").at("metrics").at("val") != summary.at("metrics").at("val"));
  const std::string said = "best weights, of step " + std::to_string(best.at("step").as_int()) +
                           " (epoch " + std::to_string(best.at("epoch").as_int()) + ") by val " +
                           toy.setup.train.monitor;
  CHECK_THAT(toy.log(), Catch::Contains(said) && Catch::Contains("; selected on val"));

  // The numbers again, from the checkpoint: plain and averaged weights.
  const auto checkpoint = training::CheckpointStore(toy.folder.path).load("best", test::cpu());
  CHECK(checkpoint.state.step == best.at("step").as_int());
  test::ToyTask again(test::cpu(), 0.0);
  again.model().train(false);
  for (const Split split : {Split::kVal, Split::kTest}) {
    const std::string part(data::name_of(split));
    nn::load_weights(again.model(), checkpoint.model, "best");
    CHECK(loss_of(summary, part) == again.measure(split, {})[0].value);
    nn::load_weights(again.model(), checkpoint.ema, "best");
    CHECK(summary.at("metrics").at(part).at("ema_loss").as_double() ==
          again.measure(split, {})[0].value);
  }

  // The only look at test is in the row and at the step of the weights it is of.
  int looks = 0;
  std::istringstream lines(io::read_text(toy.folder.path / "metrics.jsonl"));
  for (std::string text; std::getline(lines, text);) {
    const Value line = schema::parse(text, "metrics.jsonl");
    if (line.at("split").as_string() != "test") continue;
    ++looks;
    CHECK(line.at("step") == best.at("step"));
    CHECK(line.at("epoch") == best.at("epoch"));
    CHECK(line.at("weights").as_string() == "best");
  }
  CHECK(looks == 1);
}

TEST_CASE("selection: on test only when asked to, and then it is said", "[training]") {
  ToyRun toy("test", {Split::kTest});
  toy.setup.train.select = Select::kBest;
  toy.setup.train.select_on = SelectOn::kTest;
  toy.prefer_high_loss();
  const Value summary = toy.run();
  const Value& best = summary.at("best");
  REQUIRE(best.at("step").as_int() < 40);
  CHECK(summary.at("selected_on").as_string() == "test");
  CHECK(summary.at("weights").as_string() == "best");
  CHECK(best.at("split").as_string() == "test");
  CHECK(best.at("value").as_double() == loss_of(summary, "test"));
  CHECK(summary.at("last").at("metrics").at("test").at("loss").as_double() <
        loss_of(summary, "test"));
  CHECK(toy.has_best());
  CHECK_THAT(toy.log(), Catch::Contains("; selected on test"));
  CHECK_THAT(toy.messages.text, Catch::Contains("; selected on test"));
  CHECK_THAT(training::weights_text(summary), Catch::Contains("selected on test"));
}

TEST_CASE("selection: early stopping chooses too, and test stops nothing by itself", "[training]") {
  ToyRun toy("patience", {Split::kVal, Split::kTest});
  toy.setup.train.select = Select::kLast;
  toy.setup.train.patience = 1;
  toy.setup.train.min_delta = 1e6;
  const std::string on = GENERATE("val", "test");
  if (on == "test") toy.setup.train.select_on = SelectOn::kTest;
  const Value summary = toy.run();
  CHECK(summary.at("epochs").as_int() == 2);
  CHECK(summary.at("weights").as_string() == "last");
  CHECK(summary.at("selected_on").as_string() == on);
  CHECK_THAT(summary.at("stop_reason").as_string(), Catch::Contains("early stopping: " + on));
  CHECK_THAT(toy.log(), Catch::Contains("last weights, of step 10 (epoch 2); selected on " + on));
}

TEST_CASE("selection: evaluated on its own training samples, a run selects nothing", "[training]") {
  ToyRun toy("overfit", {Split::kTrain});
  const Value summary = toy.run();
  CHECK(summary.at("selected_on").is_null());
  CHECK(summary.at("weights").as_string() == "last");
  CHECK(summary.at("metrics").members().size() == 1);
  CHECK(summary.at("metrics").find("train") != nullptr);
  CHECK_THAT(io::read_text(toy.folder.path / "metrics.csv"),
             Catch::StartsWith("epoch,train_loss,train_eval_loss,train_eval_score,lr\n"));
  // Resumed without --overfit it would be another run.
  toy.setup.resume = true;
  test::ToyTask other(test::cpu(), 0.0, {.val = false});
  CHECK_THROWS_WITH(training::Trainer(other, toy.setup).run(),
                    Catch::Contains("it began with --overfit: give that again"));
}

TEST_CASE("selection: the better of the weights and their averages is kept", "[training]") {
  // Averages that hardly move stay near the start, so that with a falling loss the weights win, and
  // with a rising one the averages.
  for (const bool high : {false, true}) {
    INFO(high);
    ToyRun toy(high ? "averages" : "raw", {Split::kVal, Split::kTest});
    toy.setup.train.ema_decay = 0.999;
    toy.setup.train.monitor_averages = true;
    toy.setup.schedule = {"constant", {}};  // a warm-up would begin with no step at all
    if (high) toy.prefer_high_loss();
    const Value summary = toy.run();
    const Value& best = summary.at("best");
    const Value& val = summary.at("metrics").at("val");
    CHECK(best.at("metric").as_string() == (high ? "ema_loss" : "loss"));
    CHECK(best.at("value").as_double() == val.at(best.at("metric").as_string()).as_double());
    const double other = val.at(high ? "loss" : "ema_loss").as_double();
    CHECK((high ? best.at("value").as_double() > other : best.at("value").as_double() < other));
    CHECK_THAT(toy.log(), Catch::Contains(high ? "by val ema_loss" : "by val loss"));
  }
}

TEST_CASE("selection: averages are compared only where there are some", "[training]") {
  TrainOptions options;
  options.monitor_averages = true;
  CHECK_THROWS_WITH(select({Split::kVal}, options), Catch::Contains("needs train.ema_decay"));
  options.ema_decay = 0.9;
  CHECK(select({Split::kVal}, options).candidates == Names{"loss", "ema_loss"});
  CHECK_THROWS_WITH(training::select({Split::kVal}, {.name = "ema_loss"}, options),
                    Catch::Contains("not of averages"));
  CHECK_THROWS_WITH(select({Split::kTest}, options), Catch::StartsWith("train.monitor_averages"));
}

TEST_CASE("train: the decay of averages by the samples of a step", "[training]") {
  TrainOptions options;
  options.ema_decay = 0.99996;
  options.batch_size = 128;
  options.grad_accum_steps = 8;
  CHECK(options.decay_of_step() == 0.99996);
  options.ema_base_size = 512;
  CHECK(options.decay_of_step() == Approx(0.99996 * 0.99996).epsilon(1e-14));
}
