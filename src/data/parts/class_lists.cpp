#include "data/parts/class_lists.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <sstream>

#include "base/error.h"
#include "base/file.h"
#include "base/suggest.h"
#include "data/files/text_decode.h"

namespace fovea::data {
namespace {

struct ListLine {
  std::int64_t number = 0;  // from 1
  std::vector<std::string> words;
};

// Lines that are not empty, as words between commas and white space; `most` of them, the rest as it
// is in the last.
std::vector<ListLine> lines_of(const std::filesystem::path& file, std::size_t most) {
  constexpr const char* kBetween = ", \t\r";
  std::vector<ListLine> lines;
  std::istringstream text(without_mark(io::read_text(file)));
  std::int64_t number = 0;
  for (std::string line; std::getline(text, line);) {
    ListLine found{++number, {}};
    line.erase(line.find_last_not_of(" \t\r") + 1);
    std::size_t at = line.find_first_not_of(kBetween);
    while (at != std::string::npos) {
      const bool last = found.words.size() + 1 == most;
      const std::size_t end = last ? std::string::npos : line.find_first_of(kBetween, at);
      found.words.push_back(line.substr(at, end == std::string::npos ? end : end - at));
      at = end == std::string::npos ? end : line.find_first_not_of(kBetween, end);
    }
    if (!found.words.empty()) lines.push_back(std::move(found));
  }
  return lines;
}

[[noreturn]] void refuse_line(const std::filesystem::path& file, const ListLine& line,
                              const std::string& complaint) {
  throw FileError(fmt::format("{}:{}: {}", file.string(), line.number, complaint));
}

// A folder by its name or its number.
std::int64_t class_at(const std::filesystem::path& file, const ListLine& line,
                      const std::string& word, const std::vector<std::string>& folders) {
  const auto found = std::lower_bound(folders.begin(), folders.end(), word);
  if (found != folders.end() && *found == word) return found - folders.begin();
  std::int64_t number = -1;
  const auto end = std::from_chars(word.data(), word.data() + word.size(), number).ptr;
  const bool is_number = end == word.data() + word.size();
  if (is_number && line.words.size() == 1) {
    refuse_line(file, line,
                "a number alone, as in the devkit's ground truth, is in an order of its own; "
                "expected the folder of the class; see datasets/imagenet.md");
  }
  if (is_number && number >= 0 && number < std::ssize(folders)) return number;
  refuse_line(file, line,
              fmt::format("train has no class \"{}\"{}", word, did_you_mean(word, folders)));
}

}  // namespace

std::vector<std::string> listed_names(const std::filesystem::path& file,
                                      const std::vector<std::string>& folders) {
  std::map<std::string, std::string> known;
  for (const ListLine& line : lines_of(file, 2)) {
    if (line.words.size() == 2) known[line.words[0]] = line.words[1];
  }
  std::vector<std::string> names;
  std::map<std::string, int> count;
  bool any = false;
  for (const std::string& folder : folders) {
    const auto found = known.find(folder);
    any = any || found != known.end();
    names.push_back(found != known.end() ? found->second : folder);
    ++count[names.back()];
  }
  FOVEA_CHECK(any, FileError,
              fmt::format("{}: names none of the classes of train; expected lines \"{} <name>\"",
                          file.string(), folders.front()));
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (count[names[i]] > 1) names[i] = fmt::format("{} ({})", names[i], folders[i]);
  }
  return names;
}

std::vector<std::int64_t> listed_classes(const std::filesystem::path& file,
                                         const std::vector<std::filesystem::path>& pictures,
                                         const std::vector<std::string>& folders) {
  std::vector<ListLine> lines = lines_of(file, 3);
  if (!lines.empty() && lines[0].words[0] == "ImageId") lines.erase(lines.begin());
  FOVEA_CHECK(!lines.empty(), FileError, fmt::format("{}: is empty", file.string()));
  std::vector<std::int64_t> classes;
  if (lines[0].words.size() == 1) {
    FOVEA_CHECK(
        lines.size() == pictures.size(), FileError,
        fmt::format("{}: {} lines for {} pictures", file.string(), lines.size(), pictures.size()));
    for (const ListLine& line : lines)
      classes.push_back(class_at(file, line, line.words[0], folders));
    return classes;
  }
  std::map<std::string, std::int64_t> by_stem;
  for (const ListLine& line : lines) {
    if (line.words.size() < 2) refuse_line(file, line, "expected a picture and its class");
    by_stem[std::filesystem::path(line.words[0]).stem().string()] =
        class_at(file, line, line.words[1], folders);
  }
  for (const std::filesystem::path& picture : pictures) {
    const auto found = by_stem.find(picture.stem().string());
    FOVEA_CHECK(found != by_stem.end(), FileError,
                fmt::format("{}: has no line for {}", file.string(), picture.string()));
    classes.push_back(found->second);
  }
  return classes;
}

}  // namespace fovea::data
