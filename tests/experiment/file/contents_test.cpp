// Files that experiments name: a run is known by what was in them.
#include <catch2/catch.hpp>

#include "backend/devices.h"
#include "experiment/file/experiment.h"
#include "experiment/run/runner.h"
#include "schema/describe/contents.h"
#include "schema/json/parse.h"
#include "tensor/safetensors.h"
#include "tests/experiment/fixture.h"
#include "tests/experiment/squares.h"

using namespace fovea;
using namespace fovea::experiment;
using experiment::test::finish;
using experiment::test::Folder;
using experiment::test::write;
using experiment::test::write_squares;

namespace {

const char* const kExperiment = R"({"task": "segmentation",
  "dataset": {"type": "paired_folder", "root": "set", "img_size": 16, "intensity": "min_max_255"},
  "model": {"type": "pyramid_unet",
            "backbone": {"type": "resnet18", "stem_width": 4, "depths": [1], "planes": [4],
                         "strides": [1], "weights": "backbone.safetensors"}},
  "optimizer": {"type": "sgd", "lr": 0.02}, "train": {"steps": 1, "batch_size": 2}})";

schema::Value settled(const std::vector<std::string>& overrides = {}) {
  write("base.json", kExperiment);
  return resolve(load_unresolved("base.json", overrides));
}

Ablation load() {
  write("base.json", kExperiment);
  write("a.json", R"({"name": "a", "base": "base.json", "seeds": [0], "rows": [
    {"name": "with", "set": {}}, {"name": "without", "set": {"model.backbone.weights": ""}}]})");
  return load_ablation("a.json", experiment_kind());
}

JobState state(Ablation ablation, std::size_t job) {
  recognise_jobs(ablation, "out");
  return status_of(ablation, "out", ablation.jobs[job]).state;
}

// Weights of the experiment's backbone, as they are before training with this seed.
void write_weights(int seed, const std::string& name = "backbone.safetensors") {
  const Experiment e =
      parse(settled({fmt::format("seed={}", seed), "model.backbone.weights=\"\""}));
  const auto model =
      make_model(e, make_cpu(1), {.channels = 3, .height = 16, .width = 16, .num_classes = 1});
  TensorFile file;
  for (const auto& [key, tensor] : nn::named_tensors(*model)) {
    if (key.starts_with("encoder.")) file.tensors[key.substr(8)] = tensor;
  }
  write_safetensors(name, file);
}

RunOptions in_folder(const std::string& name, bool resume = false) {
  RunOptions options;
  options.folder = name;
  options.resume = resume;
  options.threads = 1;
  return options;
}

// As if the run had been stopped before its first checkpoint.
void forget_training(const io::fs::path& run) {
  for (const char* name : {"checkpoints", "metrics.jsonl", "summary.json"})
    io::remove_all(run / name);
}

}  // namespace

TEST_CASE("contents: other weights under the name of the old ones make another job of a sweep",
          "[experiment]") {
  const Folder folder("contents-sweep");
  write("backbone.safetensors", "one");
  const Ablation before = load();
  for (const Job& job : before.jobs) finish("out", job, R"({"test": {"dice": 1}})");
  CHECK(state(load(), 0) == JobState::kFinished);

  write("backbone.safetensors", "two");
  const Ablation after = load();
  CHECK(after.jobs[0].id != before.jobs[0].id);
  CHECK(after.jobs[1].id == before.jobs[1].id);
  CHECK(state(after, 0) == JobState::kMissing);
  CHECK(state(after, 1) == JobState::kFinished);
  // Nor is the old run taken for it where it lies under the new name.
  Ablation renamed = after;
  renamed.jobs[0].id = before.jobs[0].id;
  CHECK(status_of(renamed, "out", renamed.jobs[0]).state != JobState::kFinished);

  // Results may be looked at where the file is not.
  io::remove_all("backbone.safetensors");
  CHECK(state(load(), 0) == JobState::kFinished);
}

TEST_CASE("contents: weights are the same wherever they lie", "[experiment]") {
  const Folder folder("contents-moved");
  write("backbone.safetensors", "one");
  const schema::Value here = settled();
  write("elsewhere/b.safetensors", "one");
  const schema::Value there = settled({"model.backbone.weights=elsewhere/b.safetensors"});
  CHECK(identity(experiment_kind(), here) == identity(experiment_kind(), there));
  // Without the files the names have to do.
  io::remove_all("backbone.safetensors");
  io::remove_all("elsewhere");
  const schema::Value unknown = settled();
  const schema::Counted counted = counted_in(experiment_kind(), unknown);
  CHECK(counted.by_name == std::vector<std::string>{"dataset.splits", "model.backbone.weights"});
  CHECK(identity(experiment_kind(), here, counted) ==
        identity(experiment_kind(), unknown, counted));
  CHECK_FALSE(identity(experiment_kind(), here, counted) ==
              identity(experiment_kind(), there, counted));
}

