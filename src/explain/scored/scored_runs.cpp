#include "explain/scored/scored_runs.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/error.h"
#include "data/augment/corruptions.h"
#include "explain/samples.h"
#include "explain/scored/run_scorer.h"

namespace fovea::explain {
namespace {

using visualise::ShownRun;

void check_noise(const ScoreRequest& asked) {
  if (!asked.noise) return;
  for (const ShownRun& run : asked.runs) {
    FOVEA_CHECK(
        judges_of(run) != Judges::kTexts && !run.samples.noise_types().empty(), ConfigError,
        fmt::format("--noise: is of images, and {} has none that can be corrupted", run.name));
  }
  data::corruption_from_name(asked.noise->type);
}

std::vector<std::string> split_options(const ScoreRequest& asked, bool of_scores) {
  std::vector<std::string> own;
  std::ranges::copy_if(asked.options, std::back_inserter(own),
                       [&](const std::string& option) { return is_of_score(option) == of_scores; });
  return own;
}

// Named methods without random, which is always there; or the usual ones that all runs have.
std::vector<AskedMethod> methods_of(const ScoreRequest& asked, std::int64_t sample) {
  const bool named = !asked.methods.empty();
  std::vector<AskedMethod> methods =
      asked_methods(named ? asked.methods : usual_methods(), split_options(asked, false));
  std::erase_if(methods, [](const AskedMethod& one) { return one.method->name == "random"; });
  if (named) return methods;
  const std::vector<AskedScore> no_scores;
  for (const ShownRun& run : asked.runs) {
    const RunScorer scorer(asked, run, methods, no_scores);
    std::erase_if(methods, [&](const AskedMethod& method) {
      const std::string why = scorer.misfit(method, sample);
      if (!why.empty()) asked.note(fmt::format("{} is left out: {}", method.method->name, why));
      return !why.empty();
    });
  }
  return methods;
}

}  // namespace

const std::vector<std::string>& usual_methods() {
  static const std::vector<std::string> names = {"raw_attention",     "rollout",
                                                 "generic_attention", "attention_gradcam",
                                                 "grad_cam",          "gradient_x_input"};
  return names;
}

ScoredRuns score_runs(const ScoreRequest& asked) {
  FOVEA_CHECK(!asked.runs.empty() && !asked.scores.empty(), ConfigError,
              "explain: expected at least one run and one score");
  const ShownRun& first = asked.runs.front();
  const Judges judges = judges_of(first);
  for (const ShownRun& run : asked.runs) {
    FOVEA_CHECK(
        judges_of(run) == judges, ConfigError,
        fmt::format("{}: has another task than {}; score them apart", run.name, first.name));
  }
  check_noise(asked);
  std::vector<std::string> left_out;
  ScoredRuns result{
      .scores = asked_scores(asked.scores, split_options(asked, true), judges, left_out),
      .split = std::string(data::name_of(first.split)),
      .available = first.samples.size(),
      .noise = asked.noise,
      .samples = {},
      .runs = {}};
  for (const std::string& line : left_out) asked.note(line);
  const std::vector<std::int64_t> samples = common_samples(asked.runs, asked.limit);
  for (const std::int64_t i : samples) result.samples.push_back(first.samples.name(i));
  const std::vector<AskedMethod> methods = methods_of(asked, samples.front());
  const auto rows = std::ssize(methods) + asked.random_seeds;
  const std::int64_t total = std::ssize(asked.runs) * std::ssize(samples) * rows;
  std::int64_t done = 0;
  const auto step = [&] {
    if (asked.stop())
      throw Interrupted(fmt::format(
          "stopped after {} of {} scored explanations; nothing is written", done, total));
    if (asked.progress) asked.progress(done, total);
    ++done;
  };
  for (const ShownRun& run : asked.runs) {
    RunScorer scorer(asked, run, methods, result.scores);
    constexpr std::size_t kRead = 64;  // samples that are read at once
    for (std::size_t begin = 0; begin < samples.size(); begin += kRead) {
      const auto end = std::min(begin + kRead, samples.size());
      scorer.add({samples.begin() + static_cast<std::ptrdiff_t>(begin),
                  samples.begin() + static_cast<std::ptrdiff_t>(end)},
                 step);
    }
    result.runs.push_back(scorer.result());
  }
  if (asked.progress) asked.progress(total, total);
  return result;
}

}  // namespace fovea::explain
