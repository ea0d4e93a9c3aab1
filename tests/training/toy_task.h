// A task small enough to train in milliseconds, with all that makes resuming hard: dropout, running
// statistics, shuffling, an incomplete last batch.
#pragma once

#include <unistd.h>

#include <limits>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "backend/devices.h"
#include "base/error.h"
#include "base/file.h"
#include "data/dataset.h"
#include "metrics/classification.h"
#include "models/model.h"
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

class ToyModel final : public models::ImageClassifier {
 public:
  ToyModel(const Device& device, double drop, std::uint64_t seed = 1)
      : build_{device, DType::kFloat32, RandomStream(seed), nn::Init::kTorch},
        fc1_(child<nn::Linear>("fc1", build_, kFeatures, std::int64_t{8})),
        drop_(child<nn::Dropout>("drop", build_, drop)),
        head_(child<nn::Linear>("head", build_, std::int64_t{8}, kClasses)),
        seen_(buffer("seen", ops::zeros({1}, DType::kFloat32, device))) {}
  std::string type() const override { return "ToyModel"; }

 private:
  models::Outputs forward(const models::Inputs& in, attention::Probe*) override {
    if (training()) seen_.data<float>()[0] += 1;
    const Tensor x = in.image.alias({in.image.size(0), kFeatures});
    return {.logits = head_(drop_(ops::relu(fc1_(x))))};
  }

  nn::Build build_;
  nn::Linear& fc1_;
  nn::Dropout& drop_;
  nn::Linear& head_;
  Tensor seen_;
};

/// What the samples of a toy task are; may be changed between runs.
struct ToyValues {
  double scale = 1;                               // of the inputs
  std::int64_t poisoned = -1;                     // sample with an infinite feature
  std::string unreadable = {};                    // what reading a sample ends with
  std::string recipe = {};                        // changes what the data are known by
  std::map<std::string, std::string> names = {};  // of samples, instead of their numbers
};

class ToyPart final : public data::Part {
 public:
  ToyPart(std::int64_t samples, std::shared_ptr<const ToyValues> values)
      : values_(std::move(values)) {
    for (std::int64_t i = 0; i < samples; ++i) labels_.push_back(random_of(i).below(kClasses, 50));
  }
  static RandomStream random_of(std::int64_t i) {
    return RandomStream(9).fork(static_cast<std::uint64_t>(i));
  }
  const std::vector<std::string>& class_names() const override { return classes_; }
  std::string name(std::int64_t i) const override {
    const std::string number = std::to_string(i);
    const auto own = values_->names.find(number);
    return own == values_->names.end() ? number : own->second;
  }
  std::vector<io::fs::path> files() const override { return {}; }
  std::string recipe() const override { return values_->recipe; }

 private:
  std::shared_ptr<const ToyValues> values_;
  std::vector<std::string> classes_{"none", "left", "middle", "right"};
};

/// Points around a place for each class, as images of a single pixel: samples [first, first +
/// count) of all there are.
class ToyData final : public data::Dataset {
 public:
  ToyData(data::Split split, std::int64_t first, std::int64_t count,
          std::shared_ptr<const ToyValues> values)
      : Dataset(std::make_shared<ToyPart>(first + count, values), split, {}, {}, {}),
        values_(std::move(values)),
        fields_{{"image", DType::kFloat32, data::Collate::kStack, {kFeatures, 1, 1}},
                {"label", DType::kInt64, data::Collate::kStack, {}}} {
    std::vector<std::int64_t> own;
    for (std::int64_t i = first; i < first + count; ++i) own.push_back(i);
    choose(own);
  }
  const std::vector<data::Field>& fields() const override { return fields_; }
  data::SampleShape shape() const override { return {kFeatures, 1, 1, kClasses}; }
  schema::Value description() const override { return schema::Value::object(); }
  data::Sample get(std::int64_t i) const override {
    data::Sample sample = blank();
    prepare(i, {}, sample);
    return sample;
  }
  void prepare(std::int64_t i, const data::Draw&, data::Sample& into) const override {
    if (!values_->unreadable.empty()) throw FileError(values_->unreadable);
    const RandomStream random = ToyPart::random_of(source_index(i));
    float* x = into.at("image").data<float>();
    for (std::int64_t f = 0; f < kFeatures; ++f) {
      const double shift = f == label(i) ? 2.0 : 0.0;
      x[f] = static_cast<float>(values_->scale *
                                (random.normal(static_cast<std::uint64_t>(f)) + shift));
    }
    if (source_index(i) == values_->poisoned)
      x[kFeatures - 1] = std::numeric_limits<float>::infinity();
    into.at("label").data<std::int64_t>()[0] = label(i);
    into.index = i;
  }

