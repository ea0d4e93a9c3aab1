// Parts that stand for data which are not opened: what all samples have in common, and no sample.
#pragma once

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "data/audio/speech_part.h"
#include "data/boxes/box_part.h"
#include "data/source.h"
#include "data/volumes/volume_part.h"

namespace fovea::data {

/// `Base`: Source, BoxPart, VolumePart, SpeechPart; `Read`: what its read() gives.
template <class Base, class Read>
class DescribedPart final : public Base {
 public:
  template <class... Info>
  explicit DescribedPart(Info&&... info) : Base(std::forward<Info>(info)...) {}
  bool is_described() const override { return true; }
  Read read(std::int64_t) const override {
    throw ConfigError("dataset: is described alone, without samples");
  }
  std::string name(std::int64_t) const override { return ""; }
  std::vector<std::filesystem::path> files() const override { return {}; }
};

using DescribedImages = DescribedPart<Source, Image>;
using DescribedBoxes = DescribedPart<BoxPart, Image>;
using DescribedVolumes = DescribedPart<VolumePart, LabelledVoxels>;
using DescribedSpeech = DescribedPart<SpeechPart, Sound>;

}  // namespace fovea::data
