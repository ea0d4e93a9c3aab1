#include "training/tasks/language_modelling/question_scores.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "data/questions/question_set.h"
#include "data/streams/stream_dataset.h"
#include "ops/elementwise.h"
#include "ops/losses/loss.h"
#include "tensor/host.h"

namespace fovea::training {
namespace {

constexpr const char* kPath = "eval.questions";

metrics::QuestionScores scores_of(const data::QuestionEntry& entry) {
  return {entry.name, entry.kind.words, entry.kind.normalised};
}

struct Pair {
  data::StreamTokens tokens;     // of both
  std::size_t continuation = 0;  // tokens, the last ones
};

// Blanks at the end of a context belong to what follows, as tokens begin with them.
Pair encoded(const data::Continuation& choice, const data::StreamTokeniser& tokeniser,
             const std::string& where) {
  const std::size_t kept = choice.context.find_last_not_of(" \t\r\n") + 1;
  const std::size_t head = tokeniser.encode(choice.context.substr(0, kept)).size();
  Pair pair{tokeniser.encode(choice.context + choice.text)};
  FOVEA_CHECK(head > 0, FileError, where + ": the context has no token");
  FOVEA_CHECK(pair.tokens.size() > head, FileError,
              fmt::format("{}: \"{}\" adds no token to its context", where, choice.text));
  pair.continuation = pair.tokens.size() - head;
  return pair;
}

}  // namespace

std::vector<metrics::MetricInfo> question_metrics(const std::vector<schema::Component>& sets) {
  std::vector<metrics::MetricInfo> infos;
  for (std::size_t i = 0; i < sets.size(); ++i) {
    for (std::size_t before = 0; before < i; ++before)
      FOVEA_CHECK(sets[before].type != sets[i].type, ConfigError,
                  fmt::format("{}: {} is given twice", kPath, sets[i].type));
    for (metrics::MetricInfo& info :
         metrics::question_metrics(scores_of(data::question_sets().find(sets[i].type, kPath))))
      infos.push_back(std::move(info));
  }
  return infos;
}

QuestionScorer::QuestionScorer(const std::vector<schema::Component>& sets,
                               const data::StreamTokeniser& tokeniser, std::int64_t context)
    : context_(context) {
  question_metrics(sets);  // (each once)
  const auto most = static_cast<std::size_t>(context);
  for (const schema::Component& component : sets) {
    const data::QuestionEntry& entry = data::question_sets().find(component.type, kPath);
    Set& set = sets_.emplace_back();
    set.scores = scores_of(entry);
    for (const data::Question& question : entry.read(component, kPath)) {
      metrics::ScoredQuestion& asked = set.questions.emplace_back();
      asked.right = question.right;
      for (const data::Continuation& choice : question.choices) {
        const std::string where =
            fmt::format("{}, question {}", set.scores.set, set.questions.size());
        const Pair pair = encoded(choice, tokeniser, where);
        const auto& all = pair.tokens;
        const std::size_t inputs = std::min(all.size() - 1, most);
        const std::size_t scored = std::min(pair.continuation, inputs);
        set.cut_contexts += all.size() - 1 > most ? 1 : 0;
        set.cut_continuations += scored < pair.continuation ? 1 : 0;
        set.rows.push_back({{all.end() - static_cast<std::ptrdiff_t>(inputs) - 1, all.end() - 1},
                            {all.end() - static_cast<std::ptrdiff_t>(scored), all.end()},
                            set.questions.size() - 1,
                            asked.choices.size()});
        asked.choices.push_back({.bytes = std::max<std::int64_t>(choice.bytes, 1)});
      }
    }
    // Samples of about one length share a batch.
    std::stable_sort(set.rows.begin(), set.rows.end(),
                     [](const Row& a, const Row& b) { return a.tokens.size() > b.tokens.size(); });
  }
}

std::vector<metrics::MetricInfo> QuestionScorer::metrics() const {
  std::vector<metrics::MetricInfo> infos;
  for (const Set& set : sets_) {
    for (metrics::MetricInfo& info : metrics::question_metrics(set.scores))
      infos.push_back(std::move(info));
  }
  return infos;
}

void QuestionScorer::score(const Network& network, const Set& set, std::size_t begin,
                           std::size_t end, const Device& host,
                           std::vector<metrics::ScoredQuestion>& into) const {
  const std::size_t b = end - begin, n = set.rows[begin].tokens.size();
  // What stands behind the end of a sample changes nothing before it.
  std::vector<std::int64_t> tokens(b * n, 0), next(b * n, data::StreamDataset::kNoToken);
  for (std::size_t i = 0; i < b; ++i) {
    const Row& row = set.rows[begin + i];
    std::copy(row.tokens.begin(), row.tokens.end(),
              tokens.begin() + static_cast<std::ptrdiff_t>(i * n));
    std::copy(
        row.next.begin(), row.next.end(),
        next.begin() + static_cast<std::ptrdiff_t>(i * n + row.tokens.size() - row.next.size()));
  }
  const Shape shape{static_cast<std::int64_t>(b), static_cast<std::int64_t>(n)};
  const Tensor logits = ops::cast(network(Tensor::from(tokens, shape, host)), DType::kFloat32);
  const std::vector<double> losses = host_doubles(ops::cross_entropy(
      logits, Tensor::from(next, shape, host), {.reduction = ops::Reduction::kNone}));
  const auto values = logits.host_values<float>();
  const auto vocabulary = static_cast<std::size_t>(logits.size(2));
  for (std::size_t i = 0; i < b; ++i) {
    const Row& row = set.rows[begin + i];
    metrics::ScoredChoice& choice = into[row.question].choices[row.choice];
    choice.greedy = true;
    const std::size_t first = i * n + row.tokens.size() - row.next.size();
    for (std::size_t k = 0; k < row.next.size(); ++k) {
      choice.log_likelihood -= losses[first + k];
      const float* at = values.data() + (first + k) * vocabulary;
      const auto best = std::max_element(at, at + vocabulary) - at;
      if (set.scores.words && best != row.next[k]) choice.greedy = false;
    }
  }
}

Metrics QuestionScorer::measure(const Network& network, std::int64_t batch_size,
                                const Device& host) const {
  Metrics measured;
  for (const Set& set : sets_) {
    std::vector<metrics::ScoredQuestion> questions = set.questions;
    for (std::size_t begin = 0; begin < set.rows.size();) {
      const auto longest = static_cast<std::int64_t>(set.rows[begin].tokens.size());
      const auto rows = static_cast<std::size_t>(batch_size * context_ / longest);
      const std::size_t end = std::min(begin + std::max<std::size_t>(rows, 1), set.rows.size());
      score(network, set, begin, end, host, questions);
      begin = end;
    }
    for (metrics::Measurement& one : metrics::measure_questions(set.scores, questions))
      measured.push_back(std::move(one));
  }
  return measured;
}

schema::Value QuestionScorer::describe() const {
  schema::Value all = schema::Value::object();
  for (const Set& set : sets_)
    all.set(set.scores.set, schema::Value::object({{"questions", std::ssize(set.questions)},
                                                   {"cut_contexts", set.cut_contexts},
                                                   {"cut_continuations", set.cut_continuations}}));
  return all;
}

std::vector<std::string> QuestionScorer::notes() const {
  std::vector<std::string> notes;
  for (const Set& set : sets_) {
    if (set.cut_contexts > 0)
      notes.push_back(fmt::format(
          "{}: {} of {} contexts were cut from the left to samples of {} tokens{}", set.scores.set,
          set.cut_contexts, set.rows.size(), context_,
          set.cut_continuations == 0
              ? std::string()
              : fmt::format(
                    "; of {} continuations, which are longer themselves, the end was scored",
                    set.cut_continuations)));
  }
  return notes;
}

}  // namespace fovea::training