 private:
  std::shared_ptr<const ToyValues> values_;
  std::vector<data::Field> fields_;
};

/// Held out are ten samples each; where nothing is, evaluations are of the training samples.
struct ToySizes {
  std::int64_t batch = 4;
  std::int64_t train = 18;
  bool val = true, test = true;
};

class ToyTask final : public training::Task {
  struct Parts {
    std::shared_ptr<ToyValues> values;
    std::shared_ptr<ToyModel> model;
    std::shared_ptr<training::BatchSource> source;
  };

 public:
  explicit ToyTask(const Device& device, double drop = 0.3, const ToySizes& sizes = {},
                   const ToyValues& known = {})
      : ToyTask(parts_of(device, drop, sizes, known)) {}

  Tensor loss_of(const models::Outputs& output, const data::Batch& batch) const override {
    return ops::cross_entropy(output.logits, batch.at("label"));
  }
  std::vector<metrics::MetricInfo> metrics() const override {
    return {metrics::kLoss, {.name = "score"}};
  }
  metrics::MetricInfo monitor() const override { return metrics::kLoss; }
  training::Metrics measure(data::Split split,
                            const std::optional<data::NoiseLevel>& noise) override {
    metrics::RunningMean loss;
    for_each_batch(split, noise, [&](const data::Batch& batch, const models::Outputs& output) {
      loss.add(training::scalar_of(ops::cross_entropy(output.logits, batch.at("label"))),
               static_cast<double>(batch.size()));
    });
    return {{metrics::kLoss, loss.value()}, {{.name = "score"}, -loss.value()}};
  }
  training::Report report(const training::ReportRequest& request) override {
    training::Report report;
    report.metrics = measure(request.split, {});
    return report;
  }

  ToyValues& values() { return *values_; }

 private:
  static Parts parts_of(const Device& device, double drop, const ToySizes& sizes,
                        const ToyValues& known) {
    Parts parts{std::make_shared<ToyValues>(known), std::make_shared<ToyModel>(device, drop), {}};
    const auto held_out = [&](data::Split split, bool there,
                              std::int64_t first) -> std::shared_ptr<const data::Dataset> {
      return there ? std::make_shared<ToyData>(split, first, 10, parts.values) : nullptr;
    };
    training::BatchOptions options;
    options.train.batch_size = sizes.batch;
    options.train.eval_batch_size = 10;
    options.train.num_workers = 0;
    options.seed = 5;
    options.host = device.is_host() ? device : make_cpu(1);
    parts.source = std::make_shared<training::BatchSource>(
        data::Splits{std::make_shared<ToyData>(data::Split::kTrain, 0, sizes.train, parts.values),
                     held_out(data::Split::kVal, sizes.val, 100),
                     held_out(data::Split::kTest, sizes.test, 200)},
        options);
    return parts;
  }
  explicit ToyTask(Parts parts)
      : Task(*parts.model, parts.source, {"label"}),
        values_(std::move(parts.values)),
        own_(std::move(parts.model)) {}

  std::shared_ptr<ToyValues> values_;
  std::shared_ptr<ToyModel> own_;
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
