// A text for a language model: ROOT/train.txt, ROOT/val.txt (or valid.txt) and ROOT/test.txt;
// folders of those names, whose files are read one behind the other; or one text, a file or all
// files of a folder, which dataset.split cuts into train, val and test in this order.
#include <fmt/format.h>

#include <cmath>
#include <system_error>

#include "base/error.h"
#include "data/parts/folder.h"
#include "data/registry.h"
#include "data/texts/text_source.h"

namespace fovea::data {
namespace {

namespace fs = std::filesystem;

constexpr const char* kStreamReader = "text_stream";
constexpr const char* kStreamPage = "datasets/text_stream.md";

struct TextStreamOptions : StreamOptions {
  std::string train_file, val_file, test_file;
};

// The regular files of a folder whose names end in .txt.
std::vector<fs::path> stream_files(const fs::path& folder) {
  std::vector<fs::path> files;
  for (const auto& entry : sorted_entries(kStreamReader, folder)) {
    if (type_of(kStreamReader, entry) == fs::file_type::regular &&
        entry.path().extension() == ".txt")
      files.push_back(entry.path());
  }
  return files;
}

// A file, or all of a folder.
StreamText read_stream(const fs::path& path, const TextStreamOptions& o) {
  std::error_code code;
  StreamText read{"", path.string(), {path}};
  if (fs::is_directory(path, code)) {
    read.files = stream_files(path);
    FOVEA_CHECK(
        !read.files.empty(), FileError,
        fmt::format("{}: {}: holds no .txt; see {}", kStreamReader, path.string(), kStreamPage));
  }
  for (const fs::path& file : read.files)
    read.text += read_text_file(file, o.encoding, kStreamPage);
  return read;
}

// Where the text of a part lies, if it has a file or a folder of its own.
std::optional<fs::path> own_stream(const fs::path& root, Split split, const TextStreamOptions& o) {
  const std::string& named = split == Split::kTrain ? o.train_file
                             : split == Split::kVal ? o.val_file
                                                    : o.test_file;
  if (!named.empty()) return root / named;
  std::error_code code;
  if (!fs::is_directory(root, code)) return std::nullopt;
  for (const char* ending : {".txt", ""}) {
    const fs::path path = part_path(root, split, ending);
    if (fs::exists(path, code)) return path;
  }
  return std::nullopt;
}

// The first byte of a character, at a share of the text or before it.
std::size_t place_in(const std::string& text, double share) {
  auto at = static_cast<std::size_t>(std::llround(share * static_cast<double>(text.size())));
  while (at > 0 && at < text.size() && (static_cast<unsigned char>(text[at]) & 0xc0U) == 0x80U)
    --at;
  return at;
}

std::optional<StreamText> open_text_stream(const Place& place, const TextStreamOptions& o) {
  const bool cuts = (place.split == Split::kVal && o.split.val > 0) ||
                    (place.split == Split::kTest && o.split.test > 0);
  const auto own = own_stream(place.root, place.split, o);
  if (place.split != Split::kTrain && !cuts) {
    if (!own) return std::nullopt;
    return read_stream(*own, o);
  }
  const auto train = own_stream(place.root, Split::kTrain, o);
  StreamText text = read_stream(train.value_or(place.root), o);
  const std::size_t val = place_in(text.text, 1 - o.split.val - o.split.test);
  const std::size_t test = place_in(text.text, 1 - o.split.test);
  const std::size_t begin = place.split == Split::kTrain ? 0
                            : place.split == Split::kVal ? val
                                                         : test;
  const std::size_t end = place.split == Split::kTrain ? val
                          : place.split == Split::kVal ? test
                                                       : text.text.size();
  text.text = text.text.substr(begin, end - begin);
  if (place.split != Split::kTrain) text.name += fmt::format("[{}]", name_of(place.split));
  return text;
}

}  // namespace

FOVEA_DATASET(text_stream, open_text_stream,
              "a long text for language models: train.txt, val.txt, test.txt, or one to be cut",
              kStreamPage,
              schema::Fields<TextStreamOptions>{}
                  .add("train_file", &TextStreamOptions::train_file,
                       "file or folder of train below root; \"\" = train.txt or train, else all of "
                       "root")
                  .add("val_file", &TextStreamOptions::val_file,
                       "of val; \"\" = val.txt, valid.txt, validation.txt or such a folder, if "
                       "there is one; none where split.val cuts one from train")
                  .add("test_file", &TextStreamOptions::test_file, "of test, likewise"))

}  // namespace fovea::data
