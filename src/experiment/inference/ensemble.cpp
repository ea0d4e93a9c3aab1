#include "experiment/inference/ensemble.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <optional>
#include <utility>

#include "base/error.h"
#include "data/audio/speech_dataset.h"
#include "data/boxes/box_dataset.h"
#include "data/given/given_samples.h"
#include "data/images/image_dataset.h"
#include "data/loader.h"
#include "ops/elementwise.h"

namespace fovea::experiment {
namespace {

// What the samples of a run are, as messages call it.
std::string input_words(const data::Dataset& samples) {
  if (data::find_volumes(samples) != nullptr) return "volumes";
  return samples.has("image") ? "pictures" : "texts";
}

// "cat, dog", or of many their number.
std::string names_text(const std::vector<std::string>& names) {
  if (names.size() > 10) return fmt::format("{} of them", names.size());
  return fmt::format("{}", fmt::join(names, ", "));
}

// Where the classes of a run part from those of the first.
std::string classes_difference(const std::vector<std::string>& ours,
                               const std::vector<std::string>& others) {
  if (ours.size() != others.size())
    return fmt::format("{} classes ({}), the first run has {} ({})", others.size(),
                       names_text(others), ours.size(), names_text(ours));
  for (std::size_t c = 0; c < ours.size(); ++c) {
    if (ours[c] != others[c])
      return fmt::format("class {} is \"{}\", the first run's \"{}\"", c, others[c], ours[c]);
  }
  return "";
}

// The next batch. Where no sample at all can be read, nothing: skipped() says why of each.
std::optional<data::Batch> next_readable(data::Loader& loader) {
  try {
    return loader.next();
  } catch (const FileError&) {
    if (loader.skipped().empty()) throw;
    return std::nullopt;
  }
}

}  // namespace

void Ensemble::check_alike(Run& first, Run& other, const std::string& which) {
  const data::Dataset& a = samples_of(first);
  const data::Dataset& b = samples_of(other);
  const auto check = [&](bool alike, const std::string& what, const std::string& there,
                         const std::string& here) {
    FOVEA_CHECK(alike, ConfigError,
                fmt::format("{}: {} {}, the first run's {}; runs that are averaged predict the "
                            "same classes of the same inputs",
                            which, what, there, here));
  };
  const auto compare = [&](const std::string& what, const std::string& ours,
                           const std::string& others) {
    check(ours == others, what, others, ours);
  };
  compare("reads", input_words(a), input_words(b));
  compare("its network is", models::info_of(first.model().interface()).name,
          models::info_of(other.model().interface()).name);
  const std::string classes = classes_difference(a.output_names(), b.output_names());
  FOVEA_CHECK(classes.empty(), ConfigError,
              fmt::format("{}: {}; runs that are averaged predict the same classes of the same "
                          "inputs",
                          which, classes));
  if (first.model().interface() != models::Interface::kDenseNetwork) return;
  if (const auto* volumes = data::find_volumes(a)) {
    const data::VolumeDataset& others = *data::find_volumes(b);
    compare("reads channels:", std::to_string(volumes->info().channels),
            std::to_string(others.info().channels));
    compare("brings volumes to a spacing of",
            fmt::format("{} mm", fmt::join(volumes->plan().spacing, " x ")),
            fmt::format("{} mm", fmt::join(others.plan().spacing, " x ")));
    compare("canonical axes:", volumes->plan().canonical ? "true" : "false",
            others.plan().canonical ? "true" : "false");
    return;
  }
  const data::SampleShape ours = a.shape(), theirs = b.shape();
  compare("sees pictures at", fmt::format("{} x {}", ours.height, ours.width),
          fmt::format("{} x {}", theirs.height, theirs.width));
}

Ensemble::Ensemble(std::vector<Run*> runs) : runs_(std::move(runs)) {
  for (Run* run : runs_) run->model().train(false);
  const bool averaged =
      data::find_boxes(samples()) == nullptr && data::find_speech(samples()) == nullptr;
  FOVEA_CHECK(averaged || runs_.size() == 1, ConfigError,
              "several runs: those of classes, masks and volumes are averaged; expected one run of "
              "a detector or a transcriber");
  for (std::size_t r = 1; r < runs_.size(); ++r)
    check_alike(first(), *runs_[r], fmt::format("run {} ({})", r + 1, runs_[r]->experiment().name));
}

std::int64_t Ensemble::eval_batch_size() const {
  return first().task().source().options().eval_batch_size();
}

std::vector<std::string> Ensemble::each_batch(const Prepare& prepare, std::int64_t batch_size,
                                              const Visit& visit) const {
  std::vector<std::unique_ptr<data::Loader>> loaders;
  for (Run* run : runs_) {
    const training::BatchOptions& options = run->task().source().options();
    std::shared_ptr<const data::Dataset> given = prepare(samples_of(*run));
    data::LoaderOptions how;
    how.batch_size = data::one_a_batch(given->fields()) ? 1 : batch_size;
    how.num_workers = options.train.num_workers;
    loaders.push_back(std::make_unique<data::Loader>(std::move(given), how, options.host));
    loaders.back()->start(0);
  }
  while (const std::optional<data::Batch> batch = next_readable(*loaders.front())) {
    Tensor sum = first().task().probabilities_of(*batch);
    for (std::size_t r = 1; r < runs_.size(); ++r) {
      const std::optional<data::Batch> own = loaders[r]->next();
      FOVEA_CHECK(own && own->indices == batch->indices, FileError,
                  "the inputs have changed while they were read");
      sum = ops::add(sum, runs_[r]->task().probabilities_of(*own));
    }
    if (!visit(*batch, mean(sum))) break;
  }
  return loaders.front()->skipped();
}

Ensemble::VolumeProbabilities Ensemble::probabilities_of(
    const std::vector<std::filesystem::path>& images) const {
  VolumeProbabilities result;
  for (Run* run : runs_) {
    const data::VolumeDataset& volumes = *data::find_volumes(samples_of(*run));
    const data::GivenVolume given =
        data::given_volume(volumes, images, run->task().source().options().host);
    data::Batch batch;
    batch.set("image", given.image);
    batch.indices = {0};
    const Tensor prob = run->task().probabilities_of(batch);
    result.values = result.values.defined() ? ops::add(result.values, prob) : prob;
    result.place = given.place;
  }
  result.values = mean(result.values);
  result.values = result.values.alias(result.values.shape().part(1, 5));
  return result;
}

// A single run's stay what they are, to the bit.
Tensor Ensemble::mean(const Tensor& sum) const {
  return runs_.size() == 1 ? sum : ops::mul(sum, 1.0 / static_cast<double>(runs_.size()));
}

}  // namespace fovea::experiment
