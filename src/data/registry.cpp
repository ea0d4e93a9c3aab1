#include "data/registry.h"

#include <fmt/format.h>

#include "base/error.h"

namespace fovea::data {

#define FOVEA_DATASET_ENTRY(name) DatasetEntry dataset_entry_##name();
#include "data/datasets.def"
#undef FOVEA_DATASET_ENTRY

namespace {

// A type alone, made in code, stands for all defaults.
schema::Component complete(schema::Component component) {
  if (component.options.is_null()) component.options.set("type", component.type);
  return component;
}

const DatasetEntry& find(const schema::Component& component, const std::string& path) {
  const schema::Choice choice =
      schema::find_choice(dataset_choices(), component.type, schema::join_path(path, "type"));
  for (const DatasetEntry& entry : datasets()) {
    if (entry.name == choice.name) return entry;
  }
  throw ConfigError(fmt::format("{}: no data set called \"{}\"", path, component.type));
}

const DatasetEntry& find(const schema::Component& component, const std::string& path, bool texts) {
  const DatasetEntry& entry = find(component, path);
  FOVEA_CHECK((entry.kind == Kind::kTexts) == texts, ConfigError,
              fmt::format("{}.type: {} holds {}; expected a data set of {}", path, entry.name,
                          name_of(entry.kind), texts ? "texts" : "images"));
  return entry;
}

Configured configure(const schema::Component& component, const std::string& path) {
  return find(component, path, false).configure(complete(component), path);
}

}  // namespace

const std::vector<DatasetEntry>& datasets() {
  static const std::vector<DatasetEntry> entries = {
#define FOVEA_DATASET_ENTRY(name) dataset_entry_##name(),
#include "data/datasets.def"
#undef FOVEA_DATASET_ENTRY
  };
  return entries;
}

schema::Choices dataset_choices() {
  return {"dataset", [] {
            std::vector<schema::Choice> choices;
            for (const DatasetEntry& entry : datasets()) {
              choices.push_back({entry.name, entry.title + "; see " + entry.page, entry.fields});
            }
            return choices;
          }};
}

Kind kind_of(const schema::Component& component, const std::string& path) {
  return find(component, path).kind;
}

std::shared_ptr<const Dataset> make_dataset(const schema::Component& component, Split split,
                                            const std::string& path) {
  Configured configured = configure(component, path);
  return choose_split(configured.open, split, std::move(configured.common));
}

std::optional<SampleShape> known_shape(const schema::Component& component,
                                       const std::string& path) {
  return configure(component, path).shape;
}

bool has_val(const schema::Component& component, const std::string& path) {
  const Configured configured = configure(component, path);
  return configured.common.val_fraction > 0.0 || configured.open(Split::kVal) != nullptr;
}

TextSplits make_texts(const schema::Component& component,
                      std::shared_ptr<const Vocabulary> vocabulary, const std::string& path) {
  const ConfiguredTexts configured =
      find(component, path, true).configure_texts(complete(component), path);
  const TextOptions& options = configured.common;
  const auto open = [&](Split split) -> std::shared_ptr<const TextPart> {
    std::optional<TextSource> source = configured.open(split);
    if (!source) return nullptr;
    return std::make_shared<const TextPart>(std::move(*source), options);
  };
  const auto choose = [&](const std::shared_ptr<const TextPart>& part, Split split) {
    const auto indices = choose_samples(part->labels(), split, options, options.val_every);
    return std::make_shared<TextDataset>(part, split, indices, options);
  };
  const bool cut = options.val_fraction > 0 || options.val_every > 0;
  const std::shared_ptr<const TextPart> train_part = open(Split::kTrain);
  const std::shared_ptr<const TextPart> val_part = cut ? train_part : open(Split::kVal);
  const std::shared_ptr<TextDataset> train = choose(train_part, Split::kTrain);
  const std::shared_ptr<TextDataset> val = val_part ? choose(val_part, Split::kVal) : nullptr;
  const std::shared_ptr<TextDataset> test = choose(open(Split::kTest), Split::kTest);
  if (vocabulary == nullptr) {
    WordCounts counts;
    train->count_words(counts);
    vocabulary = std::make_shared<const Vocabulary>(
        Vocabulary::build(counts, options.min_freq, options.max_vocab));
  }
  for (const auto& split : {train, val, test}) {
    if (split != nullptr) split->set_vocabulary(vocabulary);
  }
  return {train, val, test};
}

}  // namespace fovea::data
