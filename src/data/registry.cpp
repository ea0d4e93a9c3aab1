#include "data/registry.h"

#include <fmt/format.h>

#include <map>

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

std::string name_in(const Source& source, std::int64_t i) { return source.name(i); }
std::string name_in(const TextPart& part, std::int64_t i) { return part.name(i); }
bool has_classes(const Source& source) { return !source.info().masks; }
bool has_classes(const TextPart&) { return true; }

// The parts that the files provide, each opened once and only if it is asked for.
template <class S>
class OwnParts {
 public:
  using Open = std::function<std::shared_ptr<const S>(Split)>;
  OwnParts(std::string root, Open open) : root_(std::move(root)), open_(std::move(open)) {}

  const Samples* samples(Split split) {
    const auto [found, added] = known_.try_emplace(split);
    Part& part = found->second;
    if (!added) return part.source == nullptr ? nullptr : &part.samples;
    part.source = open_(split);
    if (part.source == nullptr) return nullptr;
    part.samples = {part.source->labels(), {}, has_classes(*part.source)};
    const auto n = std::ssize(part.samples.labels);
    for (std::int64_t i = 0; i < n; ++i)
      part.samples.names.push_back(below(root_, name_in(*part.source, i)));
    return &part.samples;
  }
  const std::shared_ptr<const S>& source(Split split) { return known_.at(split).source; }

 private:
  struct Part {
    std::shared_ptr<const S> source;
    Samples samples;
  };
  std::string root_;
  Open open_;
  std::map<Split, Part> known_;
};

// A data set of images with its parts.
class Images {
 public:
  explicit Images(Configured configured)
      : options_(std::move(configured.common)),
        own_(options_.root,
             [open = std::move(configured.open)](Split split) -> std::shared_ptr<const Source> {
               return open(split);
             }),
        division_(options_, configured.rules, [this](Split split) { return own_.samples(split); }) {
  }
  Images(const Images&) = delete;
  Images& operator=(const Images&) = delete;

  Division& division() { return division_; }
  /// Null for a part that is not there.
  std::shared_ptr<const Dataset> make(Split split) {
    std::optional<Places> places = division_.find(split);
    if (!places) return nullptr;
    return std::make_shared<const Dataset>(own_.source(places->part), split,
                                           std::move(places->indices), options_);
  }

 private:
  CommonOptions options_;
  OwnParts<Source> own_;
  Division division_;
};

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

Splits<Dataset> make_images(const schema::Component& component, const std::string& path) {
  Images images(configure(component, path));
  // First train: what is wrong with the files is said before what is wrong with the parts.
  auto train = images.make(Split::kTrain);
  images.division().check();
  return {std::move(train), images.make(Split::kVal), images.make(Split::kTest)};
}

std::shared_ptr<const Dataset> make_dataset(const schema::Component& component, Split split,
                                            const std::string& path) {
  auto dataset = Images(configure(component, path)).make(split);
  if (dataset == nullptr) no_split(name_of(split));
  return dataset;
}

bool has_part(const schema::Component& component, Split split, const std::string& path) {
  return Images(configure(component, path)).division().find(split).has_value();
}

std::optional<SampleShape> known_shape(const schema::Component& component,
                                       const std::string& path) {
  return configure(component, path).shape;
}

TextSplits make_texts(const schema::Component& component,
                      std::shared_ptr<const Vocabulary> vocabulary, Wanted wanted,
                      const std::string& path) {
  const ConfiguredTexts configured =
      find(component, path, true).configure_texts(complete(component), path);
  const TextOptions& options = configured.common;
  OwnParts<TextPart> own(options.root, [&](Split split) -> std::shared_ptr<const TextPart> {
    std::optional<TextSource> source = configured.open(split);
    if (!source) return nullptr;
    return std::make_shared<const TextPart>(std::move(*source), options);
  });
  DivisionRules rules;
  rules.val_every = options.val_every;
  Division division(options, rules, [&](Split split) { return own.samples(split); });
  const auto make = [&](Split split) -> std::shared_ptr<TextDataset> {
    if (wanted == Wanted::kTrain && split != Split::kTrain) return nullptr;
    const std::optional<Places> places = division.find(split);
    if (!places) return nullptr;
    return std::make_shared<TextDataset>(own.source(places->part), split, places->indices, options);
  };
  const std::shared_ptr<TextDataset> train = make(Split::kTrain);
  if (wanted == Wanted::kAll) division.check();
  const std::shared_ptr<TextDataset> val = make(Split::kVal);
  const std::shared_ptr<TextDataset> test = make(Split::kTest);
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
