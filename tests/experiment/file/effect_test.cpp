// Settings that are said to change no result change none.
#include <catch2/catch.hpp>

#include "base/file.h"
#include "experiment/run/runner.h"
#include "schema/compare.h"
#include "schema/json/parse.h"
#include "tests/experiment/fixture.h"
#include "tests/support/paths.h"

using namespace fovea;
using namespace fovea::experiment;
using fovea::experiment::test::Folder;

namespace {

schema::Value settled(const std::vector<std::string>& overrides) {
  schema::Notes notes;
  schema::Value value = schema::Value::object();
  for (const std::string& text : overrides) override_setting(experiment_kind(), value, text, notes);
  return resolve(value);
}

const std::vector<std::string>& common() {
  static const std::vector<std::string> all = {"dataset=digits",
                                               "dataset.limit.train=96",
                                               "dataset.limit.test=40",
                                               "dataset.augment=[\"random_crop\"]",
                                               "model=dgvit",
                                               "model.patch_size=4",
                                               "model.embed_dim=16",
                                               "model.depth=2",
                                               "model.drop_rate=0.1",
                                               "model.drop_path_rate=0.2",
                                               "model.attention.num_heads=2",
                                               "train.epochs=2",
                                               "train.batch_size=32",
                                               "train.ema_decay=0.9",
                                               "train.precision=bfloat16"};
  return all;
}

}  // namespace

TEST_CASE("effect: runs that differ in all settings without effect give equal weights",
          "[experiment]") {
  const Folder folder("effect");
  const std::string digits = fovea::test::source_dir() + "/datasets/digits";
  io::fs::create_directory_symlink(digits, "elsewhere");
  std::vector<std::string> plain = common();
  plain.push_back("dataset.root=" + digits);
  std::vector<std::string> other = common();
  for (const char* setting :
       {"dataset.root=elsewhere", "dataset.cache_bytes=0", "dataset.noise.eval.types=[\"shot\"]",
        "name=other", "paper={\"key\":\"x\"}", "model.checkpointing=true", "train.num_workers=3",
        "train.log_every=1", "train.checkpoint_every=2", "train.checkpoint_every_steps=1",
        "train.keep_every=1", "train.threads=2", "train.cuda_graphs=true",
        "train.detect_anomaly=true", "train.tensorboard=false", "train.rank_timeout=60",
        "train.shard_optimizer=true", "cost_img_size=[16,16]"})
    other.emplace_back(setting);
  const schema::Value a = settled(plain);
  const schema::Value b = settled(other);
  // All of them, but for the sampler and the number of samples, which are of generation: as many
  // settings differ as are left out.
  constexpr std::size_t kOfGeneration = 2;
  CHECK(identity(experiment_kind(), a) == identity(experiment_kind(), b));
  schema::Value named = a;
  named.erase("files");  // in no identity where there are none
  CHECK(schema::diff(a, b).size() + kOfGeneration ==
        schema::diff(identity(experiment_kind(), a), named).size());
  CHECK(schema::diff(a, b).size() >= 16);
  const auto train = [](const schema::Value& config, const std::string& out) {
    RunOptions options;
    options.folder = out;
    return Run(config, options).train();
  };
  const schema::Value first = train(a, "a");
  const schema::Value second = train(b, "b");
  CHECK(first.at("metrics") == second.at("metrics"));
  CHECK(first.at("config_hash") == second.at("config_hash"));
  for (const char* file : {"model.safetensors", "ema.safetensors", "optimiser.safetensors"}) {
    const auto bytes = [&](const char* run) {
      return io::read_bytes(training::CheckpointStore(run).folder_of("last") / file);
    };
    CHECK(bytes("a") == bytes("b"));
  }
}

TEST_CASE("effect: a run goes on with other settings of no effect, and after new keys came",
          "[experiment]") {
  const Folder folder("effect-resume");
  std::vector<std::string> overrides = common();
  overrides.push_back("dataset.root=" + fovea::test::source_dir() + "/datasets/digits");
  RunOptions options;
  options.folder = "run";
  Run(settled(overrides), options).train();
  // As an older program would have stored it: without a key of today.
  schema::Value stored = schema::parse(io::read_text("run/config.json"), "config.json");
  stored.find("train")->erase("min_delta");
  stored.find("train")->erase("tensorboard");
  io::write_atomic("run/config.json", stored.dump());
  options.resume = true;
  overrides.emplace_back("train.log_every=7");
  overrides.emplace_back("dataset.root=" + fovea::test::source_dir() +
                         "/datasets/../datasets/digits");
  CHECK_NOTHROW(Run(settled(overrides), options).train());
  CHECK_NOTHROW(Run(load_config("run"), options).train());
  overrides.emplace_back("train.clip_grad=0.5");
  CHECK_THROWS_WITH(Run(settled(overrides), options).train(),
                    Catch::Contains("another configuration: train.clip_grad: 0.0 -> 0.5"));
}
