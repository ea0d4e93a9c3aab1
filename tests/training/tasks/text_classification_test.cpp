#include <catch2/catch.hpp>

#include <atomic>

#include "backend/devices.h"
#include "base/error.h"
#include "data/registry.h"
#include "tests/support/tensors.h"
#include "tests/training/toy_task.h"
#include "training/store/class_names.h"
#include "training/tasks/classification.h"

using namespace fovea;
using training::Classification;

namespace {

constexpr const char* kTextModel =
    R"({"type": "dgt", "embed_dim": 16, "depth": 1, "drop_rate": 0.1, "ffn": {"type": "swiglu", "expansion": 2},
        "attention": {"type": "m_dgsa", "num_heads": 2}})";

// Texts of 2 to 12 words; one of them tells the class.
std::string table(int rows, const std::string& extra = "") {
  std::string text = "text,label\n";
  for (int i = 0; i < rows; ++i) {
    for (int k = 0; k <= i * 5 % 11; ++k) text += "w" + std::to_string((i * 3 + k * k) % 17) + " ";
    text += i % 2 == 0 ? "good,yes\n" : "bad,no\n";
  }
  return text + extra;
}

data::Splits texts(const io::fs::path& folder, const std::string& more = "",
                   const std::string& extra = "") {
  io::make_directories(folder);
  io::write_atomic(folder / "train.csv", table(44, extra));
  io::write_atomic(folder / "test.csv", table(20));
  return data::make_splits(
      test::component(R"({"type": "text_csv", "root": ")" + folder.string() + "\"" + more + "}"));
}

std::unique_ptr<models::Model> small_model(const data::Dataset& data, const Device& device) {
  models::DataShape shape;
  shape.num_classes = data.num_classes();
  shape.vocab_size = data.shape().vocab_size;
  shape.max_len = data.shape().max_len;
  const nn::Build build{device, DType::kFloat32, RandomStream(1).fork("init"), nn::Init::kTorch};
  return models::make_model(test::component(kTextModel), build, shape);
}

// A network, a task and a trainer on one folder.
struct Job {
  data::Splits data;
  Device device;
  std::unique_ptr<models::Model> model;
  std::unique_ptr<Classification> task;
  training::TrainerSetup trainer;

  Job(const io::fs::path& folder, int threads, const std::string& more = "",
      const std::string& extra = "", bool overfit = false)
      : data(texts(folder / "data", more, extra)),
        device(make_cpu(threads)),
        model(small_model(*data.train, device)),
        trainer(test::toy_setup(folder / "run", device)) {
    data::Splits splits = data;
    if (overfit) splits.test = nullptr;
    training::BatchOptions options;
    options.train.batch_size = 8;
    options.seed = 7;
    options.host = device;
    options.overfit = overfit;
    task = std::make_unique<Classification>(
        *model, std::make_shared<training::BatchSource>(splits, options));
    trainer.train.epochs = 3;
    trainer.train.clip_grad = 0;
    trainer.train.checkpoint_every_steps = 2;
    trainer.seed = 7;
  }
  schema::Value run() { return training::Trainer(*task, trainer).run(); }
};

std::string weights_of(const io::fs::path& folder) {
  return io::read_text(test::in_checkpoint(folder / "run", "model.safetensors"));
}

constexpr const char* kNoise = R"(, "noise": {"train": {"preset": "noisy_train"}})";

}  // namespace

TEST_CASE("text classification: same bits for any number of threads", "[training]") {
  std::string first;
  for (const int threads : {1, 3}) {
    const test::Folder folder("text_threads");
    Job job(folder.path, threads, kNoise);
    const schema::Value summary = job.run();
    CHECK(summary.at("metrics").at("test").at("top1").as_double() >= 0);
    if (first.empty()) first = weights_of(folder.path);
    CHECK(weights_of(folder.path) == first);
  }
}

TEST_CASE("text classification: a small network learns its own texts by heart", "[training]") {
  const test::Folder folder("text_overfit");
  Job job(folder.path, 2, "", "", true);
  job.trainer.train.epochs = 30;
  job.trainer.train.checkpoint_every_steps = 0;
  CHECK(job.run().at("metrics").at("train").at("top1").as_double() == 100);
}

TEST_CASE("text classification: stopped and resumed, the run writes the same bytes", "[training]") {
  const test::Folder straight("text_straight");
  Job(straight.path, 1, kNoise).run();
  const test::Folder folder("text_resumed");
  const std::atomic<bool> stop{true};
  int interruptions = 0;
  for (bool done = false; !done;) {
    Job job(folder.path, 2, kNoise);
    job.trainer.resume = interruptions > 0;
    job.trainer.stop = &stop;
    try {
      job.run();
      done = true;
    } catch (const Interrupted&) {
      ++interruptions;
    }
  }
  CHECK(interruptions == 3 * 6 - 1);
  CHECK(weights_of(folder.path) == weights_of(straight.path));
}

