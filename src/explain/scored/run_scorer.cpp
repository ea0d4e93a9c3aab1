#include "explain/scored/run_scorer.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "data/images/image_dataset.h"
#include "data/texts/text_dataset.h"
#include "explain/naming.h"
#include "explain/scored/on_units.h"
#include "explain/targets.h"
#include "tensor/host.h"

namespace fovea::explain {

using visualise::Reads;
using visualise::ShownRun;

// Samples of one size.
struct RunScorer::Batch {
  std::vector<std::int64_t> samples;
  std::vector<float> pixels;      // (b, c, h, w)
  std::vector<std::int64_t> ids;  // (b, n)
  Shape shape;                    // of one sample
  std::vector<std::int64_t> targets = {};
  std::optional<Units> units = {};

  Tensor input(const Device& host) const {
    Shape all{std::ssize(samples)};
    for (const std::int64_t size : shape) all.push_back(size);
    return ids.empty() ? Tensor::from(pixels, all, host) : Tensor::from(ids, all, host);
  }
};

namespace {

bool asks_for(const std::vector<AskedScore>& scores, Need need) {
  return std::ranges::any_of(scores, [&](const AskedScore& one) {
    return std::ranges::find(one.score->rule.needs, need) != one.score->rule.needs.end();
  });
}

// 1 where a pixel is of the class.
std::vector<std::uint8_t> mask_of(const ShownRun& run, std::int64_t sample, std::int64_t target,
                                  std::int64_t classes) {
  const std::int64_t label = classes == 1 ? 1 : target;  // a soft mask: 1 is foreground
  std::vector<std::uint8_t> mask;
  for (const double truth : host_doubles(run.pixel_classes(sample).truth))
    mask.push_back(static_cast<std::int64_t>(truth) == label ? 1 : 0);
  return mask;
}

}  // namespace

Judges judges_of(const ShownRun& run) {
  const Reads reads = reads_of(run);
  if (reads == Reads::kTexts) return Judges::kTexts;
  FOVEA_CHECK(
      reads == Reads::kOneGrid || reads == Reads::kSeveralGrids, ConfigError,
      fmt::format("{}: reads {}; expected a network of images or texts", run.name, name_of(reads)));
  return run.model.interface() == models::Interface::kDenseNetwork ? Judges::kSegmentations
                                                                   : Judges::kImages;
}

RunScorer::RunScorer(const ScoreRequest& asked, const ShownRun& run,
                     const std::vector<AskedMethod>& methods, const std::vector<AskedScore>& scores)
    : asked_(asked),
      run_(run),
      methods_(methods),
      scores_(scores),
      judges_(judges_of(run)),
      logits_(logits_of(run.model)),
      colours_(colours_of(run)),
      result_{run.name, run.title, run.weights, run.configuration, {}, {}, {}} {
  if (asks_for(scores, Need::kRandomised)) {
    FOVEA_CHECK(run.fresh, ConfigError,
                fmt::format("{}: how its network is made anew is not known; expected a run, a file "
                            "of export or an experiment file",
                            run.name));
    const std::uint64_t other = RandomStream(asked.seed).fork("random parameters").word(0);
    fresh_ = run.fresh(static_cast<std::int64_t>(other));
    randomisation_ = std::make_unique<Randomisation>(run.model, *fresh_, RandomOrder::kTopDown);
  }
  const ScoredRow empty{"", std::vector<std::vector<double>>(scores.size()),
                        std::vector<std::vector<Scored>>(scores.size())};
  for (const AskedMethod& method : methods) {
    result_.methods.push_back(empty);
    result_.methods.back().method = method.method->name;
  }
  for (std::int64_t k = 0; k < asked.random_seeds; ++k) {
    result_.random.push_back(empty);
    result_.random.back().method = "random";
  }
}

RunScorer::~RunScorer() = default;

// Methods keep the maps of all layers of the samples that they explain, which took 22 GB for 64
// images of 96 x 96 and a network with a decoder. Fewer samples of large images change no number.
std::int64_t RunScorer::explained_at_once(const Batch& one) const {
  constexpr std::int64_t kPixels = 64 * 32 * 32;
  const std::int64_t pixels = one.pixels.empty() ? 1 : one.shape[1] * one.shape[2];
  return std::clamp<std::int64_t>(kPixels / pixels, 1, asked_.batch_size);
}

std::vector<RunScorer::Batch> RunScorer::batches_of(
    const std::vector<std::int64_t>& samples) const {
  std::vector<Batch> batches;
  for (const std::int64_t i : samples) {
    Batch one{{i}, {}, {}, {}};
    if (judges_ == Judges::kTexts) {
      const data::TextDataset& texts = data::texts_of(run_.samples);
      for (const auto id : texts.ids_of(texts.words_of(texts.text(i)))) one.ids.push_back(id);
      one.shape = {std::ssize(one.ids)};
    } else {
      data::Sample sample = run_.samples.blank();
      run_.samples.prepare(i, {.seed = asked_.seed, .corruption = asked_.noise}, sample);
      const Tensor image = sample.at("image");
      const auto values = image.values<float>();
      one.pixels.assign(values.begin(), values.end());
      one.shape = image.shape();
    }
    const bool fits = !batches.empty() && batches.back().shape == one.shape &&
                      std::ssize(batches.back().samples) < explained_at_once(one);
    if (!fits) {
      batches.push_back(std::move(one));
      continue;
    }
    Batch& last = batches.back();
    last.samples.push_back(i);
    last.pixels.insert(last.pixels.end(), one.pixels.begin(), one.pixels.end());
    last.ids.insert(last.ids.end(), one.ids.begin(), one.ids.end());
  }
  return batches;
}

Explanation RunScorer::explained(const AskedMethod& method, const Subject& subject,
                                 const std::vector<std::int64_t>& targets,
                                 const std::vector<std::int64_t>& samples) const {
  std::vector<RandomStream> streams;
  for (const std::int64_t sample : samples)
    streams.push_back(explanation_stream(asked_.seed, sample));
  return naming(run_, [&] {
    return method.method->explain({.subject = subject,
                                   .targets = targets,
                                   .random = streams,
                                   .batch_size = asked_.batch_size,
                                   .colours = colours_},
                                  method.options);
  });
}

std::string RunScorer::misfit(const AskedMethod& method, std::int64_t sample) const {
  const std::vector<Batch> batches = batches_of({sample});
  const Subject subject(run_.model, batches.front().input(run_.host));
  try {
    explained(method, subject, subject.predicted(), {sample});
    return "";
  } catch (const ConfigError& error) {
    return error.what();
  }
}

RunScorer::Relevance RunScorer::relevance_of(const AskedMethod& method, const Batch& batch,
                                             const Subject& subject) const {
  const Explanation found = explained(method, subject, batch.targets, batch.samples);
  Relevance relevance;
  for (std::int64_t i = 0; i < std::ssize(batch.samples); ++i) {
    if (batch.units) {
      relevance.push_back(on_units(found, i, *batch.units));
      continue;
    }
    const auto first = found.values.begin() + i * found.grid.count();
    relevance.emplace_back(first, first + found.grid.count());
  }
  return relevance;
}

// [step][method] on networks that are random in more and more modules.
std::vector<std::vector<RunScorer::Relevance>> RunScorer::randomised(const Batch& batch) {
  std::vector<std::vector<Relevance>> steps;
  if (!randomisation_) return steps;
  const auto asked = [&](const char* name) {
    return std::ranges::any_of(scores_,
                               [&](const AskedScore& one) { return one.score->name == name; });
  };
  // eMPRT asks for the last step alone.
  for (std::int64_t k = asked("mprt") ? 1 : randomisation_->steps(); k <= randomisation_->steps();
       ++k) {
    randomisation_->set(k);
    const Subject subject(run_.model, batch.input(run_.host));
    std::vector<Relevance>& step = steps.emplace_back();
    for (const AskedMethod& method : methods_) step.push_back(relevance_of(method, batch, subject));
    if (asked_.stop()) break;
  }
  randomisation_->set(0);
  return steps;
}

// Of a sample, whatever stands in the batch beside it. explain A.17.
std::vector<double> RunScorer::random_relevance(std::int64_t seed, std::int64_t sample,
                                                std::size_t count) const {
  const RandomStream stream = RandomStream(asked_.seed)
                                  .fork("random relevance")
                                  .fork(as_index(seed))
                                  .fork(as_index(sample));
  std::vector<double> relevance;
  for (std::size_t i = 0; i < count; ++i)
    relevance.push_back(static_cast<double>(stream.uniform(i)));
  return relevance;
}

void RunScorer::score(ScoredRow& row, const Explained& explained) {
  for (std::size_t s = 0; s < scores_.size(); ++s) {
    Scored scored = scores_[s].score->score(explained, scores_[s].options);
    row.values[s].push_back(scored.value);
    if (!scored.shares.empty()) row.curves[s].push_back(std::move(scored));
  }
}

void RunScorer::add_batch(Batch& batch, const std::function<void()>& step) {
  const Tensor input = batch.input(run_.host);
  const Subject subject(run_.model, input);
  if (judges_ != Judges::kTexts) batch.units = units_of(subject);
  const bool labels = run_.samples.has("label");
  for (std::int64_t i = 0; i < std::ssize(batch.samples); ++i) {
    const std::int64_t sample = batch.samples[as_index(i)];
    const auto label = labels ? std::optional(run_.samples.label(sample)) : std::nullopt;
    batch.targets.push_back(target_of(asked_.target, run_, subject, i, label));
    result_.targets.push_back(class_name(run_, batch.targets.back()));
  }
  std::vector<Relevance> relevance;
  for (const AskedMethod& method : methods_)
    relevance.push_back(relevance_of(method, batch, subject));
  const std::vector<std::vector<Relevance>> after = randomised(batch);
  for (std::int64_t i = 0; i < std::ssize(batch.samples); ++i) {
    const std::int64_t sample = batch.samples[as_index(i)];
    const std::int64_t target = batch.targets[as_index(i)];
    const Questions questions(logits_, asked_.batch_size);
    Explained e{.relevance = {}, .target = target};
    e.stream = RandomStream(asked_.seed).fork("scores").fork(as_index(sample));
    if (judges_ != Judges::kSegmentations) e.network = &questions;
    if (judges_ == Judges::kTexts) {
      const auto first = batch.ids.begin() + i * batch.shape[0];
      e.text.assign(first, first + batch.shape[0]);
    } else {
      e.image = image_at(input, i);
      e.units = batch.units;
      e.colours = colours_;
    }
    if (asks_for(scores_, Need::kMask))
      e.mask = mask_of(run_, sample, target, subject.clean_scores().size(1));
    for (std::size_t m = 0; m < methods_.size(); ++m) {
      step();
      e.relevance = relevance[m][as_index(i)];
      e.randomised.clear();
      for (const std::vector<Relevance>& one : after) e.randomised.push_back(one[m][as_index(i)]);
      e.explain = [&, m](const Image& image) {
        const Tensor x =
            Tensor::from(image.values, {1, image.channels, image.height, image.width}, run_.host);
        const Subject other(run_.model, x);
        return on_units(explained(methods_[m], other, {target}, {sample}), 0, *batch.units);
      };
      score(result_.methods[m], e);
    }
    const std::size_t count = batch.units ? as_index(batch.units->count()) : e.text.size();
    for (std::int64_t k = 0; k < asked_.random_seeds; ++k) {
      step();
      e.relevance = random_relevance(k, sample, count);
      e.randomised = {e.relevance};
      e.explain = [&e](const Image&) { return e.relevance; };
      score(result_.random[as_index(k)], e);
    }
  }
}

void RunScorer::add(const std::vector<std::int64_t>& samples, const std::function<void()>& step) {
  for (Batch& batch : batches_of(samples)) add_batch(batch, step);
}

}  // namespace fovea::explain
