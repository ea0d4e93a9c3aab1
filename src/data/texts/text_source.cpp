#include "data/texts/text_source.h"

#include <fmt/format.h>

#include <algorithm>
#include <system_error>

#include "base/error.h"
#include "base/file.h"
#include "data/parts/folder.h"

namespace fovea::data {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kMaxBytes = std::uint64_t{1} << 31;

// "12_7.txt" is number 12; -1 for a name that begins otherwise.
std::int64_t number_of(const std::string& name) {
  std::int64_t number = -1;
  for (const char c : name) {
    if (c < '0' || c > '9' || number > 1'000'000'000'000) break;
    number = std::max<std::int64_t>(number, 0) * 10 + (c - '0');
  }
  return number;
}

std::vector<fs::path> text_files(const char* reader, const fs::path& folder, const char* page) {
  std::vector<fs::path> files;
  for (const auto& entry : sorted_entries(reader, folder)) {
    if (type_of(reader, entry) == fs::file_type::regular) files.push_back(entry.path());
  }
  FOVEA_CHECK(!files.empty(), FileError,
              fmt::format("{}: {}: holds no file; expected one text a file; see {}", reader,
                          folder.string(), page));
  std::stable_sort(files.begin(), files.end(), [](const fs::path& a, const fs::path& b) {
    return number_of(a.filename().string()) < number_of(b.filename().string());
  });
  return files;
}

}  // namespace

std::string read_text_file(const fs::path& path, TextEncoding encoding, const char* page) {
  std::error_code code;
  FOVEA_CHECK(fs::exists(path, code), FileError,
              fmt::format("dataset.root: {}: not found; see {}", path.string(), page));
  return to_utf8(io::read_text(path, kMaxBytes), encoding);
}

TextSource read_text_folder(const char* reader, const fs::path& folder,
                            std::vector<std::string> class_names, bool strict,
                            TextEncoding encoding, const char* page) {
  std::error_code code;
  FOVEA_CHECK(fs::is_directory(folder, code), FileError,
              fmt::format("dataset.root: {}: not found; see {}", folder.string(), page));
  TextSource source;
  const std::vector<std::string> folders = class_folders(reader, folder, "<class>/<text>", page);
  source.class_names = class_names.empty() ? folders : std::move(class_names);
  for (const std::string& name : folders) {
    const auto& known = source.class_names;
    if (!strict && !std::binary_search(known.begin(), known.end(), name)) continue;
    const std::int64_t label = class_of(reader, folder, name, known);
    for (const fs::path& file : text_files(reader, folder / name, page)) {
      source.documents.push_back({read_text_file(file, encoding, page), label, file.string()});
      source.files.push_back(file);
    }
  }
  return source;
}

}  // namespace fovea::data
