// Folders of texts: ROOT/train/<class>/<file>, ROOT/test/<class>/<file> and optionally ROOT/val.
// Classes are the folders of train in byte order.
#include <system_error>

#include "data/folder.h"
#include "data/registry.h"

namespace fovea::data {
namespace {

constexpr const char* kReader = "text_folder";
constexpr const char* kPage = "datasets/text_folder.md";

struct Options : TextOptions {};

std::optional<TextSource> open(const Place& place, const Options& options) {
  std::error_code code;
  const std::filesystem::path part = place.root / name_of(place.split);
  if (place.split == Split::kVal && !std::filesystem::is_directory(part, code)) return std::nullopt;
  std::vector<std::string> classes;
  const std::filesystem::path train = place.root / "train";
  if (place.split != Split::kTrain && std::filesystem::is_directory(train, code))
    classes = class_folders(kReader, train, "<class>/<text>", kPage);
  return read_text_folder(kReader, part, std::move(classes), true, options.encoding, kPage);
}

}  // namespace

FOVEA_DATASET(text_folder, open, "folders of texts: train/<class>/<file>, test/<class>/<file>",
              kPage, schema::Fields<Options>{})

}  // namespace fovea::data
