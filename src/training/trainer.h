// The training loop: steps, evaluation, checkpoints, logs. It takes batches from a source and asks
// a task for their loss and for an evaluation.
//
// A run is a pure function of its configuration and seed: all randomness of step k comes from
// RandomStream(seed).fork("train").fork(k), the order of data from (seed, epoch). So a run that was
// killed and resumed writes the same bytes as one that was not.
#pragma once

#include <atomic>
#include <deque>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/claim.h"
#include "optim/ema.h"
#include "optim/rates.h"
#include "optim/registry.h"
#include "parallel/ranks.h"
#include "schema/describe/description.h"
#include "training/gradient_sum.h"
#include "training/options.h"
#include "training/progress.h"
#include "training/selection.h"
#include "training/shared_update.h"
#include "training/store/checkpoint.h"
#include "training/store/run_log.h"
#include "training/store/run_state.h"
#include "training/tasks/task.h"

namespace fovea::training {

struct TrainerSetup {
  TrainOptions train;
  schema::Component optimizer{"adamw", {}};
  schema::Component schedule{"constant", {}};
  std::uint64_t seed = 0;
  std::filesystem::path run_folder;
  schema::Value config;  // fully resolved, for config.json and to compare on resume
  /// What results depend on, of a configuration that may have been stored by an older program;
  /// throws ConfigError where it means nothing to this one. Empty: all of it.
  std::function<schema::Value(const schema::Value& stored)> identity;
  schema::Value about;             // members added to summary.json: versions, host, macs, ...
  std::vector<std::string> notes;  // said when a run begins, and kept in log.txt
  std::map<std::string, std::string> files;  // written beside config.json, by name
  Device host;
  bool resume = false;
  /// With resume: the run was finished with so many epochs less than train.epochs, and goes on from
  /// its last checkpoint. 0: it goes on as it began.
  std::int64_t extend = 0;
  ProgressSink* progress = nullptr;
  /// Called after the evaluation that ends an epoch (from 1), with the averaged weights in the
  /// network where a run has them.
  std::function<void(std::int64_t epoch)> evaluated = {};
  /// The processes that make this run together, each with a trainer of its own; null: one. The
  /// first one writes and tells; the files of the run are nothing to the others.
  parallel::Ranks* ranks = nullptr;
  /// Set by a signal handler: the step is finished, a checkpoint written, Interrupted thrown.
  const std::atomic<bool>* stop = nullptr;
};

/// What train --dry-run reports.
struct DryRun {
  std::int64_t parameters = 0;
  std::int64_t steps_per_epoch = 0;
  std::int64_t total_steps = 0;
  double loss = 0;
  double grad_norm = 0;
  double step_s = 0;
  std::int64_t peak_bytes = 0;  // of one step with the optimiser's state
  optim::RateSummary rates;
  std::string rates_text;
  std::vector<std::string> files;
  std::string weights;             // which the run will report: choice_text()
  std::vector<std::string> notes;  // that the run would begin with
};

/// True for the folder of a run that has no more than the checkpoint of step 0 and no evaluation:
/// to begin it again loses nothing.
bool is_untrained(const std::filesystem::path& run_folder);

class Trainer {
 public:
  /// `task` outlives the trainer, and has a source, whose batches of train are learned from. Throws
  /// ConfigError for options that do not fit together and for a monitor that the task does not
  /// measure.
  Trainer(Task& task, TrainerSetup setup);
  ~Trainer();
  Trainer(const Trainer&) = delete;
  Trainer& operator=(const Trainer&) = delete;

  /// Trains to the end, or goes on from the last checkpoint, and writes summary.json, whose content
  /// it returns; the model then holds the weights that it is about. Throws FileError if the folder
  /// holds a run in which anything was trained, or files of others, and resume is off, or holds
  /// none, or one that has lost its checkpoints, and it is on; ConfigError if the configuration
  /// differs from the one the run began with; NumericError, before the weights are touched, if the
  /// loss or the gradients are not finite; Interrupted.
  schema::Value run();

  /// One step without an update; writes nothing. Throws NumericError as run() does.
  DryRun dry_run();

  /// Rate of the step after `completed` ones.
  double lr(std::int64_t completed) const { return schedule_(completed); }
  /// The rates of the whole run in a line (optim/rates.h).
  std::string rates_text() const { return optim::rates_text(schedule_, length()); }
  std::int64_t steps_per_epoch() const { return steps_per_epoch_; }
  std::int64_t total_steps() const { return total_steps_; }
  const RunState& state() const { return state_; }

 private:
  static constexpr const char* kCompleted = "completed";  // RunState::stop_reason
  /// The micro-batches of one step: so many that follow each other in the plan of an epoch, without
  /// those of which no sample could be read.
  struct Group {
    std::vector<data::Batch> batches;   // this rank's
    std::vector<std::int64_t> places;   // of each of them among all of the step
    std::vector<std::int64_t> numbers;  // of all of the step, in the epoch
    std::vector<double> shares;         // how much each of them counts: by its samples
    std::int64_t samples = 0;
    std::int64_t begin = 0, end = 0;  // of the numbers, those without samples included
    bool empty() const { return shares.empty(); }
  };

