#include "data/folder.h"

#include <fmt/format.h>

#include <algorithm>
#include <system_error>

#include "base/error.h"
#include "data/image_file.h"

namespace fovea::data {

namespace fs = std::filesystem;

std::vector<fs::directory_entry> sorted_entries(const fs::path& folder,
                                                const FolderReader& reader) {
  std::error_code code;
  std::vector<fs::directory_entry> entries;
  fs::directory_iterator it(folder, code);
  for (; !code && it != fs::directory_iterator(); it.increment(code)) {
    if (it->path().filename().native().front() != '.') entries.push_back(*it);
  }
  FOVEA_CHECK(
      !code, FileError,
      fmt::format("{}: {}: cannot be listed: {}", reader.name, folder.string(), code.message()));
  std::sort(entries.begin(), entries.end(), [](const auto& a, const auto& b) {
    return a.path().filename().native() < b.path().filename().native();
  });
  return entries;
}

fs::file_type type_of(const fs::directory_entry& entry, const FolderReader& reader) {
  std::error_code code;
  const fs::file_status status = entry.status(code);
  FOVEA_CHECK(status.type() != fs::file_type::not_found && status.type() != fs::file_type::none,
              FileError,
              fmt::format("{}: {}: is a link that leads nowhere: {}", reader.name,
                          entry.path().string(), code ? code.message() : "its target is missing"));
  return status.type();
}

std::vector<fs::path> image_files(const fs::path& folder, const FolderReader& reader) {
  std::vector<fs::path> files;
  for (const auto& entry : sorted_entries(folder, reader)) {
    if (has_image_extension(entry.path()) && type_of(entry, reader) == fs::file_type::regular) {
      files.push_back(entry.path());
    }
  }
  FOVEA_CHECK(
      !files.empty(), FileError,
      fmt::format("{}: {}: holds no image; expected .png, .jpg, .jpeg, .bmp, .pgm, .ppm or .pnm "
                  "files; see {}",
                  reader.name, folder.string(), reader.page));
  return files;
}

}  // namespace fovea::data
