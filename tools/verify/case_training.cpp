#include "verify/case_training.h"

#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <memory>
#include <numeric>
#include <sstream>

#include "backend/devices.h"
#include "base/error.h"
#include "base/file.h"
#include "data/dataset.h"
#include "schema/json/parse.h"
#include "training/tasks/task.h"

namespace fovea::verify {
namespace {

constexpr const char* kTarget = "target";

// Samples have no classes and lie in no file.
class CasePart final : public data::Part {
 public:
  explicit CasePart(std::int64_t samples) { labels_.resize(static_cast<std::size_t>(samples)); }
  const std::vector<std::string>& class_names() const override { return none_; }
  std::string name(std::int64_t index) const override { return fmt::format("row {}", index); }
  std::vector<std::filesystem::path> files() const override { return {}; }

 private:
  std::vector<std::string> none_;
};

// The case's batches, row by row: the samples of an epoch in order are those of its steps. Read by
// one thread.
class CaseData final : public data::Dataset {
 public:
  explicit CaseData(const CaseTraining& of)
      : Dataset(std::make_shared<CasePart>(of.per_epoch * rows_in(of)), data::Split::kTrain, {}, {},
                {}),
        of_(of),
        rows_(rows_in(of)) {
    std::vector<std::int64_t> all(static_cast<std::size_t>(of.per_epoch * rows_));
    std::iota(all.begin(), all.end(), std::int64_t{0});
    choose(all);
    for (const auto& [name, tensor] : tensors_of(of.batch(0))) {
      const bool text = name == "tokens";  // steps may differ in length
      fields_.push_back({name, tensor.dtype(), text ? data::Collate::kPad : data::Collate::kStack,
                         text ? Shape{} : tensor.shape().part(1, tensor.rank())});
    }
  }

  std::int64_t rows() const { return rows_; }
  const std::vector<data::Field>& fields() const override { return fields_; }
  data::SampleShape shape() const override { return {}; }
  schema::Value description() const override { return schema::Value::object(); }
  data::Sample get(std::int64_t i) const override {
    data::Sample sample = blank();
    prepare(i, {}, sample);
    return sample;
  }
  void prepare(std::int64_t i, const data::Draw& draw, data::Sample& into) const override {
    read(draw.epoch * of_.per_epoch + i / rows_);
    const std::int64_t row = i % rows_;
    const std::vector<data::NamedTensors::Entry> tensors = tensors_of(step_);
    for (std::size_t k = 0; k < tensors.size(); ++k) {
      const auto& [name, tensor] = tensors[k];
      if (fields_[k].rule == data::Collate::kPad)
        into.set(name, Tensor::empty({tensor.size(1)}, tensor.dtype(), host()));
      tensor.rows(row, row + 1).download(into.at(name).host_memory());
    }
    into.index = i;
  }

  /// Set with the last batch of the case.
  const std::atomic<bool>& last() const { return last_; }

 private:
  static std::int64_t rows_in(const CaseTraining& of) { return of.batch(0).target.size(0); }
  std::vector<data::NamedTensors::Entry> tensors_of(const CaseStep& step) const {
    std::vector<data::NamedTensors::Entry> all;
    for (const models::InputField& field : models::info_of(of_.model.interface()).reads)
      all.emplace_back(field.name, step.input.*field.tensor);
    all.emplace_back(kTarget, step.target);
    return all;
  }
  void read(std::int64_t number) const {
    if (number == number_) return;
    step_ = of_.batch(number);
    number_ = number;
    last_ = number + 1 == of_.steps;
  }

  const CaseTraining& of_;
  std::int64_t rows_;
  std::vector<data::Field> fields_;
  mutable CaseStep step_;
  mutable std::int64_t number_ = -1;
  mutable std::atomic<bool> last_ = false;
};

// The case's loss, and nothing to measure.
class CaseTask final : public training::Task {
 public:
  CaseTask(const CaseTraining& of, std::shared_ptr<training::BatchSource> source)
      : Task(of.model, std::move(source), {kTarget}), loss_(of.loss) {}

  Tensor loss_of(const models::Outputs& output, const data::Batch& batch) const override {
    return loss_(output, batch.at(kTarget));
  }
  std::vector<metrics::MetricInfo> metrics() const override { return {}; }
  metrics::MetricInfo monitor() const override { return metrics::kLoss; }
  training::Metrics measure(data::Split, const std::optional<data::NoiseLevel>&) override {
    return {};
  }
  training::Report report(const training::ReportRequest&) override { return {}; }

 private:
  training::Loss loss_;
};

// A run folder of its own that goes with it.
struct RunFolder {
  RunFolder() : path(io::fs::temp_directory_path() / fmt::format("fovea-verify-{}", ::getpid())) {
    io::remove_all(path);
  }
  ~RunFolder() {
    std::error_code code;
    io::fs::remove_all(path, code);
  }
  RunFolder(const RunFolder&) = delete;
  RunFolder& operator=(const RunFolder&) = delete;
  io::fs::path path;
};

}  // namespace

void train_case(const Case& c, const CaseTraining& training, training::TrainerSetup setup,
                const std::function<void(const schema::Value& record)>& logged) {
  const auto data = std::make_shared<const CaseData>(training);
  training::BatchOptions options;
  options.train.batch_size = data->rows();
  options.train.num_workers = 0;
  options.host = c.device().is_host() ? c.device() : make_cpu(1);
  options.overfit = true;  // in order
  CaseTask task(training, std::make_shared<training::BatchSource>(
                              data::Splits{data, nullptr, nullptr}, options));
  const RunFolder folder;
  setup.train.log_every = 1;
  setup.train.tensorboard = false;
  setup.run_folder = folder.path;
  setup.config = schema::Value::object();
  setup.about = schema::Value::object();
  setup.host = options.host;
  setup.stop = &data->last();
  try {
    training::Trainer(task, std::move(setup)).run();
  } catch (const Interrupted&) {
    // After the last batch of the case.
  }
  std::istringstream lines(io::read_text(folder.path / "metrics.jsonl"));
  std::string line;
  while (std::getline(lines, line)) {
    const schema::Value record = schema::parse(line, "metrics.jsonl");
    if (record.find("samples") != nullptr) logged(record);  // evaluations count none
  }
}

}  // namespace fovea::verify