  // open_run.cpp
  void open_run();
  std::set<std::string> own_files() const;
  void refuse_foreign_files() const;
  bool begins_again() const;
  void remove_untrained();
  void refuse_other(const std::string& place, const schema::Value& before) const;
  void refuse_other_parts(const RunState& before) const;
  void refuse_lost_checkpoints() const;
  void note_move();
  std::optional<std::filesystem::path> find_last() const;
  void restore(const std::filesystem::path& folder);
  schema::Value settings() const;  // that results depend on
  std::string hash_of_config() const;
  void log_configuration();
  void notify(const std::string& line) const;
  void claim_folder();
  void require_claim() const;
  void write_checkpoint(const std::map<std::string, Tensor>& optimiser_state);

  // over_ranks.cpp
  void require_a_micro_batch_each() const;
  std::vector<std::vector<double>> gathered(const std::vector<bool>& adds,
                                            const std::vector<double>& own);
  void require_same_data();
  bool stop_requested();
  Group next_group();
  void agree_on(Group& group);
  void share_run();
  void share_weights();
  void require_same_weights();
  void save();
  std::int64_t skipped_samples();

  // extend_run.cpp
  schema::Value extended(schema::Value config) const;
  void check_extension(const RunState& last) const;
  void extend();

  // trainer.cpp
  optim::RunLength length() const;
  bool finished() const { return !state_.stop_reason.empty(); }
  void train_epoch();
  void queue_step(Group group);
  void settle();
  void finish_epoch();
  void keep_given_weights();
  bool evaluation_is_due() const;
  void evaluate_parts();
  bool update_best();
  void stop_early();

  // step.cpp
  struct StepResult {
    double loss = 0;
    double grad_norm = 0;
    std::map<std::string, double> parts;  // of the loss
  };
  /// Waits for what gradients() made.
  using Numbers = std::function<std::vector<double>()>;
  static Numbers numbers_of(const Tensor& scalars);
  /// What a step gives, on the device: the losses of the micro-batches, the parts of each, and the
  /// sum of the gradients' squares.
  struct StepScalars {
    Tensor values;
    std::vector<std::string> part_names;  // of the parts of all micro-batches, one after the other
  };
  /// A step whose numbers have not been read yet.
  struct QueuedStep {
    Group group;
    Numbers numbers;
    std::vector<std::string> part_names;
    double lr = 0;
  };
  StepScalars gradients(const Group& group);
  /// Throws NumericError if one of the numbers is not finite.
  StepResult checked(const std::vector<double>& numbers, const std::vector<std::string>& part_names,
                     const Group& group, std::int64_t step);
  Task::LossParts micro_batch(const Group& group, std::size_t i, std::int64_t step);
  std::vector<Task::LossParts> forward_backward(const Group& group, std::int64_t step);
  std::string replayed(const Group& group, std::int64_t step);
  [[noreturn]] void explain(const std::string& what, double value, const Group& group,
                            std::int64_t step);
  void save_failed_step(const Group& group, std::int64_t step) const;

  // report.cpp
  void flush_window();
  Metrics evaluate(data::Split split);
  void tell_evaluated(std::int64_t epoch);
  /// Writes a line of the logs and returns the metrics as a JSON object. `weights`: "best" or
  /// "last" for the final numbers, "" while the run goes on.
  schema::Value record_evaluation(data::Split split, std::int64_t step, std::int64_t epoch,
                                  const std::string& weights);
  std::vector<std::string> shown_values(const Metrics& measured) const;
  std::int64_t epochs() const;
  void say(const std::string& line);
  void report_progress(double loss, double lr);
  std::string best_metric() const;
  schema::Value chosen_weights() const;
  void evaluate_chosen(schema::Value& chosen);
  schema::Value write_summary(const schema::Value& chosen);
  double elapsed() const;

  Task& task_;
  BatchSource& source_;
  TrainerSetup setup_;
  parallel::Ranks alone_;
  parallel::Ranks& ranks_;
  Selection selection_;
  Device device_;
  std::int64_t steps_per_epoch_ = 0;
  std::int64_t total_steps_ = 0;
  std::unique_ptr<optim::Optimiser> optimiser_;
  std::unique_ptr<GradientSum> sum_;
  std::unique_ptr<SharedUpdate> update_;
  std::unique_ptr<optim::Ema> ema_;
  optim::Schedule schedule_;

  std::optional<io::Claim> claim_;  // of the folder, while it runs; the first rank's
  RunState state_;
  std::optional<data::Batch> ahead_;  // taken from the source, and of a later group
  std::optional<QueuedStep> queued_;  // the last one, state_.step - 1
  std::unique_ptr<RunLog> log_;
  CheckpointStore checkpoints_;

  struct Timing;
  std::unique_ptr<Timing> timing_;
};

}  // namespace fovea::training
