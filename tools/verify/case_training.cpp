#include "verify/case_training.h"

#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <sstream>

#include "base/error.h"
#include "base/file.h"
#include "schema/json/parse.h"

namespace fovea::verify {
namespace {

struct CaseBatch final : training::Batch {
  CaseStep step;
};

// Hands out the case's batches, one after another, and stops the loop after the last.
class CaseTask final : public training::Task {
 public:
  explicit CaseTask(const CaseTraining& of) : of_(of) {}

  nn::Module& model() override { return of_.model; }
  std::int64_t batches_per_epoch() const override { return of_.per_epoch; }
  void start_epoch(std::int64_t epoch, std::int64_t first_batch) override {
    first_ = epoch * of_.per_epoch;
    number_ = first_batch;
  }
  std::unique_ptr<training::Batch> next_batch() override {
    if (number_ == of_.per_epoch) return nullptr;
    auto batch = std::make_unique<CaseBatch>();
    batch->step = of_.batch(first_ + number_);
    batch->samples = batch->step.target.size(0);
    batch->number = number_++;
    if (first_ + number_ == of_.steps) last_ = true;
    return batch;
  }
  Tensor loss(const training::Batch& batch) override {
    const CaseStep& step = static_cast<const CaseBatch&>(batch).step;
    return of_.loss(of_.model(step.input), step.target);
  }
  std::vector<data::Split> parts() const override { return {data::Split::kTest}; }
  std::vector<metrics::MetricInfo> metrics() const override { return {}; }
  metrics::MetricInfo monitor() const override { return metrics::kLoss; }
  training::Metrics evaluate(data::Split) override { return {}; }

  /// Set with the last batch of the case.
  const std::atomic<bool>& last() const { return last_; }

 private:
  const CaseTraining& of_;
  std::int64_t first_ = 0, number_ = 0;
  std::atomic<bool> last_ = false;
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
  CaseTask task(training);
  const RunFolder folder;
  setup.train.log_every = 1;
  setup.train.tensorboard = false;
  setup.run_folder = folder.path;
  setup.config = schema::Value::object();
  setup.about = schema::Value::object();
  setup.host = c.device();
  setup.stop = &task.last();
  try {
    training::Trainer(task, std::move(setup)).run();
  } catch (const Interrupted&) {
    // After the last batch of the case.
  }
  std::istringstream lines(io::read_text(folder.path / "metrics.jsonl"));
  std::string line;
  while (std::getline(lines, line)) {
    const schema::Value record = schema::parse(line, "metrics.jsonl");
    if (record.at("split").as_string() == "train") logged(record);
  }
}

}  // namespace fovea::verify
