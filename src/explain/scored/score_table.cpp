#include "explain/scored/score_table.h"

#include <algorithm>

namespace fovea::explain {
namespace {

bool is_random(const ScoreRow& row) { return row.method == "random"; }

std::vector<std::vector<double>> random_values(const ScoredRun& run, std::size_t score) {
  std::vector<std::vector<double>> seeds;
  for (const ScoredRow& seed : run.random) seeds.push_back(seed.values[score]);
  return seeds;
}

const ScoredRow& method_row(const ScoredRun& run, const std::string& method) {
  return *std::ranges::find_if(run.methods,
                               [&](const ScoredRow& one) { return one.method == method; });
}

// Adds the cells of one score to every row.
void add_cells(const ScoredRuns& scored, std::size_t s, std::vector<ScoreRow>& rows) {
  const Better better = scored.scores[s].score->rule.better;
  const std::vector<double> first = values_of(scored, rows.front(), s);
  std::vector<AgainstRandom> to_random, to_first;
  for (ScoreRow& row : rows) {
    const std::vector<double> values = values_of(scored, row, s);
    const std::vector<double> chance = mean_over_seeds(random_values(scored.runs[row.run], s));
    const AgainstRandom against = compared(values, chance, better);
    row.cells.push_back({against.value});
    if (better == Better::kNeither) continue;
    if (!is_random(row)) to_random.push_back(against);
    if (&row != &rows.front()) to_first.push_back(compared(values, first, better));
  }
  if (better == Better::kNeither) return;
  adjust(to_random);
  adjust(to_first);
  auto random = to_random.begin(), other = to_first.begin();
  for (ScoreRow& row : rows) {
    if (!is_random(row)) row.cells[s].random = *random++;
    if (&row != &rows.front()) row.cells[s].first = *other++;
  }
}

}  // namespace

std::vector<double> values_of(const ScoredRuns& scored, const ScoreRow& row, std::size_t score) {
  const ScoredRun& run = scored.runs[row.run];
  return is_random(row) ? mean_over_seeds(random_values(run, score))
                        : method_row(run, row.method).values[score];
}

std::vector<ScoreRow> score_table(const ScoredRuns& scored) {
  std::vector<ScoreRow> rows;
  for (std::size_t r = 0; r < scored.runs.size(); ++r) {
    for (const ScoredRow& method : scored.runs[r].methods) rows.push_back({r, method.method, {}});
    rows.push_back({r, "random", {}});
  }
  for (std::size_t s = 0; s < scored.scores.size(); ++s) add_cells(scored, s, rows);
  return rows;
}

void MeanCurve::add(const std::vector<double>& at_share) {
  const metrics::Estimate estimate = metrics::estimate(at_share);
  mean.push_back(estimate.mean);
  half_width.push_back(estimate.n > 1 ? estimate.high - estimate.mean : 0);
}

std::optional<MeanCurve> mean_curve(const ScoredRuns& scored, const ScoreRow& row,
                                    std::size_t score) {
  const ScoredRun& run = scored.runs[row.run];
  std::vector<const ScoredRow*> rows;
  if (is_random(row)) {
    for (const ScoredRow& seed : run.random) rows.push_back(&seed);
  } else {
    rows.push_back(&method_row(run, row.method));
  }
  const std::vector<Scored>& first = rows.front()->curves[score];
  if (first.empty()) return {};
  for (const ScoredRow* one : rows) {
    for (const Scored& curve : one->curves[score])
      if (curve.shares != first.front().shares) return {};
  }
  MeanCurve result{first.front().shares, {}, {}};
  for (std::size_t t = 0; t < result.shares.size(); ++t) {
    std::vector<double> at_share;  // of each sample, the mean over seeds
    for (std::size_t i = 0; i < first.size(); ++i) {
      double sum = 0;
      for (const ScoredRow* one : rows) sum += one->curves[score][i].watched[t];
      at_share.push_back(sum / static_cast<double>(rows.size()));
    }
    result.add(at_share);
  }
  return result;
}

}  // namespace fovea::explain
