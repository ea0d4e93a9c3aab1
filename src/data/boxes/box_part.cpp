#include "data/boxes/box_part.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/error.h"
#include "base/shown.h"
#include "data/images/picture_notes.h"

namespace fovea::data {
namespace {

// What is wrong with a box, or "".
const char* flaw_of(const BoxedObject& object, const BoxedImage& image) {
  for (const double side : object.box) {
    if (!std::isfinite(side)) return "is not finite";
  }
  if (object.width() <= 0 || object.height() <= 0) return "has no area";
  const bool outside = object.box[2] <= 0 || object.box[3] <= 0 ||
                       object.box[0] >= static_cast<double>(image.width) ||
                       object.box[1] >= static_cast<double>(image.height);
  return outside ? "lies outside its image" : "";
}

}  // namespace

void BoxPart::describe(BoxInfo info) {
  info_ = std::move(info);
  if (!info_.category_ids.empty()) return;
  info_.category_ids.resize(info_.class_names.size());
  std::iota(info_.category_ids.begin(), info_.category_ids.end(), std::int64_t{1});
}

std::vector<MaskRuns> BoxPart::read_masks(std::int64_t) const {
  throw ConfigError("dataset: has no masks");
}

Image BoxPart::read_file(const std::filesystem::path& file) const {
  return read_image(file, info_.channels, info_.exif);
}

void BoxPart::add(BoxedImage image) {
  if (!image.id) image.id = std::ssize(images_) + 1;
  const auto flawed = [&](const BoxedObject& object) {
    const std::string flaw = flaw_of(object, image);
    if (!flaw.empty() && first_skipped_.empty()) {
      first_skipped_ =
          fmt::format("{}: box {} ({}) {}", image.name, object.record + 1,
                      shown(info_.class_names[static_cast<std::size_t>(object.label)]), flaw);
    }
    return !flaw.empty();
  };
  skipped_.push_back(static_cast<std::int64_t>(std::erase_if(image.objects, flawed)));
  images_.push_back(std::move(image));
  labels_.push_back(0);
}

void BoxPart::note_skipped(const char* reader) {
  if (first_skipped_.empty()) return;
  const std::int64_t skipped = std::accumulate(skipped_.begin(), skipped_.end(), std::int64_t{0});
  std::int64_t boxes = skipped;
  for (const BoxedImage& image : images_) boxes += std::ssize(image.objects);
  notes_.push_back(
      fmt::format("{}: {} of {} boxes left out, without area or outside the image; the first: {}",
                  reader, skipped, boxes, first_skipped_));
}

Image BoxedFiles::read(std::int64_t index) const {
  const BoxedImage& known = image(index);
  Image picture = read_file(known.name);
  FOVEA_CHECK(picture.height == known.height && picture.width == known.width, FileError,
              fmt::format("{}: is {} x {}, its annotation says {} x {} (height x width){}",
                          known.name, picture.height, picture.width, known.height, known.width,
                          exif_hint(known.name, info().exif, picture, known.height, known.width)));
  return picture;
}

std::vector<std::filesystem::path> BoxedFiles::files() const {
  std::vector<std::filesystem::path> files = other_files_;
  for (std::int64_t i = 0; i < size(); ++i) files.emplace_back(name(i));
  return files;
}

}  // namespace fovea::data
