// The dgsa paper's training sequences: the case's batches through the library's own training loop.

#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <sstream>

#include "base/error.h"
#include "base/file.h"
#include "ops/elementwise.h"
#include "schema/parse.h"
#include "training/loss.h"
#include "training/trainer.h"
#include "verify/dgsa.h"
#include "verify/module_case.h"
#include "verify/recipe.h"
#include "verify/runners.h"

namespace fovea::verify {
namespace {

struct CaseBatch final : training::Batch {
  models::Inputs input;
  Tensor labels;
};

// Hands out the case's batches, one after another, and stops the loop after the last.
class CaseTask final : public training::Task {
 public:
  CaseTask(const Case& c, models::Model& model)
      : case_(c),
        model_(model),
        loss_(training::make_loss({"cross_entropy", {}}, training::Compares::kClasses)),
        per_epoch_(c.given("epochs") ? c.integer("steps_per_epoch", 1) : steps()) {}

  nn::Module& model() override { return model_; }
  std::int64_t batches_per_epoch() const override { return per_epoch_; }
  void start_epoch(std::int64_t epoch, std::int64_t first_batch) override {
    first_ = epoch * per_epoch_;
    number_ = first_batch;
  }
  std::unique_ptr<training::Batch> next_batch() override {
    if (number_ == per_epoch_) return nullptr;
    const std::string step = fmt::format("input/step{}/", first_ + number_ + 1);
    auto batch = std::make_unique<CaseBatch>();
    batch->input = models::only_input(model_.interface(),
                                      case_.at(step + (case_.has(step + "ids") ? "ids" : "x")));
    batch->labels = case_.at(step + "labels");
    batch->samples = batch->labels.numel();
    batch->number = number_++;
    if (first_ + number_ == steps()) last_ = true;
    return batch;
  }
  Tensor loss(const training::Batch& batch) override {
    const auto& own = static_cast<const CaseBatch&>(batch);
    return loss_(model_(own.input), own.labels);
  }
  std::vector<std::string> parts() const override { return {"test"}; }
  std::vector<metrics::MetricInfo> metrics() const override { return {}; }
  metrics::MetricInfo monitor() const override { return metrics::kLoss; }
  training::Metrics evaluate(const std::string&) override { return {}; }

  /// Set with the last batch of the case.
  const std::atomic<bool>& last() const { return last_; }
  std::int64_t steps() const {
    std::int64_t count = 0;
    while (case_.has(fmt::format("input/step{}/labels", count + 1))) ++count;
    return count;
  }

 private:
  const Case& case_;
  models::Model& model_;
  training::Loss loss_;
  std::int64_t per_epoch_;
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

// What the loop wrote after every step.
void compare_log(const Case& c, const io::fs::path& file, Checker& check) {
  std::istringstream lines(io::read_text(file));
  std::string line;
  while (std::getline(lines, line)) {
    const schema::Value record = schema::parse(line, "metrics.jsonl");
    if (record.at("split").as_string() != "train") continue;
    const std::string step = fmt::format("output/step{}/", record.at("step").as_int());
    for (const char* name : {"loss", "lr", "grad_norm"}) {
      if (c.has(step + name))
        check.compare(step + name, std::vector<double>{record.at(name).as_double()});
    }
  }
}

// The network makes its own mask of the words that are there; the case says which they are.
void compare_masks(const Case& c, std::int64_t steps, Checker& check) {
  for (std::int64_t k = 1; k <= steps; ++k) {
    const std::string mask = fmt::format("input/step{}/mask", k);
    if (!c.has(mask)) continue;
    std::vector<double> words;
    for (const double id : to_doubles(c.at(fmt::format("input/step{}/ids", k))))
      words.push_back(id == 0 ? 0 : 1);
    check.compare(mask, words);
  }
}

void run_training(const Case& c, Checker& check) {
  const auto model = make_network(c);
  load_parameters(c, *model, check);
  if (!check.passed()) return;
  std::vector<optim::Parameter> parameters;
  for (const nn::NamedTensor& named : model->parameters())
    parameters.push_back({named.name, named.tensor});
  CaseTask task(c, *model);
  const RunFolder folder;
  training::TrainerSetup setup;
  setup.train.log_every = 1;
  setup.train.tensorboard = false;
  setup.train.clip_grad = c.number("clip_max_norm");
  const bool by_epoch = c.given("epochs");
  // The schedule is planned for longer than the case goes.
  if (by_epoch) {
    setup.train.epochs = c.integer("T_max") + 1;
  } else {
    setup.train.steps = c.integer("total_steps");
  }
  setup.optimizer = adamw_of(c, parameters);
  setup.schedule = by_epoch ? cosine_of(c) : warmup_linear_of(c);
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
  compare_log(c, folder.path / "metrics.jsonl", check);
  compare_masks(c, task.steps(), check);
  for (const optim::Parameter& p : parameters)
    check.compare("output/final_param/" + p.name, p.tensor);
}

}  // namespace

Table dgsa_training() {
  Table table;
  table.add("train_step_sequence") = run_training;
  return table;
}

}  // namespace fovea::verify
