// The list of data sets. A new one is a source file that ends in FOVEA_DATASET and a line in
// datasets.def.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "data/dataset.h"
#include "data/options.h"
#include "data/source.h"
#include "schema/fields.h"

namespace fovea::data {

/// The samples of a split as the files provide them, nullptr if there is no such part (only val).
using OpenSplit = std::function<std::unique_ptr<Source>(Split)>;

/// A data set with its options read.
struct Configured {
  CommonOptions common;
  OpenSplit open;
};

struct DatasetEntry {
  std::string name;
  std::string title;
  std::string page;  // how to get it, relative to the project's root
  std::shared_ptr<const schema::Description> fields;
  std::function<Configured(const schema::Component&, const std::string& path)> configure;
};

/// All of datasets.def.
const std::vector<DatasetEntry>& datasets();
/// For Fields::add_component("dataset", ...).
schema::Choices dataset_choices();

/// The split of a configured data set, e.g. schema::Component{"digits"}. A relative root is
/// relative to the current directory. `path` is the place of the component in its file, for
/// messages. Throws ConfigError for options, FileError for files.
std::shared_ptr<const Dataset> make_dataset(const schema::Component& component, Split split,
                                            const std::string& path = "dataset");

/// Whether there is a validation part: val_fraction above 0, or one that the files provide.
bool has_val(const schema::Component& component, const std::string& path = "dataset");

/// Used by FOVEA_DATASET. Options derives from CommonOptions, whose keys follow its own.
template <class Options>
DatasetEntry make_entry(std::string name, std::string title, std::string page,
                        std::unique_ptr<Source> (*open)(const Place&, const Options&),
                        schema::Fields<Options> fields) {
  fields.include(common_fields());
  Options defaults = fields.defaults();
  if (defaults.root.empty()) defaults.root = "datasets/" + name;
  fields.set_defaults(defaults);
  const auto shared = std::make_shared<const schema::Fields<Options>>(std::move(fields));
  const auto configure = [shared, open](const schema::Component& component,
                                        const std::string& path) {
    const Options options = shared->parse(component, path);
    return Configured{options, [open, options](Split split) {
                        return open({options.root, split}, options);
                      }};
  };
  return {std::move(name), std::move(title), std::move(page), shared, configure};
}

}  // namespace fovea::data

/// FOVEA_DATASET(name, open, title, page, Fields<Options>{}...): defines the entry that a line of
/// datasets.def refers to. Inside namespace fovea::data.
#define FOVEA_DATASET(name, open, title, page, ...)             \
  DatasetEntry dataset_entry_##name() {                         \
    return make_entry(#name, title, page, open, (__VA_ARGS__)); \
  }
