// The loop with a detector: losses by name, the choice of weights, a stop in the middle.
#include <catch2/catch.hpp>

#include <fmt/format.h>

#include <atomic>
#include <sstream>

#include "base/file.h"
#include "tests/training/run_bytes.h"
#include "tests/training/tasks/detection/toy_detection.h"
#include "training/tasks/detection/detection.h"

using namespace fovea;

namespace {

schema::Value train(const io::fs::path& run, bool resume = false,
                    const std::atomic<bool>* stop = nullptr) {
  const Device host = make_cpu(1);
  test::ToldDetector model(host, test::toy_truth, false);
  training::Detection task(model, test::toy_boxes(host, false, 1), {});
  training::TrainerSetup setup;
  setup.train.epochs = 3;
  setup.train.batch_size = 1;
  setup.train.grad_accum_steps = 2;
  setup.train.log_every = 2;
  setup.optimizer = {"sgd", schema::Value::object({{"lr", 0.5}})};
  setup.run_folder = run;
  setup.config = schema::Value::object({{"name", "toy"}});
  setup.host = host;
  setup.resume = resume;
  setup.stop = stop;
  return training::Trainer(task, std::move(setup)).run();
}

std::vector<schema::Value> training_lines(const io::fs::path& run) {
  std::vector<schema::Value> found;
  std::istringstream lines(io::read_text(run / "metrics.jsonl"));
  for (std::string line; std::getline(lines, line);) {
    schema::Value value = schema::parse(line, "metrics.jsonl");
    if (value.at("split").as_string() == "train") found.push_back(std::move(value));
  }
  return found;
}

}  // namespace

TEST_CASE("detection: logs have the losses by name, which add up", "[training]") {
  const test::Folder folder("detection-losses");
  const schema::Value summary = train(folder.path / "run");
  CHECK(summary.at("metrics").at("test").at("ap").as_double() == Approx(100));
  const auto lines = training_lines(folder.path / "run");
  REQUIRE(!lines.empty());
  for (const schema::Value& line : lines) {
    const double sum = line.at("loss_cls").as_double() + line.at("loss_bbox").as_double();
    CHECK(line.at("loss").as_double() == Approx(sum));
    CHECK(line.at("loss_cls").as_double() == Approx(4 * line.at("loss_bbox").as_double()));
  }
}

TEST_CASE("detection: a run that was stopped goes on with the sums of its log", "[training]") {
  const test::Folder folder("detection-resume");
  train(folder.path / "whole");
  const std::atomic<bool> stop = true;
  CHECK_THROWS_AS(train(folder.path / "parts", false, &stop), Interrupted);
  CHECK_THROWS_AS(train(folder.path / "parts", true, &stop), Interrupted);
  train(folder.path / "parts", true);
  const auto whole = training_lines(folder.path / "whole");
  const auto parts = training_lines(folder.path / "parts");
  REQUIRE(whole.size() == parts.size());
  for (std::size_t i = 0; i < whole.size(); ++i) {
    for (const char* key : {"loss", "loss_cls", "loss_bbox", "grad_norm"})
      CHECK(whole[i].at(key) == parts[i].at(key));
  }
}