TEST_CASE("text classification: the vocabulary lies beside the weights and is checked",
          "[training]") {
  const test::Folder folder("text_vocabulary");
  Job job(folder.path, 1);
  job.trainer.train.epochs = 1;
  job.run();
  const std::string words = job.data.train->weight_files().at("vocabulary.txt");
  CHECK(io::read_text(folder.path / "run" / "vocabulary.txt") == words);
  CHECK(io::read_text(test::in_checkpoint(folder.path / "run", "vocabulary.txt")) == words);
  const training::Checkpoint checkpoint =
      training::CheckpointStore(folder.path / "run").load("last", job.device);
  CHECK(checkpoint.files.at("vocabulary.txt") == words);

  // A text more that makes a word frequent enough.
  Job changed(folder.path, 1, "", "fresh fresh fresh,no\n");
  changed.trainer.train.epochs = 1;
  changed.trainer.resume = true;
  CHECK_THROWS_WITH(
      changed.run(),
      Catch::Contains("/vocabulary.txt: does not fit the data set: 21 words against 22"));
  CHECK_THROWS_WITH(job.task->source().check_files({}, "x"),
                    Catch::Contains("x/vocabulary.txt: not found"));
  std::map<std::string, std::string> files = checkpoint.files;
  CHECK(job.task->source().check_files(files, "x").empty());
  REQUIRE(files.count("classes.json") == 1);
  files["classes.json"] = training::classes_text({"yes", "no"});
  CHECK_THROWS_WITH(job.task->source().check_files(files, "x"),
                    Catch::Contains("x/classes.json: the data set has the same classes in another "
                                    "order: class 0 is \"yes\" for the weights, \"no\""));
}

TEST_CASE("text classification: a run says what it was made with and goes on with nothing else",
          "[training]") {
  const test::Folder folder("text_data");
  const std::string cut = R"(, "split": {"val": 0.25})";
  const auto job = [&](const std::string& split, const std::string& extra, bool resume) {
    auto made = std::make_unique<Job>(folder.path, 1, split, extra);
    made->trainer.train.epochs = 1;
    made->trainer.resume = resume;
    return made;
  };
  const std::string row = "w1 good,yes\n";
  const auto first = job(cut, row, false);
  const schema::Value data = first->run().at("data");
  CHECK(data == first->task->source().fingerprint());
  CHECK(data.at("samples").at("val").as_int() == 11);
  CHECK(data.at("samples").at("train").as_int() == 34);
  CHECK(data.at("samples").at("test").as_int() == 20);
  const schema::Value lists =
      schema::parse(io::read_text(folder.path / "run" / "splits.json"), "splits");
  CHECK(lists.at("train").size() == 34);
  CHECK(lists.at("test").items().front().as_string() == "test.csv:2");
  CHECK(training::CheckpointStore(folder.path / "run").load("last", first->device).state.data ==
        data);
  CHECK(job(cut, row, true)->run().at("data") == data);

  // Another file with the same vocabulary, since words are made lower case.
  const auto changed = job(cut, "W1 good,yes\n", true);
  CHECK_THROWS_WITH(changed->run(),
                    Catch::Contains("as many samples, but other files or other content of files"));

  // What an older version began does not say; it goes on and says so from then on.
  std::filesystem::remove(folder.path / "run" / "splits.json");
  CHECK(job(cut, row, true)->run().at("data") == data);
  CHECK(io::fs::exists(folder.path / "run" / "splits.json"));
}

TEST_CASE("text classification: evaluation in the order of the data set, and noise", "[training]") {
  const test::Folder folder("text_evaluation");
  Job job(folder.path, 1, R"(, "split": {"val": 0.25})");
  CHECK(job.task->source().parts() == std::vector{data::Split::kVal, data::Split::kTest});
  job.model->train(false);
  const auto clean = job.task->evaluate_in_full(data::Split::kTest);
  REQUIRE(clean.indices.size() == 20);
  for (std::size_t i = 0; i < 20; ++i) {
    CHECK(clean.indices[i] == static_cast<std::int64_t>(i));
    CHECK(clean.predictions.labels[i] == job.data.test->label(clean.indices[i]));
  }
  CHECK(clean.metrics[1].value == Approx(100 * clean.confusion.accuracy()));
  CHECK(job.task->source().noise_types().size() == 5);
  const auto noisy =
      job.task->evaluate_in_full(data::Split::kTest, training::NoiseLevel{"replace", 0.5});
  CHECK(noisy.metrics[0].value != clean.metrics[0].value);
  CHECK(
      noisy.metrics ==
      job.task->evaluate_in_full(data::Split::kTest, training::NoiseLevel{"replace", 0.5}).metrics);
  CHECK_THROWS_WITH(
      job.task->evaluate_in_full(data::Split::kTest, training::NoiseLevel{"gaussian", 0.5}),
      Catch::Contains("no corruption of texts called"));
  const test::Folder whole("text_without_val");
  Job without(whole.path, 1);
  CHECK_THROWS_WITH(without.task->measure(data::Split::kVal, {}),
                    Catch::Contains("no split \"val\""));
}
