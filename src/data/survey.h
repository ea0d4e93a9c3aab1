// A survey of every sample of a data set: its content, samples that cannot be read, and numbers for
// options (mean and std, sizes, lengths of texts).
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "data/audio/speech_survey.h"
#include "data/dataset.h"
#include "data/volumes/volume_survey.h"
#include "schema/json/value.h"

namespace fovea::data {

/// Objects of images with boxes.
struct ObjectSurvey {
  std::vector<std::int64_t> per_class;
  std::int64_t crowds = 0;        // among them
  std::int64_t most = 0;          // of one image
  std::int64_t empty_images = 0;  // without an object
  std::int64_t skipped = 0;       // boxes that were left out, since they are of no use
  /// COCO's small (area in the file up to 32 x 32 pixels), medium (up to 96 x 96) and large.
  std::array<std::int64_t, 3> by_size{};

  void add(const ObjectSurvey& other);
};

/// The findings for one part. Lists are empty where they do not apply.
struct PartSurvey {
  std::string name;
  std::int64_t samples = 0;                                 // that were read
  std::vector<std::string> bad;                             // one message for each that was not
  std::vector<std::int64_t> per_class;                      // samples
  std::map<std::vector<std::int64_t>, std::int64_t> sizes;  // samples by their files' (h, w)
  // Of images as they enter normalisation: at the data set's size, in [0, 1].
  std::vector<double> mean, std;  // one a channel, over all pixels
  // Of masks at the data set's size.
  std::vector<std::int64_t> labels;   // pixels of each class
  std::int64_t ignored = 0;           // pixels without a class
  double foreground = 0;              // of soft masks: share of all pixels
  std::int64_t empty_masks = 0;       // without foreground, or with one class alone
  std::vector<std::string> constant;  // names of images and volumes of one value everywhere
  std::optional<ObjectSurvey> objects;
  // Of whole volumes.
  std::vector<VolumeSides> prepared;  // as networks see them
  std::optional<VolumeFingerprint> volumes;
  std::optional<SpeechSurvey> speech;  // of recordings
  // Of streams of text.
  struct Stream {
    std::int64_t tokens = 0, bytes = 0;  // that are predicted
  };
  std::optional<Stream> stream;
  // Of texts, not cut to max_len.
  std::vector<std::int64_t> lengths;  // words of each, ascending
  std::int64_t unknown = 0;           // words that are not in the vocabulary
};

struct Survey {
  std::string hash;  // content_hash(), which runs record (identity.h)
  std::vector<std::string> class_names;
  std::vector<PartSurvey> parts;
  std::vector<std::string> notes;
  std::optional<VolumePlan> plan;  // of whole volumes
  schema::Value regions;           // regions that networks learn instead of classes, or null
};

/// Reports progress, by one thread at a time.
using SurveyProgress = std::function<void(std::int64_t done, std::int64_t total)>;

/// Reads every sample once, on `threads` threads; results do not depend on their number. `splits`
/// should be opened with MakeOptions::survey.
Survey survey(const Splits& splits, int threads, const SurveyProgress& progress = {});

schema::Value to_json(const Survey& survey);
std::string to_text(const Survey& survey);

}  // namespace fovea::data
