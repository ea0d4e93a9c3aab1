// One run whose explanations are scored, a batch of samples at a time.
#pragma once

#include <memory>
#include <vector>

#include "explain/pictures/asked_methods.h"
#include "explain/scored/scored_runs.h"
#include "explain/scores/randomisation.h"

namespace fovea::explain {

/// What a run has for scores to ask. Throws ConfigError for one that reads neither images nor
/// texts.
Judges judges_of(const visualise::ShownRun& run);

class RunScorer {
 public:
  RunScorer(const ScoreRequest& asked, const visualise::ShownRun& run,
            const std::vector<AskedMethod>& methods, const std::vector<AskedScore>& scores);
  ~RunScorer();

  /// Why the run has no explanation by a method, looking at a sample; "" where it has.
  std::string misfit(const AskedMethod& method, std::int64_t sample) const;
  /// Adds the scores of these samples to what result() gives. `step` is called before each
  /// explanation is scored.
  void add(const std::vector<std::int64_t>& samples, const std::function<void()>& step);
  ScoredRun result() { return std::move(result_); }

 private:
  using Relevance = std::vector<std::vector<double>>;  // of each sample of a batch
  struct Batch;

  std::int64_t explained_at_once(const Batch& one) const;
  std::vector<Batch> batches_of(const std::vector<std::int64_t>& samples) const;
  Explanation explained(const AskedMethod& method, const Subject& subject,
                        const std::vector<std::int64_t>& targets,
                        const std::vector<std::int64_t>& samples) const;
  Relevance relevance_of(const AskedMethod& method, const Batch& batch,
                         const Subject& subject) const;
  std::vector<std::vector<Relevance>> randomised(const Batch& batch);
  std::vector<double> random_relevance(std::int64_t seed, std::int64_t sample,
                                       std::size_t count) const;
  void score(ScoredRow& row, const Explained& explained);
  void add_batch(Batch& batch, const std::function<void()>& step);

  const ScoreRequest& asked_;
  const visualise::ShownRun& run_;
  const std::vector<AskedMethod>& methods_;
  const std::vector<AskedScore>& scores_;
  Judges judges_;
  Logits logits_;
  Colours colours_;
  std::unique_ptr<models::Model> fresh_;
  std::unique_ptr<Randomisation> randomisation_;
  ScoredRun result_;
};

}  // namespace fovea::explain
