#include "explain/interventions/judged_heads.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "data/collate.h"
#include "explain/interventions/run_heads.h"
#include "explain/maps/tokens.h"
#include "explain/samples.h"
#include "ops/elementwise.h"

namespace fovea::explain {
namespace {

using visualise::ShownRun;
using Step = std::function<void()>;

void check_classifies(const ShownRun& run) {
  const models::Interface network = run.model.interface();
  const bool classifies = network == models::Interface::kImageClassifier ||
                          network == models::Interface::kTextClassifier;
  FOVEA_CHECK(classifies && run.model.has_head() && run.samples.has("label"), ConfigError,
              fmt::format("{}: the network is {}; expected a classifier of images or texts and "
                          "samples with a class",
                          run.name, models::info_of(network).name));
}

// Some samples as the run sees them.
data::Batch batch_of(const ShownRun& run, const std::vector<std::int64_t>& samples) {
  data::Collator collator(run.samples.fields(), std::ssize(samples), run.host);
  data::Sample sample;
  for (const std::int64_t i : samples) {
    collator.next(sample);
    run.samples.prepare(i, {}, sample);
    collator.add(sample);
  }
  return collator.finish();
}

HeadEffects effects_of(const ShownRun& run, const std::vector<HeadSite>& sites,
                       const std::vector<std::int64_t>& samples, std::int64_t batch_size,
                       const Step& step) {
  const std::string& input = models::info_of(run.model.interface()).reads.front().name;
  HeadEffects all;
  for (std::size_t begin = 0; begin < samples.size(); begin += as_index(batch_size)) {
    const std::size_t end = std::min(begin + as_index(batch_size), samples.size());
    const data::Batch batch = batch_of(run, {samples.begin() + static_cast<std::ptrdiff_t>(begin),
                                             samples.begin() + static_cast<std::ptrdiff_t>(end)});
    const Tensor there = ops::to(batch.at(input), run.device);
    all.append(head_effects(run.model, sites, models::only_input(run.model.interface(), there),
                            ops::to(batch.at("label"), run.device), step));
  }
  return all;
}

JudgedRun judged(const ShownRun& run, const std::vector<HeadSite>& sites,
                 const HeadEffects& effects) {
  const HeadImportance means = effects.means();
  JudgedRun result{.name = run.name,
                   .title = run.title,
                   .weights = run.weights,
                   .loss = means.loss,
                   .top1 = means.top1,
                   .modules = {},
                   .heads = {},
                   .normalised_importance = normalised_by_layer(means.importance)};
  std::vector<double> p;
  for (std::size_t layer = 0; layer < sites.size(); ++layer) {
    result.modules.push_back(sites[layer].module);
    std::vector<JudgedHead>& heads = result.heads.emplace_back();
    for (std::size_t head = 0; head < effects.importance[layer].size(); ++head) {
      heads.push_back({.loss = metrics::estimate(effects.ablation_loss[layer][head]),
                       .top1 = metrics::estimate(effects.ablation_right[layer][head]),
                       .importance = metrics::estimate(effects.importance[layer][head])});
      p.push_back(metrics::sign_flip_p(effects.ablation_loss[layer][head]));
    }
  }
  p = metrics::holm(p);
  auto next = p.begin();
  for (std::vector<JudgedHead>& heads : result.heads)
    for (JudgedHead& head : heads) head.loss_p = *next++;
  return result;
}

}  // namespace

JudgedHeads judge_heads(const HeadRequest& asked) {
  FOVEA_CHECK(!asked.runs.empty(), ConfigError, "explain: expected at least one run");
  for (const ShownRun& run : asked.runs) check_classifies(run);
  const std::vector<std::int64_t> samples = common_samples(asked.runs, asked.limit);
  std::vector<std::vector<HeadSite>> sites;
  std::vector<std::int64_t> batch_sizes;
  std::int64_t total = 0, done = 0;
  for (const ShownRun& run : asked.runs) {
    sites.push_back(head_sites(run));
    batch_sizes.push_back(data::one_a_batch(run.samples.fields()) ? 1 : asked.batch_size);
    const std::int64_t batches =
        (std::ssize(samples) + batch_sizes.back() - 1) / batch_sizes.back();
    total += batches * head_passes(sites.back());
  }
  const Step step = [&] {
    if (asked.stop())
      throw Interrupted(
          fmt::format("stopped after {} of {} passes; nothing is written", done, total));
    if (asked.progress) asked.progress(done, total);
    ++done;
  };
  const data::Dataset& first = asked.runs.front().samples;
  JudgedHeads result{
      std::string(data::name_of(asked.runs.front().split)), std::ssize(samples), first.size(), {}};
  for (std::size_t r = 0; r < asked.runs.size(); ++r)
    result.runs.push_back(
        judged(asked.runs[r], sites[r],
               effects_of(asked.runs[r], sites[r], samples, batch_sizes[r], step)));
  if (asked.progress) asked.progress(total, total);
  return result;
}

}  // namespace fovea::explain
