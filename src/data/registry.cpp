#include "data/registry.h"

#include <fmt/format.h>

#include <map>
#include <utility>

#include "base/error.h"

namespace fovea::data {

#define FOVEA_DATASET_ENTRY(name) DatasetEntry dataset_entry_##name();
#include "data/datasets.def"
#undef FOVEA_DATASET_ENTRY

namespace {

const DatasetEntry& find(const schema::Component& component, const std::string& path) {
  return datasets().find(component.type, schema::join_path(path, "type"));
}

Configured configure(const schema::Component& component, const std::string& path,
                     const MakeOptions& how) {
  return find(component, path).configure(component, path, how);
}

// A data set with the parts that its files provide, each opened once and only if it is asked for.
class Opened {
 public:
  explicit Opened(Configured configured)
      : configured_(std::move(configured)),
        division_(configured_.options, configured_.rules,
                  [this](Split split) { return samples(split); }) {}
  Opened(const Opened&) = delete;
  Opened& operator=(const Opened&) = delete;

  Division& division() { return division_; }
  /// What weights know of the data set; null where they do not say.
  std::shared_ptr<const Dataset> described(const WeightFiles* weights) const {
    if (!configured_.describe) return nullptr;
    if (weights != nullptr && weights->describe())
      return configured_.describe(weights->description());
    return configured_.description ? configured_.describe(*configured_.description) : nullptr;
  }
  /// Null for a part that is not there.
  std::shared_ptr<const Dataset> make(Split split) {
    return configured_.make(split, [this](Split wanted) { return chosen(wanted); });
  }

 private:
  struct Own {
    std::shared_ptr<const Part> part;
    Samples samples;
  };

  const Samples* samples(Split split) {
    const auto [found, added] = own_.try_emplace(split);
    Own& own = found->second;
    if (added) own.part = configured_.open(split);
    if (own.part == nullptr) return nullptr;
    if (!added) return &own.samples;
    own.samples = {own.part->labels(), {}, own.part->has_classes()};
    for (std::int64_t i = 0; i < own.part->size(); ++i)
      own.samples.names.push_back(below(configured_.options.root, own.part->name(i)));
    return &own.samples;
  }

  std::optional<Chosen> chosen(Split split) {
    std::optional<Places> places = division_.find(split);
    if (!places) return std::nullopt;
    return Chosen{own_.at(places->part).part, std::move(places->indices)};
  }

  Configured configured_;
  std::map<Split, Own> own_;
  Division division_;
};

}  // namespace

schema::Registry<DatasetEntry>& datasets() {
  static schema::Registry<DatasetEntry> all = {
#define FOVEA_DATASET_ENTRY(name) dataset_entry_##name(),
#include "data/datasets.def"
#undef FOVEA_DATASET_ENTRY
  };
  return all;
}

Kind kind_of(const schema::Component& component, const std::string& path) {
  return find(component, path).kind_of(component.options);
}

Splits make_splits(const schema::Component& component, const MakeOptions& options,
                   const std::string& path) {
  Opened opened(configure(component, path, options));
  Splits splits;
  const auto add = [&](Split split) {
    std::shared_ptr<const Dataset>& part = split == Split::kTrain ? splits.train
                                           : split == Split::kVal ? splits.val
                                                                  : splits.test;
    part = opened.make(split);
    return part != nullptr;
  };
  if (options.only) {
    if (!add(*options.only)) no_split(*options.only);
    return splits;
  }
  if (options.parts == OpenParts::kNone) {
    splits.described = opened.described(options.weights.get());
    FOVEA_CHECK(splits.described != nullptr, FileError,
                fmt::format("{}: nothing says what samples of {} are like but its files", path,
                            component.type));
    return splits;
  }
  if (options.parts == OpenParts::kReported) {
    const bool found = add(Split::kTest) || add(Split::kVal) || add(Split::kTrain);
    if (!found) no_split(Split::kTrain);
    splits.notes = opened.division().notes();
    return splits;
  }
  // Train first, so that problems of files are reported before problems of parts.
  splits.train = opened.make(Split::kTrain);
  if (!options.survey) opened.division().check();
  splits.val = opened.make(Split::kVal);
  splits.test = opened.make(Split::kTest);
  opened.division().check_exclude();
  splits.notes = opened.division().notes();
  return splits;
}

Place place_of(const std::string& root, Split split, const WeightFiles* weights) {
  Place place{root, split};
  if (weights == nullptr || !weights->describe()) return place;
  const schema::Value description = weights->description();
  for (const schema::Value::Member& kind : description.members()) {
    if (const schema::Value* names = kind.value.find("class_names")) {
      for (const schema::Value& name : names->items())
        place.class_names.push_back(name.as_string());
    }
    if (const schema::Value* height = kind.value.find("height")) place.height = height->as_int();
    if (const schema::Value* width = kind.value.find("width")) place.width = width->as_int();
  }
  return place;
}

bool known_without_files(const schema::Component& component, const MakeOptions& options,
                         const std::string& path) {
  const Opened opened(configure(component, path, options));
  return opened.described(options.weights.get()) != nullptr;
}

std::shared_ptr<const Dataset> make_dataset(const schema::Component& component, Split split,
                                            const std::string& path) {
  return make_splits(component, {.only = split}, path).find(split);
}

bool comes_with(const schema::Component& component, Split split, const std::string& path) {
  return configure(component, path, {}).open(split) != nullptr;
}

std::optional<SampleShape> known_shape(const schema::Component& component,
                                       const std::string& path) {
  return configure(component, path, {}).shape;
}

}  // namespace fovea::data
