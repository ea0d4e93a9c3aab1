// A task small enough to train in milliseconds, with all that makes resuming hard: dropout, running
// statistics, shuffling, an incomplete last batch.
#pragma once

#include <unistd.h>

#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "base/file.h"
#include "nn/dropout.h"
#include "nn/linear.h"
#include "ops/create.h"
#include "ops/elementwise.h"
#include "ops/losses/loss.h"
#include "schema/json/parse.h"
#include "training/store/weights.h"
#include "training/trainer.h"

namespace fovea::test {

/// Where fsync costs nothing, if there is such a place: these tests make thousands of them.
inline io::fs::path scratch() {
  std::error_code code;
  const io::fs::path memory = "/dev/shm";
  return io::fs::is_directory(memory, code) && ::access(memory.c_str(), W_OK) == 0
             ? memory
             : io::fs::temp_directory_path();
}

/// A folder of one test, removed at the end of the scope.
struct Folder {
  io::fs::path path;
  explicit Folder(const std::string& name)
      : path(scratch() / ("fovea_training_" + name + "_" + std::to_string(::getpid()))) {
    io::fs::remove_all(path);
    io::fs::create_directories(path);
  }
  ~Folder() { io::fs::remove_all(path); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
};

constexpr std::int64_t kFeatures = 3;
constexpr std::int64_t kClasses = 4;

class ToyModel final : public nn::Module {
 public:
  ToyModel(const Device& device, double drop, std::uint64_t seed = 1)
      : build_{device, DType::kFloat32, RandomStream(seed), nn::Init::kTorch},
        fc1_(child<nn::Linear>("fc1", build_, kFeatures, std::int64_t{8})),
        drop_(child<nn::Dropout>("drop", build_, drop)),
        head_(child<nn::Linear>("head", build_, std::int64_t{8}, kClasses)),
        seen_(buffer("seen", ops::zeros({1}, DType::kFloat32, device))) {}
  std::string type() const override { return "ToyModel"; }

  Tensor forward(const Tensor& x) {
    if (training()) seen_.data<float>()[0] += 1;
    return head_(drop_(ops::relu(fc1_(x))));
  }

 private:
  nn::Build build_;
  nn::Linear& fc1_;
  nn::Dropout& drop_;
  nn::Linear& head_;
  Tensor seen_;
};

struct ToyBatch : training::Batch {
  Tensor x, labels;
};

class ToyTask : public training::Task {
 public:
  ToyTask(const Device& device, double drop = 0.3, std::int64_t batch_size = 4,
          std::int64_t samples = 18)
      : device_(device), model_(device, drop), batch_size_(batch_size), samples_(samples) {}

  nn::Module& model() override { return model_; }
  std::int64_t batches_per_epoch() const override {
    return (samples_ + batch_size_ - 1) / batch_size_;
  }
  void start_epoch(std::int64_t epoch, std::int64_t first_batch) override {
    order_ = RandomStream(5).fork(static_cast<std::uint64_t>(epoch)).permutation(samples_);
    next_ = first_batch;
  }
  std::unique_ptr<training::Batch> next_batch() override {
    if (next_ >= batches_per_epoch()) return nullptr;
    const std::int64_t begin = next_ * batch_size_;
    const std::int64_t end = std::min(begin + batch_size_, samples_);
    auto batch = batch_of({order_.begin() + begin, order_.begin() + end});
    batch->number = next_++;
    return batch;
  }
  Tensor loss(const training::Batch& batch) override {
    const auto& toy = static_cast<const ToyBatch&>(batch);
    return ops::cross_entropy(model_.forward(toy.x), toy.labels);
  }
  std::vector<data::Split> parts() const override { return held_out; }
  std::vector<metrics::MetricInfo> metrics() const override {
    return {metrics::kLoss, {.name = "score"}};
  }
  metrics::MetricInfo monitor() const override { return metrics::kLoss; }
  training::Metrics evaluate(data::Split split) override {
    std::vector<std::int64_t> all;
    const std::int64_t first = split == data::Split::kVal    ? 100
                               : split == data::Split::kTest ? 200
                                                             : 0;
    for (std::int64_t i = 0; i < 10; ++i) all.push_back(first + i);
    const auto batch = batch_of(all);
    const double value =
        training::scalar_of(ops::cross_entropy(model_.forward(batch->x), batch->labels));
    return {{metrics::kLoss, value}, {{.name = "score"}, -value}};
  }
  std::map<std::string, Tensor> tensors(const training::Batch& batch) const override {
    return {{"x", static_cast<const ToyBatch&>(batch).x}};
  }

  std::vector<data::Split> held_out = {data::Split::kVal, data::Split::kTest};
  double scale = 1;            // of the inputs
  std::int64_t poisoned = -1;  // sample with an infinite feature

 private:
  std::unique_ptr<ToyBatch> batch_of(const std::vector<std::int64_t>& indices) const {
    std::vector<float> x;
    std::vector<std::int64_t> labels;
    for (const std::int64_t i : indices) {
      const RandomStream random = RandomStream(9).fork(static_cast<std::uint64_t>(i));
      const std::int64_t label = random.below(kClasses, 50);
      for (std::uint64_t f = 0; f < kFeatures; ++f) {
        const double shift = f == static_cast<std::uint64_t>(label) ? 2.0 : 0.0;
        x.push_back(static_cast<float>(scale * (random.normal(f) + shift)));
      }
      if (i == poisoned) x.back() = std::numeric_limits<float>::infinity();
      labels.push_back(label);
    }
    auto batch = std::make_unique<ToyBatch>();
    batch->samples = static_cast<std::int64_t>(indices.size());
    batch->x = Tensor::from(x, {batch->samples, kFeatures}, device_);
    batch->labels = Tensor::from(labels, {batch->samples}, device_);
    return batch;
  }

  Device device_;
  ToyModel model_;
  std::int64_t batch_size_;
  std::int64_t samples_;
  std::vector<std::int64_t> order_;
  std::int64_t next_ = 0;
};

inline schema::Component component(const std::string& json) {
  const schema::Value value = schema::parse(json, "test");
  return {value.at("type").as_string(), value};
}

/// A file of the last checkpoint, or of another one.
inline io::fs::path in_checkpoint(const io::fs::path& run, const std::string& file,
                                  const std::string& which = "last") {
  return training::CheckpointStore(run).folder_of(which) / file;
}

inline training::TrainerSetup toy_setup(const io::fs::path& folder, const Device& device) {
  training::TrainerSetup setup;
  setup.train.epochs = 4;
  setup.train.log_every = 3;
  setup.train.clip_grad = 1.0;
  setup.optimizer = component(R"({"type": "adamw", "lr": 0.01})");
  setup.schedule = component(R"({"type": "cosine", "warmup_epochs": 1})");
  setup.seed = 3;
  setup.run_folder = folder;
  setup.config = schema::parse(R"({"train": {"epochs": 4, "num_workers": 1}})", "test");
  setup.host = device;
  return setup;
}

}  // namespace fovea::test
