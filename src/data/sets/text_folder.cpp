// Folders of texts: ROOT/train/<class>/<file> and optionally ROOT/val, ROOT/test; or
// ROOT/<class>/<file>. Classes are the folders of train in byte order.
#include "data/parts/folder.h"
#include "data/registry.h"

namespace fovea::data {
namespace {

constexpr const char* kTextFolderReader = "text_folder";
constexpr const char* kTextFolderPage = "datasets/text_folder.md";

struct TextFolderOptions : TextOptions {};

std::optional<TextSource> open_text_folder(const Place& place, const TextFolderOptions& options) {
  const auto part = part_folder(place.root, place.split, options.split, kTextFolderPage);
  if (!part) return std::nullopt;
  std::vector<std::string> classes = place.class_names;
  if (classes.empty() && place.split != Split::kTrain)
    classes =
        class_folders(kTextFolderReader, place.root / "train", "<class>/<text>", kTextFolderPage);
  return read_text_folder(kTextFolderReader, *part, std::move(classes), true, options.encoding,
                          kTextFolderPage);
}

}  // namespace

FOVEA_DATASET(text_folder, open_text_folder,
              "folders of texts: train/<class>/<file>, test/<class>/<file>", kTextFolderPage,
              schema::Fields<TextFolderOptions>{})

}  // namespace fovea::data
