#include "explain/diagnostics/diagnosed_runs.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/error.h"
#include "base/suggest.h"
#include "data/collate.h"
#include "explain/samples.h"

namespace fovea::explain {
namespace {

using visualise::Reads;
using visualise::ShownRun;

// All, or those that are asked for; throws for unknown names.
std::vector<std::string> metric_names(const std::vector<std::string>& asked) {
  std::vector<std::string> known;
  for (const AttentionMetric& metric : attention_metrics()) known.push_back(metric.info.name);
  for (const std::string& name : asked) {
    FOVEA_CHECK(find_attention_metric(name) != nullptr, ConfigError,
                fmt::format("--metric {}: no diagnostic of attention has that name{} (known: {})",
                            name, did_you_mean(name, known), fmt::join(known, ", ")));
  }
  return asked.empty() ? known : asked;
}

// The one input of a network that the diagnostics can be made of.
const std::string& input_of(const ShownRun& run) {
  const Reads reads = visualise::reads_of(run);
  const auto& inputs = models::info_of(run.model.interface()).reads;
  const bool fits = reads == Reads::kTexts || reads == Reads::kStreams ||
                    reads == Reads::kOneGrid || reads == Reads::kSeveralGrids;
  FOVEA_CHECK(fits && inputs.size() == 1, ConfigError,
              fmt::format("{}: is {}, which reads {}; expected a network of images or texts alone",
                          run.name, models::info_of(run.model.interface()).name,
                          visualise::name_of(reads)));
  return inputs.front().name;
}

data::Batch batch_of(const ShownRun& run, std::int64_t sample) {
  data::Collator collator(run.samples.fields(), 1, run.host);
  data::Sample one;
  collator.next(one);
  run.samples.prepare(sample, {}, one);
  collator.add(one);
  return collator.finish();
}

std::string misfit(const DiagnosedMetric& metric, const std::string& run) {
  return fmt::format("{}: {}", run, why_undefined(*metric.metric));
}

// Leaves out what no run has.
void drop_undefined(DiagnosedRuns& all, const std::function<void(const std::string&)>& note) {
  for (std::size_t m = 0; m < all.runs.front().metrics.size();) {
    const bool somewhere = std::ranges::any_of(
        all.runs, [&](const DiagnosedRun& run) { return run.metrics[m].defined(); });
    if (somewhere) {
      ++m;
      continue;
    }
    note(fmt::format("left out: {}", why_undefined(*all.runs.front().metrics[m].metric)));
    for (DiagnosedRun& run : all.runs)
      run.metrics.erase(run.metrics.begin() + static_cast<std::ptrdiff_t>(m));
  }
}

}  // namespace

DiagnosedRuns diagnose_runs(const DiagnosisRequest& asked) {
  FOVEA_CHECK(!asked.runs.empty(), ConfigError, "attention: expected at least one run");
  const std::vector<std::string> names = metric_names(asked.metrics);
  const ShownRun& first = asked.runs.front();
  const std::vector<std::int64_t> samples = common_samples(asked.runs, asked.limit);
  DiagnosedRuns result{
      std::string(data::name_of(first.split)), first.samples.size(), std::ssize(samples), {}};
  double done = 0;
  for (const ShownRun& run : asked.runs) {
    const std::string& field = input_of(run);
    run.model.train(false);
    AttentionDiagnosis diagnosis(names);
    for (const std::int64_t sample : samples) {
      const data::Batch batch = batch_of(run, sample);
      const Tensor* label = batch.find("label");
      diagnosis.add(run.model, batch.at(field), label != nullptr ? *label : Tensor());
      for (const DiagnosedMetric& one : diagnosis.metrics()) {
        FOVEA_CHECK(asked.metrics.empty() || one.defined(), ConfigError, misfit(one, run.name));
      }
      done += 1;
      if (asked.progress)
        asked.progress(done / static_cast<double>(samples.size() * asked.runs.size()));
    }
    result.runs.push_back({run.name, run.title, run.weights, diagnosis.metrics()});
  }
  drop_undefined(result, asked.note);
  FOVEA_CHECK(!result.runs.front().metrics.empty(), ConfigError,
              fmt::format("{}: has neither attention over tokens nor blocks that hand on tokens",
                          first.name));
  return result;
}

}  // namespace fovea::explain
