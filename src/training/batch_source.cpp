#include "training/batch_source.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "data/volumes/volume_dataset.h"
#include "training/store/class_names.h"

namespace fovea::training {

BatchSource::BatchSource(data::Splits splits, BatchOptions options)
    : splits_(std::move(splits)), options_(std::move(options)) {
  if (!splits_.train) return;
  FOVEA_CHECK(options_.train.sampler != Sampler::kBalanced || splits_.train->has("label"),
              ConfigError,
              "train.sampler: balanced draws samples by their class; those of the data set have "
              "none");
  data::LoaderOptions o;
  o.batch_size = options_.train.batch_size;
  o.num_workers = options_.train.num_workers;
  o.shuffle = !options_.overfit;
  o.balanced = options_.train.sampler == Sampler::kBalanced;
  o.augment = !options_.overfit;
  o.seed = options_.seed;
  o.share = options_.share;
  loader_ = std::make_unique<data::Loader>(splits_.train, o, options_.host);
  if (auto whole = splits_.train->for_evaluation()) splits_.train = std::move(whole);
}

std::int64_t BatchSource::each_batch(data::Split split, const std::optional<NoiseLevel>& noise,
                                     const Visit& visit, const data::BatchShare& share) {
  data::LoaderOptions o;
  o.batch_size = data::one_a_batch(at(split).fields()) ? 1 : options_.eval_batch_size();
  o.num_workers = options_.train.num_workers;
  o.seed = options_.seed;
  o.corruption = noise;
  o.share = share;
  data::Loader loader(splits_.find(split), o, options_.host);
  loader.start(0);
  for (std::int64_t done = 1; const std::optional<data::Batch> batch = loader.next(); ++done) {
    visit(*batch);
    if (watch_) watch_(done, loader.num_batches());
  }
  skipped_[split] = loader.skipped();
  return loader.num_batches();
}

std::vector<data::Split> BatchSource::parts() const {
  std::vector<data::Split> parts;
  for (const data::Split part : {data::Split::kVal, data::Split::kTest}) {
    if (!options_.overfit && has(part)) parts.push_back(part);
  }
  if (parts.empty() && has(data::Split::kTrain)) parts.push_back(data::Split::kTrain);
  return parts;
}

std::map<std::string, std::string> BatchSource::files() const {
  std::map<std::string, std::string> files = splits_.any().weight_files();
  files[data::kDescriptionFile] = data::description_text(splits_.any().description());
  files[kClassesFile] = classes_text(output_names());
  return files;
}

std::vector<std::string> BatchSource::check_files(const std::map<std::string, std::string>& files,
                                                  const std::string& folder) const {
  const std::string name = folder + "/" + kClassesFile;
  const auto found = files.find(kClassesFile);
  const auto parts = splits_.all();
  for (const auto& part : parts) {
    part->check_weight_files(files, folder);
    if (found != files.end()) check_classes(found->second, part->output_names(), name);
  }
  if (parts.empty() || found != files.end()) return {};
  return {
      fmt::format("{}: not found, an older program wrote the checkpoint; the names of the classes "
                  "were not compared",
                  name)};
}

std::vector<std::int64_t> BatchSource::class_counts() const {
  if (!splits_.train) return {};
  std::vector<std::int64_t> counts(static_cast<std::size_t>(splits_.train->num_classes()), 0);
  for (std::int64_t i = 0; i < splits_.train->size(); ++i)
    ++counts.at(static_cast<std::size_t>(splits_.train->label(i)));
  return counts;
}

bool BatchSource::has_regions() const {
  return data::find_volumes(splits_.any()) != nullptr && !volume_info().regions.empty();
}

const data::VolumeInfo& BatchSource::volume_info() const {
  const data::VolumeDataset* volumes = data::find_volumes(splits_.any());
  FOVEA_CHECK(volumes != nullptr, ConfigError, "dataset: holds no whole volumes");
  return volumes->info();
}

data::Batch BatchSource::these(data::Split split, const std::vector<std::int64_t>& indices) const {
  const data::Dataset& samples = at(split);
  data::Collator collator(samples.fields(), std::ssize(indices), options_.host);
  for (const std::int64_t i : indices) {
    data::Sample sample;
    collator.next(sample);
    samples.prepare(i, {.seed = options_.seed}, sample);
    collator.add(sample);
  }
  return collator.finish();
}

std::vector<std::string> BatchSource::notes() const {
  std::vector<std::string> all = splits_.all_notes();
  if (loader_ && loader_->workers() < options_.train.num_workers)
    all.push_back(
        fmt::format("train.num_workers: {} of {} threads could be started; the system "
                    "gives no more",
                    loader_->workers(), options_.train.num_workers));
  return all;
}

std::int64_t BatchSource::skipped_samples() const {
  std::int64_t count = std::ssize(unreadable_samples());
  for (const auto& split : splits_.all()) count += std::ssize(split->left_out());
  return count;
}

std::vector<std::string> BatchSource::unreadable_samples() const {
  std::vector<std::string> all = loader_ ? loader_->skipped() : std::vector<std::string>();
  for (const auto& [split, messages] : skipped_) {
    for (const std::string& message : messages)
      all.push_back(fmt::format("{}: {}", data::name_of(split), message));
  }
  return all;
}

}  // namespace fovea::training
