// Pictures with masks, each pair two files, as samples.
#pragma once

#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "data/images/label_values.h"
#include "data/images/mask_values.h"
#include "data/parts/image_pairs.h"
#include "data/parts/split.h"
#include "data/source.h"
#include "schema/json/value.h"

namespace fovea::data {

using PairRule = std::variant<MaskRule, LabelRule>;

/// The key mask_type: one foreground, or a class for every pixel.
enum class MaskType { kForeground, kLabels };
inline constexpr const char* kMaskTypeKey = "mask_type";
std::vector<std::pair<std::string, MaskType>> mask_type_words();
/// What such a data set provides.
Kind kind_of(MaskType type);
/// By a data set's options as the user has written them.
Kind kind_by_mask_type(const schema::Value& options, MaskType if_absent);

/// How the files of pairs are read. Where SourceInfo::masks is kLabels, a MaskRule makes two
/// classes: the background and the foreground.
struct PairReading {
  PairRule rule;
  bool one_size = false;             // all images must have info.height x width
  const char* page = "";             // for messages
  bool empty_if_all_one = false;     // a mask of nothing but foreground counts as one without
  std::vector<double> spacing = {};  // of all images (Source::spacing)
};

class PairedSource final : public Source {
 public:
  PairedSource(std::vector<ImagePair> pairs, SourceInfo info, PairReading how,
               std::vector<std::string> notes);

  Image read(std::int64_t index) const override;
  Image read_mask(std::int64_t index, const Image& image) const override;
  void check_targets(const std::vector<std::int64_t>& indices, Split split) const override;
  std::vector<double> spacing(std::int64_t) const override { return how_.spacing; }
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
