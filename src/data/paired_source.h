// Pictures with masks, each pair two files, as samples.
#pragma once

#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "data/image_pairs.h"
#include "data/label_values.h"
#include "data/mask_values.h"
#include "data/source.h"

namespace fovea::data {

using PairRule = std::variant<MaskRule, LabelRule>;

/// How the files of pairs are read.
struct PairReading {
  PairRule rule;
  Exif exif = Exif::kIgnore;
  bool one_size = false;          // all images must have info.height x width
  const char* page = "";          // for messages
  bool empty_if_all_one = false;  // a mask of nothing but foreground counts as one without
};

class PairedSource final : public Source {
 public:
  PairedSource(std::vector<ImagePair> pairs, SourceInfo info, PairReading how,
               std::vector<std::string> notes);

  Image read(std::int64_t index) const override;
  Image read_mask(std::int64_t index, const Image& image) const override;
  Image read_file(const std::filesystem::path& file) const override;
  void check_targets(const std::vector<std::int64_t>& indices, Split split) const override;
  std::string name(std::int64_t index) const override;
  std::vector<std::filesystem::path> files() const override;
  bool in_memory() const override { return false; }

 private:
  const ImagePair& pair(std::int64_t index) const {
    return pairs_[static_cast<std::size_t>(index)];
  }

  std::vector<ImagePair> pairs_;
  PairReading how_;
};

}  // namespace fovea::data