TEST_CASE("contents: a run does not go on with other weights than it began with", "[experiment]") {
  const Folder folder("contents-resume");
  write_squares();
  write_weights(1);
  const schema::Value config = settled();
  const schema::Value summary = Run(config, in_folder("run")).train();
  CHECK_NOTHROW(Run(config, in_folder("run", true)).train());
  const schema::Value stored = schema::parse(io::read_text("run/config.json"), "config.json");
  CHECK(stored.at("files").at("model.backbone.weights").is_string());
  CHECK(summary.at("files") == stored.at("files"));

  write_weights(2);
  CHECK_THROWS_WITH(Run(settled(), in_folder("run", true)).train(),
                    Catch::Contains("another configuration: files.model.backbone.weights: "));
  // With a checkpoint the file is needed no more, without one it is read again.
  CHECK_NOTHROW(Run(load_config("run"), in_folder("run", true)).train());
  forget_training("run");
  CHECK_THROWS_WITH(Run(load_config("run"), in_folder("run", true)).train(),
                    Catch::StartsWith("model.backbone.weights: backbone.safetensors has the "
                                      "content"));
  write_weights(1);
  CHECK_NOTHROW(Run(load_config("run"), in_folder("run", true)).train());
}

TEST_CASE("contents: lists of the parts belong to a run", "[experiment]") {
  const Folder folder("contents-lists");
  write_squares();
  const auto identity_of = [](const std::vector<std::string>& more) {
    std::vector<std::string> overrides = {"model.backbone.weights=\"\""};
    overrides.insert(overrides.end(), more.begin(), more.end());
    return identity(experiment_kind(), settled(overrides));
  };
  const schema::Value before = identity_of({});
  CHECK(before == identity_of({"dataset.root=../exp/set"}));
  const std::string train = io::read_text("set/splits/train.txt");
  // One sample changes places with one of test: as many in each part, of the same files.
  write("set/splits/train.txt", "square7" + train.substr(train.find('\n')));
  write("set/splits/test.txt", "square6\nsquare0\n");
  CHECK_FALSE(identity_of({}) == before);
  const schema::Value tested = identity_of({});
  io::move("set/splits/test.txt", "set/splits/val.txt");
  CHECK_FALSE(identity_of({}) == tested);

  // Folds are drawn, until there is a list of them.
  const std::vector<std::string> fold = {"dataset.splits=\"\"", "dataset.split.fold=0/2"};
  const schema::Value drawn = identity_of(fold);
  write("set/splits_final.json", "[1]");
  const schema::Value listed = identity_of(fold);
  write("set/splits_final.json", "[2]");
  CHECK_FALSE(listed == drawn);
  CHECK_FALSE(listed == identity_of(fold));
  CHECK(identity_of({"dataset.splits=\"\""}) == identity_of({"dataset.splits=\"\""}));
  // Nothing is known of lists where the data are not.
  CHECK(counted_in(experiment_kind(), settled({"model.backbone.weights=\"\"", "dataset.root=no"}))
            .by_name == std::vector<std::string>{"dataset.splits"});
}

TEST_CASE("contents: train --init may not go on with another file", "[experiment]") {
  const Folder folder("contents-init");
  write_squares();
  const schema::Value config = settled({"model.backbone.weights=\"\"", "model.type=unet"});
  const auto init = [&](const std::string& name, bool resume) {
    RunOptions options = in_folder("run", resume);
    options.init = {.file = name};
    return Run(config, options).train();
  };
  const auto model = make_model(parse(config), make_cpu(1),
                                {.channels = 3, .height = 16, .width = 16, .num_classes = 1});
  write_safetensors("a.safetensors", {nn::named_tensors(*model), {}});
  write_safetensors("b.safetensors", {nn::named_tensors(*model), {{"other", "content"}}});
  const schema::Value summary = init("a.safetensors", false);
  CHECK(summary.at("init").at("hash").is_string());
  forget_training("run");
  CHECK_THROWS_WITH(init("b.safetensors", true), Catch::Contains("another content"));
  io::move("a.safetensors", "c.safetensors");
  CHECK_NOTHROW(init("c.safetensors", true));
}
