#include "data/parts/image_pairs.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <sstream>
#include <system_error>
#include <utility>

#include "base/error.h"
#include "base/file.h"
#include "base/suggest.h"
#include "data/files/pictures/image_file.h"
#include "data/files/text_decode.h"
#include "data/given/channel_files.h"
#include "data/parts/folder.h"

namespace fovea::data {
namespace {

namespace fs = std::filesystem;

std::string name_of(const ImagePair& pair) {
  return pair.name.empty() ? pair.image.stem().string() : pair.name;
}

// The images of a folder with all their channels. Throws FileError for one that lacks some.
std::vector<GivenCase> images_of(const char* reader, const char* page, const PairFolders& folders) {
  std::vector<GivenFile> files;
  for (const fs::path& image : image_files(reader, folders.images, page))
    files.push_back({image, image.filename()});
  std::vector<GivenCase> images = given_cases(files, folders.channels);
  for (const GivenCase& one : images)
    FOVEA_CHECK(one.files.size() == 1 || std::ssize(one.files) == folders.channels, FileError,
                fmt::format("{}: {}: {} files of channels; expected {}, {}_0000 to {}_{:04}",
                            reader, (folders.images / one.name).string(), one.files.size(),
                            folders.channels, one.name, one.name, folders.channels - 1));
  return images;
}

}  // namespace

void check_own_masks(const char* reader, const std::vector<ImagePair>& pairs) {
  std::map<fs::path, fs::path> images;
  for (const ImagePair& pair : pairs) {
    const auto [known, added] = images.emplace(pair.mask, pair.image);
    FOVEA_CHECK(added, FileError,
                fmt::format("{}: {} and {}: two images of one name, both with the mask {}; remove "
                            "or rename one of them",
                            reader, known->second.string(), pair.image.filename().string(),
                            pair.mask.string()));
  }
}

std::vector<ImagePair> find_pairs(const char* reader, const char* page, const PairFolders& folders,
                                  std::vector<std::string>* notes) {
  std::error_code code;
  for (const fs::path& folder : {folders.images, folders.masks}) {
    FOVEA_CHECK(fs::is_directory(folder, code), FileError,
                fmt::format("dataset.root: {}: not found; see {}", folder.string(), page));
  }
  std::map<std::string, fs::path> masks;
  for (fs::path& mask : image_files(reader, folders.masks, page)) {
    const std::string stem = mask.stem().string();
    const auto [known, added] = masks.emplace(stem, mask);
    FOVEA_CHECK(added, FileError,
                fmt::format("{}: {} and {}: two masks of one name", reader, known->second.string(),
                            mask.filename().string()));
  }
  std::vector<ImagePair> pairs;
  for (GivenCase& one : images_of(reader, page, folders)) {
    if (one.name.ends_with("_superpixels")) continue;  // come with ISIC 2017
    auto mask = masks.find(one.name + folders.mask_suffix);
    if (const auto [name, channel] = numbered_name(one.name); mask == masks.end() && channel == 0) {
      mask = masks.find(name + folders.mask_suffix);
      if (mask != masks.end()) one.name = name;
    }
    FOVEA_CHECK(
        mask != masks.end(), FileError,
        fmt::format("{}: {}: has no mask; expected {}.png or another ending{}", reader,
                    one.files[0].string(),
                    (folders.masks / (one.name + folders.mask_suffix)).string(),
                    folders.channels == 0 && numbered_name(one.name).channel
                        ? "; if it is a channel of an image, dataset.channels names them all"
                        : ""));
    pairs.push_back({std::move(one.files[0]), mask->second, std::move(one.name)});
  }
  check_own_masks(reader, pairs);
  if (notes == nullptr || pairs.size() == masks.size()) return pairs;
  for (const ImagePair& pair : pairs) masks.erase(pair.mask.stem().string());
  notes->push_back(fmt::format("{}: {}: {} of {} masks have no image, e.g. {}; they are left out",
                               reader, folders.masks.string(), masks.size(),
                               masks.size() + pairs.size(),
                               masks.begin()->second.filename().string()));
  return pairs;
}

fs::path list_file(const fs::path& lists, Split split) { return part_path(lists, split, ".txt"); }

std::map<std::string, int> names_in_list(const fs::path& lists, Split split) {
  return names_in_list(list_file(lists, split));
}

std::map<std::string, int> names_in_list(const fs::path& file) {
  std::istringstream lines(without_mark(io::read_text(file)));
  std::map<std::string, int> names;
  std::string line;
  for (int number = 1; std::getline(lines, line); ++number) {
    while (!line.empty() && (line.back() == '\r' || line.back() == ' ')) line.pop_back();
    if (line.empty()) continue;
    const fs::path name(line);
    const std::string stem = has_image_extension(name) ? name.stem().string() : line;
    const auto [first, added] = names.emplace(stem, number);
    FOVEA_CHECK(
        added, FileError,
        fmt::format("{}:{}: {} is also in line {}", file.string(), number, line, first->second));
  }
  FOVEA_CHECK(!names.empty(), FileError, fmt::format("{}: holds no name", file.string()));
  return names;
}

bool has_list(const fs::path& lists, Split split) {
  std::error_code code;
  return fs::exists(list_file(lists, split), code);
}

std::vector<ImagePair> listed_pairs(const std::vector<ImagePair>& all, const fs::path& lists,
                                    Split split, const char* page) {
  const auto path_of = [&](Split s) { return list_file(lists, s); };
  std::map<Split, std::map<std::string, int>> names;
  for (const Split s : {Split::kTrain, Split::kVal, Split::kTest}) {
    if (has_list(lists, s)) names.emplace(s, names_in_list(lists, s));
  }
  const auto wanted = names.find(split);
  FOVEA_CHECK(wanted != names.end(), FileError,
              fmt::format("dataset.splits: {}: not found; see {}", path_of(split).string(), page));
  for (const auto& [name, line] : wanted->second) {
    for (const auto& [other, theirs] : names) {
      FOVEA_CHECK(other == split || theirs.count(name) == 0, FileError,
                  fmt::format("{}:{}: {} is also in {}", path_of(split).string(), line, name,
                              path_of(other).filename().string()));
    }
  }
  std::vector<ImagePair> chosen;
  std::vector<std::string> stems;
  for (const ImagePair& pair : all) {
    stems.push_back(name_of(pair));
    if (wanted->second.count(stems.back()) > 0) chosen.push_back(pair);
  }
  if (chosen.size() == wanted->second.size()) return chosen;
  std::sort(stems.begin(), stems.end());
  for (const auto& [name, line] : wanted->second) {
    FOVEA_CHECK(
        std::binary_search(stems.begin(), stems.end(), name), FileError,
        fmt::format("{}:{}: {}: no image of this name in {}{}", path_of(split).string(), line, name,
                    all.front().image.parent_path().string(), did_you_mean(name, stems)));
  }
  throw FileError(fmt::format("{}: two images of one name", path_of(split).string()));
}

}  // namespace fovea::data
