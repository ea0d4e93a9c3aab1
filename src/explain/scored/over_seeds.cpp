#include "explain/scored/over_seeds.h"

#include <algorithm>
#include <limits>
#include <map>
#include <utility>

namespace fovea::explain {
namespace {

// The runs of one configuration, by what was drawn for each.
struct Group {
  visualise::Configuration configuration;
  std::map<std::string, std::size_t> runs;
};

// A draw that comes again, e.g. another checkpoint of a run, begins a group of its own.
std::vector<Group> groups_of(const ScoredRuns& scored) {
  std::vector<Group> groups;
  for (std::size_t r = 0; r < scored.runs.size(); ++r) {
    const visualise::Configuration& c = scored.runs[r].configuration;
    const auto group = std::ranges::find_if(groups, [&](const Group& one) {
      return one.configuration.name == c.name && one.configuration.settings == c.settings &&
             !one.runs.contains(c.draw);
    });
    if (group == groups.end()) {
      groups.push_back({c, {{c.draw, r}}});
    } else {
      group->runs.emplace(c.draw, r);
    }
  }
  return groups;
}

class Means {
 public:
  explicit Means(const std::vector<ScoreRow>& rows) : rows_(rows) {}

  // Of the runs of a group, in the order of the draws of `order`; NaN where it has no such run.
  std::vector<double> of(const Group& group, const Group& order, const std::string& method,
                         std::size_t score) const {
    std::vector<double> means;
    for (const auto& [draw, _] : order.runs) {
      const auto run = group.runs.find(draw);
      means.push_back(run == group.runs.end() ? std::numeric_limits<double>::quiet_NaN()
                                              : mean(run->second, method, score));
    }
    return means;
  }

 private:
  double mean(std::size_t run, const std::string& method, std::size_t score) const {
    const auto row = std::ranges::find_if(
        rows_, [&](const ScoreRow& one) { return one.run == run && one.method == method; });
    return row->cells[score].value.mean;
  }

  const std::vector<ScoreRow>& rows_;
};

void add_cells(const std::vector<Group>& groups, const Means& means, std::size_t score,
               Better better, std::vector<SeedRow>& rows) {
  const std::size_t methods = rows.size() / groups.size();
  std::vector<AgainstRandom> to_random, to_first;
  std::vector<ScoreCell*> random_cells, first_cells;
  for (std::size_t r = 0; r < rows.size(); ++r) {
    const Group& group = groups[r / methods];
    const auto of = [&](const Group& one, const std::string& method) {
      return means.of(one, group, method, score);
    };
    const std::vector<double> values = of(group, rows[r].method);
    const AgainstRandom random = compared(values, of(group, "random"), better);
    ScoreCell& cell = rows[r].cells[score];
    cell.value = random.value;
    if (better == Better::kNeither) continue;
    if (rows[r].method != "random") {
      to_random.push_back(random);
      random_cells.push_back(&cell);
    }
    if (&group != &groups.front()) {
      to_first.push_back(compared(values, of(groups.front(), rows[r].method), better));
      first_cells.push_back(&cell);
    }
  }
  adjust(to_random);
  adjust(to_first);
  for (std::size_t i = 0; i < to_random.size(); ++i) random_cells[i]->random = to_random[i];
  for (std::size_t i = 0; i < to_first.size(); ++i) first_cells[i]->first = to_first[i];
}

}  // namespace

std::vector<SeedRow> over_seeds(const ScoredRuns& scored, const std::vector<ScoreRow>& rows) {
  const std::vector<Group> groups = groups_of(scored);
  if (std::ranges::all_of(groups, [](const Group& one) { return one.runs.size() < 2; })) return {};
  std::vector<SeedRow> result;
  for (const Group& group : groups) {
    std::vector<std::size_t> runs;
    for (const auto& [draw, run] : group.runs) runs.push_back(run);
    for (const ScoreRow& row : rows) {
      if (row.run != 0) continue;  // all runs have the same methods
      result.push_back({group.configuration.name, row.method, runs,
                        std::vector<ScoreCell>(scored.scores.size())});
    }
  }
  const Means means(rows);
  for (std::size_t s = 0; s < scored.scores.size(); ++s)
    add_cells(groups, means, s, scored.scores[s].score->rule.better, result);
  return result;
}

std::optional<MeanCurve> mean_curve(const ScoredRuns& scored, const SeedRow& row,
                                    std::size_t score) {
  std::vector<MeanCurve> curves;
  for (const std::size_t run : row.runs) {
    auto curve = mean_curve(scored, ScoreRow{run, row.method, {}}, score);
    if (!curve || (!curves.empty() && curve->shares != curves.front().shares)) return {};
    curves.push_back(*std::move(curve));
  }
  MeanCurve result{curves.front().shares, {}, {}};
  for (std::size_t t = 0; t < result.shares.size(); ++t) {
    std::vector<double> at_share;
    for (const MeanCurve& curve : curves) at_share.push_back(curve.mean[t]);
    result.add(at_share);
  }
  return result;
}

}  // namespace fovea::explain
