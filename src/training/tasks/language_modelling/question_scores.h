// How a language model does on sets of questions ("eval.questions"): contexts and continuations as
// tokens, and their log likelihoods. mala 8.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "data/streams/stream_tokeniser.h"
#include "metrics/texts/questions.h"
#include "schema/describe/description.h"
#include "schema/json/value.h"
#include "training/tasks/task_report.h"

namespace fovea::training {

/// What is measured of these sets, each of which has its own metrics, known without their files.
/// Throws ConfigError for an unknown set and for one that is given twice.
std::vector<metrics::MetricInfo> question_metrics(const std::vector<schema::Component>& sets);

class QuestionScorer {
 public:
  QuestionScorer() = default;
  /// Reads the sets. A context is cut from the left to as many tokens as `context` leaves room for.
  /// The tokens of a continuation are those that the tokeniser gives for both together behind as
  /// many as it gives for the context alone. Throws FileError, also for a context or a
  /// continuation without tokens.
  QuestionScorer(const std::vector<schema::Component>& sets, const data::StreamTokeniser& tokeniser,
                 std::int64_t context);

  bool empty() const { return sets_.empty(); }
  std::vector<metrics::MetricInfo> metrics() const;

  /// Logits (b, n, vocabulary) on the host for tokens (b, n) int64 on the host.
  using Network = std::function<Tensor(const Tensor& tokens)>;
  /// Scores every continuation, in batches of `batch_size` samples of `context` tokens or of more
  /// shorter ones.
  Metrics measure(const Network& network, std::int64_t batch_size, const Device& host) const;
  /// {SET: {"questions", "cut_contexts", "cut_continuations"}}: how many there are, and how many
  /// contexts and continuations were longer than the samples of training.
  schema::Value describe() const;
  /// The same for people, where anything was cut.
  std::vector<std::string> notes() const;

 private:
  struct Row {
    std::vector<std::int64_t> tokens;  // without the last, which only follows
    std::vector<std::int64_t> next;    // behind the last tokens, those that are scored
    std::size_t question = 0, choice = 0;
  };
  struct Set {
    metrics::QuestionScores scores;
    std::vector<metrics::ScoredQuestion> questions;  // without scores
    std::vector<Row> rows;                           // the longest first
    std::int64_t cut_contexts = 0, cut_continuations = 0;
  };
  void score(const Network& network, const Set& set, std::size_t begin, std::size_t end,
             const Device& host, std::vector<metrics::ScoredQuestion>& into) const;

  std::vector<Set> sets_;
  std::int64_t context_ = 0;
};

}  // namespace fovea::training
