// The list of data sets. A new one is a source file that ends in FOVEA_DATASET and a line in
// datasets.def.
#pragma once

#include <concepts>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "data/audio/speech_options.h"
#include "data/audio/speech_part.h"
#include "data/boxes/box_options.h"
#include "data/boxes/box_part.h"
#include "data/dataset.h"
#include "data/described/weight_files.h"
#include "data/images/image_options.h"
#include "data/parts/division.h"
#include "data/source.h"
#include "data/streams/stream_dataset.h"
#include "data/texts/text_options.h"
#include "data/texts/text_source.h"
#include "data/volumes/volume_options.h"
#include "data/volumes/volume_part.h"
#include "schema/fields.h"
#include "schema/registry.h"

namespace fovea::data {

/// Which parts of a data set are opened. kReported: the one that a run reports, test or else val or
/// else train. kNone: no file is opened, and the data set is what weights know of it
/// (Splits::described).
enum class OpenParts { kAll, kReported, kNone };

/// How a data set is opened.
struct MakeOptions {
  OpenParts parts = OpenParts::kAll;
  /// One part alone, whatever `parts` says; nothing: those.
  std::optional<Split> only = {};
  /// What lies beside weights. Vocabulary, tokeniser and plan are read from there instead of being
  /// made with train.
  std::shared_ptr<const WeightFiles> weights = nullptr;
  /// Outputs of weights that come without names of classes, which are then numbers; 0: the network
  /// has none; nothing: unknown.
  std::optional<std::int64_t> num_classes = {};
  /// For a survey (survey.h): bad samples are left out and reported instead of ending the run,
  /// parts may be missing, texts are not truncated, nothing is cached.
  bool survey = false;
};

/// Some samples of a part that the files provide.
struct Chosen {
  std::shared_ptr<const Part> part;
  std::vector<std::int64_t> indices;  // ascending
};

/// A data set with its options read.
struct Configured {
  SplitOptions options;
  DivisionRules rules;
  /// The shape of all copies, if it is known without files.
  std::optional<SampleShape> shape;
  /// Dataset::description() of all copies, if it is known without files. Names of classes may be
  /// missing.
  std::optional<schema::Value> description;
  /// A data set without samples from its description. Throws FileError.
  std::function<std::shared_ptr<const Dataset>(const schema::Value& description)> describe;
  /// The samples of a part as the files provide them, null if there is no such part (never train).
  std::function<std::shared_ptr<const Part>(Split)> open;
  /// The samples of a split, null if there are none; `find` says what any split consists of.
  using Find = std::function<std::optional<Chosen>(Split)>;
  std::function<std::shared_ptr<const Dataset>(Split, const Find& find)> make;
};

struct DatasetEntry : schema::Choice {
  static constexpr const char* kKind = "dataset";
  std::string page;           // how to get the data, relative to the project's root
  Kind kind = Kind::kImages;  // where the options say no other
  int axes = 2;               // of its images: 3 of volumes
  std::function<Kind(const schema::Value& options)> kind_of;
  std::function<Configured(const schema::Component&, const std::string& path, const MakeOptions&)>
      configure;
};

/// All of datasets.def, and what was added since.
schema::Registry<DatasetEntry>& datasets();

/// The kind of data of `component`, whose options need not be valid yet. Throws ConfigError for an
/// unknown type.
Kind kind_of(const schema::Component& component, const std::string& path = "dataset");

/// The parts of a configured data set, e.g. schema::Component{"digits"}. A relative root is
/// relative to the current directory. `path` is the place of the component in its file, for
/// messages. A vocabulary of texts is counted on train, after limits and without what is held out,
/// unless weights bring one. Throws ConfigError for options, for one part that is asked for alone
/// and not there, and where there is neither val nor test; FileError for files, and for kNone where
/// the weights do not say enough of the data.
Splits make_splits(const schema::Component& component, const MakeOptions& options = {},
                   const std::string& path = "dataset");
/// Whether a data set can be opened without a look at its files (OpenParts::kNone).
bool known_without_files(const schema::Component& component, const MakeOptions& options,
                         const std::string& path = "dataset");
/// One part alone.
std::shared_ptr<const Dataset> make_dataset(const schema::Component& component, Split split,
                                            const std::string& path = "dataset");

/// Whether the files of a data set provide a part, whatever `dataset.split` makes of it. Throws
/// FileError.
bool comes_with(const schema::Component& component, Split split,
                const std::string& path = "dataset");

/// The shape that all copies of a data set have, without a look at its files; nothing where the
/// files say. Throws ConfigError for options.
std::optional<SampleShape> known_shape(const schema::Component& component,
                                       const std::string& path = "dataset");

// The data sets of each kind, from their options and a function that opens a part.
using OpenImages = std::function<std::unique_ptr<Source>(Split)>;
Configured configured(ImageOptions options, OpenImages open, const MakeOptions& how);
using OpenTexts = std::function<std::optional<TextSource>(Split)>;
Configured configured(TextOptions options, OpenTexts open, const MakeOptions& how);
using OpenVolumes = std::function<std::unique_ptr<VolumePart>(Split)>;
Configured configured(VolumeSetOptions options, OpenVolumes open, const MakeOptions& how);
using OpenBoxes = std::function<std::unique_ptr<BoxPart>(Split)>;
Configured configured(BoxOptions options, OpenBoxes open, const MakeOptions& how);
using OpenStreams = std::function<std::optional<StreamText>(Split)>;
Configured configured(StreamOptions options, OpenStreams open, const MakeOptions& how);

using OpenSpeech = std::function<std::unique_ptr<SpeechPart>(Split)>;
Configured configured(SpeechOptions options, OpenSpeech open, const MakeOptions& how);

/// Where a part is looked for, with what weights know of it.
Place place_of(const std::string& root, Split split, const WeightFiles* weights);

/// Used by the macro below. Options derives from ImageOptions, TextOptions, VolumeSetOptions,
/// BoxOptions, StreamOptions or SpeechOptions, whose keys follow its own; a member kKind says what
/// the samples are where they are not plain images or texts, a static kind_of(options) where that
/// depends on the options, members sample_shape() and description() what is known of all copies, a
/// member lists_test() whether the names of the test samples are listed.
template <class Options, class Samples>
DatasetEntry make_entry(std::string name, const std::string& title, const std::string& page,
                        Samples (*open)(const Place&, const Options&),
                        schema::Fields<Options> fields) {
  fields.include(Options::Common::keys());
  Options defaults = fields.defaults();
  if (defaults.root.empty()) defaults.root = "datasets/" + name;
  fields.set_defaults(defaults);
  const auto shared = std::make_shared<const schema::Fields<Options>>(std::move(fields));
  const auto configure = [shared, open](const schema::Component& component, const std::string& path,
                                        const MakeOptions& how) {
    const Options options = shared->parse(component, path);
    const typename Options::Common& common = options;
    Configured result = configured(
        common,
        [open, options, weights = how.weights](Split split) {
          return open(place_of(options.root, split, weights.get()), options);
        },
        how);
    if constexpr (requires { options.sample_shape(); }) result.shape = options.sample_shape();
    if constexpr (requires { options.description(); }) result.description = options.description();
    if constexpr (requires { options.lists_test(); })
      result.rules.lists_test = options.lists_test();
    return result;
  };
  const auto kind_of = []([[maybe_unused]] const schema::Value& options) {
    if constexpr (requires { Options::kind_of(options); }) return Options::kind_of(options);
    return Options::kKind;
  };
  return {{std::move(name), title + "; see " + page, shared},   page,    Options::kKind,
          std::derived_from<Options, VolumeSetOptions> ? 3 : 2, kind_of, configure};
}

}  // namespace fovea::data

/// FOVEA_DATASET(name, open, title, page, Fields<Options>{}...): defines the entry that a line of
/// datasets.def refers to; `open` gives a Source, a TextSource, a VolumePart, a BoxPart, a
/// StreamText or a SpeechPart. Inside namespace fovea::data.
#define FOVEA_DATASET(name, open, title, page, ...)             \
  DatasetEntry dataset_entry_##name() {                         \
    return make_entry(#name, title, page, open, (__VA_ARGS__)); \
  }
