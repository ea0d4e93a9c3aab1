#include "data/images/paired_source.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "data/images/channel_pictures.h"
#include "data/images/picture_notes.h"

namespace fovea::data {

namespace {

constexpr const char* kForegroundWord = "foreground";
constexpr const char* kLabelsWord = "labels";

}  // namespace

std::vector<std::pair<std::string, MaskType>> mask_type_words() {
  return {{kForegroundWord, MaskType::kForeground}, {kLabelsWord, MaskType::kLabels}};
}

Kind kind_of(MaskType type) {
  return type == MaskType::kLabels ? Kind::kLabelMaps : Kind::kMaskedImages;
}

Kind kind_by_mask_type(const schema::Value& options, MaskType if_absent) {
  const schema::Value* type = options.is_object() ? options.find(kMaskTypeKey) : nullptr;
  if (type == nullptr || !type->is_string()) return kind_of(if_absent);
  return kind_of(type->as_string() == kLabelsWord ? MaskType::kLabels : MaskType::kForeground);
}

PairedSource::PairedSource(std::vector<ImagePair> pairs, SourceInfo info, PairReading how,
                           std::vector<std::string> notes)
    : Source(std::move(info)), pairs_(std::move(pairs)), how_(std::move(how)) {
  labels_.assign(pairs_.size(), 0);
  notes_ = std::move(notes);
}

Image PairedSource::read(std::int64_t index) const {
  Image image = read_file(pair(index).image);
  FOVEA_CHECK(
      !how_.one_size || (image.height == info_.height && image.width == info_.width), FileError,
      fmt::format("{}: is {} x {}, the first image of train {} x {}; set dataset.img_size to "
                  "bring all to one size{}",
                  pair(index).image.string(), image.height, image.width, info_.height, info_.width,
                  exif_hint(pair(index).image, info_.exif, image, info_.height, info_.width)));
  return image;
}

Image PairedSource::read_mask(std::int64_t index, const Image& image) const {
  const ImagePair& files = pair(index);
  Image mask = std::visit(
      [&](const auto& rule) { return rule.apply(rule.read(files.mask), files.mask.string()); },
      how_.rule);
  FOVEA_CHECK(
      mask.height == image.height && mask.width == image.width, FileError,
      fmt::format("{}: is {} x {}, its image {} is {} x {}{}", files.mask.string(), mask.height,
                  mask.width, files.image.filename().string(), image.height, image.width,
                  exif_hint(files.image, info_.exif, image, mask.height, mask.width)));
  const auto is_one = [](std::uint8_t value) { return value == 255; };
  if (how_.empty_if_all_one && std::all_of(mask.pixels.begin(), mask.pixels.end(), is_one))
    std::fill(mask.pixels.begin(), mask.pixels.end(), std::uint8_t{0});
  if (info_.masks == Masks::kLabels && std::holds_alternative<MaskRule>(how_.rule)) {
    for (std::uint8_t& value : mask.pixels) value = value == 255 ? 2 : 1;
  }
  return mask;
}

void PairedSource::check_targets(const std::vector<std::int64_t>& indices, Split split) const {
  const auto check = [&](const auto& rule) {
    MaskValues seen;
    for (const std::int64_t index : indices) {
      try {
        const MaskFile mask = rule.read(pair(index).mask);
        if (rule.has_foreground(mask)) return;
        seen.add(mask);
      } catch (const FileError&) {  // reported when the sample itself is used
      }
    }
    FOVEA_CHECK(seen.files() == 0, FileError,
                fmt::format("dataset: the masks of {} hold no foreground, which is {}: values "
                            "found: {}; see dataset.mask_values and dataset.mask_threshold in {}",
                            name_of(split), rule.text(), seen.text(), how_.page));
  };
  std::visit(check, how_.rule);
}

std::string PairedSource::name(std::int64_t index) const { return pair(index).image.string(); }

std::vector<std::filesystem::path> PairedSource::files() const {
  std::vector<std::filesystem::path> files;
  for (const ImagePair& pair : pairs_) {
    if (info_.channel_names.empty()) {
      files.push_back(pair.image);
    } else {
      const auto channels = channel_files(pair.image, info_.channel_names.size());
      files.insert(files.end(), channels.begin(), channels.end());
    }
    files.push_back(pair.mask);
  }
  return files;
}

}  // namespace fovea::data
