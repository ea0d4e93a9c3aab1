// Folders of texts: ROOT/train/<class>/<file> and optionally ROOT/val, ROOT/test; or
// ROOT/<class>/<file>. Classes are the folders of train in byte order.
#include "data/folder.h"
#include "data/registry.h"

namespace fovea::data {
namespace {

constexpr const char* kReader = "text_folder";
constexpr const char* kPage = "datasets/text_folder.md";

struct Options : TextOptions {};

std::optional<TextSource> open(const Place& place, const Options& options) {
  const auto part = part_folder(place.root, place.split, options.split, kPage);
  if (!part) return std::nullopt;
  std::vector<std::string> classes;
  if (place.split != Split::kTrain)
    classes = class_folders(kReader, place.root / "train", "<class>/<text>", kPage);
  return read_text_folder(kReader, *part, std::move(classes), true, options.encoding, kPage);
}

}  // namespace

FOVEA_DATASET(text_folder, open, "folders of texts: train/<class>/<file>, test/<class>/<file>",
              kPage, schema::Fields<Options>{})

}  // namespace fovea::data
