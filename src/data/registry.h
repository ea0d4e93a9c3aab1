// The list of data sets. A new one is a source file that ends in FOVEA_DATASET and a line in
// datasets.def.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "data/dataset.h"
#include "data/division.h"
#include "data/options.h"
#include "data/source.h"
#include "data/text_dataset.h"
#include "schema/fields.h"

namespace fovea::data {

/// The samples of a part as the files provide them, nullptr if there is no such part (never train).
using OpenSplit = std::function<std::unique_ptr<Source>(Split)>;

/// What is known of a data set of images before its files are there.
struct SampleShape {
  std::int64_t channels = 0, height = 0, width = 0, classes = 0;
};

/// A data set with its options read.
struct Configured {
  CommonOptions common;
  OpenSplit open;
  std::optional<SampleShape> shape;
  DivisionRules rules;
};

/// The texts of a part as the files provide them, nothing if there is no such part (never train).
using OpenTexts = std::function<std::optional<TextSource>(Split)>;

/// A data set of texts with its options read.
struct ConfiguredTexts {
  TextOptions common;
  OpenTexts open;
};

struct DatasetEntry {
  std::string name;
  std::string title;
  std::string page;  // how to get it, relative to the project's root
  Kind kind = Kind::kImages;
  std::shared_ptr<const schema::Description> fields;
  // By kind; the other is empty.
  std::function<Configured(const schema::Component&, const std::string& path)> configure;
  std::function<ConfiguredTexts(const schema::Component&, const std::string& path)> configure_texts;
};

/// All of datasets.def.
const std::vector<DatasetEntry>& datasets();
/// For Fields::add_component("dataset", ...).
schema::Choices dataset_choices();

/// What `component` holds. Throws ConfigError for an unknown type.
Kind kind_of(const schema::Component& component, const std::string& path = "dataset");

/// All parts of a configured data set of images, e.g. schema::Component{"digits"}. A relative root
/// is relative to the current directory. `path` is the place of the component in its file, for
/// messages. Throws ConfigError for options and where there is neither val nor test, FileError for
/// files.
Splits<Dataset> make_images(const schema::Component& component,
                            const std::string& path = "dataset");

/// One part alone. Throws ConfigError also for a part that is not there.
std::shared_ptr<const Dataset> make_dataset(const schema::Component& component, Split split,
                                            const std::string& path = "dataset");

/// The shape that all copies of a data set of images have, without a look at its files; nothing
/// where the files say. Throws ConfigError for options.
std::optional<SampleShape> known_shape(const schema::Component& component,
                                       const std::string& path = "dataset");

/// Whether a data set of images has a part, of its own or cut from train.
bool has_part(const schema::Component& component, Split split, const std::string& path = "dataset");

/// Which parts of a data set are opened.
enum class Wanted { kAll, kTrain };

/// All parts of a data set of texts, or train alone. The vocabulary is counted on train, after
/// limits and without what is held out, unless one is given. Throws as make_images().
TextSplits make_texts(const schema::Component& component,
                      std::shared_ptr<const Vocabulary> vocabulary = nullptr,
                      Wanted wanted = Wanted::kAll, const std::string& path = "dataset");

/// Used by the macros below. Options derives from CommonOptions or TextOptions, whose keys follow
/// its own; a member kKind says what the samples are where they are not plain images or texts, a
/// member sample_shape() what is known of all copies, a member lists_test() whether the names of
/// the test samples are listed.
template <class Options, class Common>
std::shared_ptr<const schema::Fields<Options>> with_common(const std::string& name,
                                                           schema::Fields<Options> fields,
                                                           const schema::Fields<Common>& common) {
  fields.include(common);
  Options defaults = fields.defaults();
  if (defaults.root.empty()) defaults.root = "datasets/" + name;
  fields.set_defaults(defaults);
  return std::make_shared<const schema::Fields<Options>>(std::move(fields));
}

template <class Options>
DatasetEntry make_entry(std::string name, std::string title, std::string page,
                        std::unique_ptr<Source> (*open)(const Place&, const Options&),
                        schema::Fields<Options> fields) {
  const auto shared = with_common(name, std::move(fields), common_fields());
  const auto configure = [shared, open](const schema::Component& component,
                                        const std::string& path) {
    const Options options = shared->parse(component, path);
    Configured configured{options,
                          [open, options](Split split) {
                            return open({options.root, split}, options);
                          },
                          {},
                          {}};
    if constexpr (requires { options.sample_shape(); }) configured.shape = options.sample_shape();
    if constexpr (requires { options.lists_test(); })
      configured.rules.lists_test = options.lists_test();
    return configured;
  };
  return {
      std::move(name), std::move(title), std::move(page), Options::kKind, shared, configure, {}};
}

template <class Options>
DatasetEntry make_entry(std::string name, std::string title, std::string page,
                        std::optional<TextSource> (*open)(const Place&, const Options&),
                        schema::Fields<Options> fields) {
  const auto shared = with_common(name, std::move(fields), text_fields());
  const auto configure = [shared, open](const schema::Component& component,
                                        const std::string& path) {
    const Options options = shared->parse(component, path);
    return ConfiguredTexts{options, [open, options](Split split) {
                             return open({options.root, split}, options);
                           }};
  };
  return {std::move(name), std::move(title), std::move(page), Options::kKind, shared, {},
          configure};
}

}  // namespace fovea::data

/// FOVEA_DATASET(name, open, title, page, Fields<Options>{}...): defines the entry that a line of
/// datasets.def refers to; what `open` returns decides between images and texts. Inside namespace
/// fovea::data.
#define FOVEA_DATASET(name, open, title, page, ...)             \
  DatasetEntry dataset_entry_##name() {                         \
    return make_entry(#name, title, page, open, (__VA_ARGS__)); \
  }
