#include "training/text_batches.h"

#include <fmt/format.h>

#include <utility>

#include "base/error.h"

namespace fovea::training {
namespace {

std::unique_ptr<DataBatch> from(data::TextBatch&& loaded) {
  auto batch = std::make_unique<DataBatch>();
  batch->samples = loaded.ids.size(0);
  batch->number = loaded.number;
  batch->inputs = std::move(loaded.ids);
  batch->targets = std::move(loaded.labels);
  batch->indices = std::move(loaded.indices);
  return batch;
}

}  // namespace

TextBatches::TextBatches(data::TextSplits splits, BatchOptions given)
    : BatchSource(std::move(given)), splits_(std::move(splits)) {
  if (!splits_.train) return;
  data::TextLoaderOptions o;
  o.batch_size = options().train.batch_size;
  o.shuffle = !options().overfit;
  o.augment = !options().overfit;
  o.seed = options().seed;
  loader_ = std::make_unique<data::TextLoader>(splits_.train, o, options().host);
}

std::int64_t TextBatches::batches_per_epoch() const { return loader_ ? loader_->num_batches() : 0; }

void TextBatches::start_epoch(std::int64_t epoch, std::int64_t first_batch) {
  loader_->start(epoch, first_batch);
}

std::unique_ptr<DataBatch> TextBatches::next() {
  std::optional<data::TextBatch> next = loader_->next();
  return next ? from(std::move(*next)) : nullptr;
}

void TextBatches::each_batch(const std::string& split, const std::optional<NoiseLevel>& noise,
                             const Visit& visit) {
  data::TextLoaderOptions o;
  o.batch_size = options().eval_batch_size();
  o.seed = options().seed;
  if (noise) {
    o.corruption =
        data::TextCorruptionLevel{data::text_corruption_from_name(noise->type), noise->level};
  }
  data::TextLoader loader(splits_.find(split), o, options().host);
  loader.start(0);
  while (std::optional<data::TextBatch> next = loader.next()) visit(*from(std::move(*next)));
}

Tensor TextBatches::input(const std::string& split, std::int64_t i) const {
  const data::Ids ids = texts(split).encode(i, {.seed = options().seed});
  return Tensor::from(ids, {1, std::ssize(ids)}, options().host);
}

std::string TextBatches::sample_name(const std::string& split, std::int64_t i) const {
  return texts(split).name(i);
}

const std::vector<std::string>& TextBatches::class_names() const {
  return splits_.any().class_names();
}

NoiseGrid TextBatches::noise_grid() const {
  const data::TextNoise& noise = splits_.any().eval_noise();
  NoiseGrid grid{{}, noise.levels};
  for (const data::TextCorruption type : noise.types) grid.types.emplace_back(data::name_of(type));
  return grid;
}

std::vector<std::string> TextBatches::noise_types() const {
  std::vector<std::string> names;
  for (const data::TextCorruption type : data::all_text_corruptions())
    names.emplace_back(data::name_of(type));
  return names;
}

std::map<std::string, std::string> TextBatches::files() const {
  return {{kVocabularyFile, splits_.any().vocabulary().to_text()}};
}

void TextBatches::check_files(const std::map<std::string, std::string>& files,
                              const std::string& folder) const {
  const std::string name = folder + "/" + kVocabularyFile;
  const auto found = files.find(kVocabularyFile);
  FOVEA_CHECK(found != files.end(), FileError,
              fmt::format("{}: not found; the checkpoint of a text task has one", name));
  const data::Vocabulary stored = data::Vocabulary::parse(found->second, name);
  const data::Vocabulary& own = splits_.any().vocabulary();
  if (stored == own) return;
  std::int64_t id = 0;
  while (id < stored.size() && id < own.size() && stored.token(id) == own.token(id)) ++id;
  const auto token = [&](const data::Vocabulary& v) {
    return id < v.size() ? fmt::format("\"{}\"", v.token(id)) : std::string("nothing");
  };
  throw FileError(fmt::format(
      "{}: does not fit the data set: {} words against {}, first difference at id {}: {} against "
      "{}; the data set has changed since the weights were trained",
      name, stored.size(), own.size(), id, token(stored), token(own)));
}

std::int64_t TextBatches::skipped_samples() const {
  std::int64_t count = 0;
  for (const auto& part : {splits_.train, splits_.val, splits_.test})
    count += part ? std::ssize(part->left_out()) : 0;
  return count;
}

}  // namespace fovea::training
