// Recordings with a table of what is said: Common Voice, LJ Speech, Kaldi's yesno and sets of one's
// own. One table for each part, or one table of which lists choose.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <memory>
#include <optional>

#include "base/error.h"
#include "base/file.h"
#include "base/suggest.h"
#include "data/audio/speech_options.h"
#include "data/files/csv.h"
#include "data/parts/folder.h"
#include "data/parts/image_pairs.h"
#include "data/registry.h"

namespace fovea::data {
namespace {

namespace fs = std::filesystem;

constexpr const char* kSpeechReader = "speech";
constexpr const char* kSpeechPage = "datasets/speech.md";

struct SpeechTableOptions : SpeechOptions {
  std::string transcripts = "transcripts.tsv";
  std::string audio = ".";
  std::string ending;
  std::string splits = "splits";
  bool header = false;
  std::string file_column = "0", text_column = "1";

  bool has_lists(const fs::path& place) const {
    return !splits.empty() && has_list(place / splits, Split::kTrain);
  }
  bool lists_test() const {
    return has_lists(root) && has_list(fs::path(root) / splits, Split::kTest);
  }
};

// A table with the recordings' files and transcripts, in its order.
class SpokenTable {
 public:
  SpokenTable(const fs::path& root, const fs::path& path, const SpeechTableOptions& o)
      : path_(path) {
    const char separator = path.extension() == ".csv"   ? ','
                           : path.extension() == ".tsv" ? '\t'
                                                        : '|';
    std::vector<CsvRow> rows =
        parse_csv(io::read_text(path), separator, separator == ',', path.string());
    FOVEA_CHECK(!rows.empty(), FileError,
                fmt::format("{}: is empty; see {}", path.string(), kSpeechPage));
    const std::size_t file = column(rows.front(), o.header, o.file_column, "file_column");
    const std::size_t text = column(rows.front(), o.header, o.text_column, "text_column");
    if (o.header) rows.erase(rows.begin());
    std::map<std::string, std::int64_t> lines;
    for (const CsvRow& row : rows) {
      FOVEA_CHECK(row.fields.size() > std::max(file, text), FileError,
                  fmt::format("{}:{}: has {} columns; expected at least {}", path.string(),
                              row.line, row.fields.size(), std::max(file, text) + 1));
      const std::string& name = row.fields[file];
      const auto [first, fresh] = lines.emplace(name, row.line);
      FOVEA_CHECK(fresh, FileError,
                  fmt::format("{}:{}: {} is also in line {}", path.string(), row.line, name,
                              first->second));
      names_.push_back(name);
      spoken_.push_back(
          {(root / o.audio / (name + o.ending)).lexically_normal(), row.fields[text]});
    }
  }

  const std::vector<SpeechFiles::Spoken>& all() const { return spoken_; }
  std::vector<SpeechFiles::Spoken> listed(const fs::path& lists, Split split) const {
    const std::map<std::string, int> wanted = names_in_list(lists, split);
    std::vector<SpeechFiles::Spoken> chosen;
    for (std::size_t i = 0; i < names_.size(); ++i) {
      if (wanted.contains(names_[i])) chosen.push_back(spoken_[i]);
    }
    if (chosen.size() == wanted.size()) return chosen;
    for (const auto& [name, line] : wanted) {
      FOVEA_CHECK(std::find(names_.begin(), names_.end(), name) != names_.end(), FileError,
                  fmt::format("{}:{}: {} is not in {}{}", list_file(lists, split).string(), line,
                              name, path_.string(), did_you_mean(name, names_)));
    }
    return chosen;
  }

 private:
  std::size_t column(const CsvRow& first, bool header, const std::string& name,
                     const char* key) const {
    if (header) {
      const auto found = std::find(first.fields.begin(), first.fields.end(), name);
      FOVEA_CHECK(found != first.fields.end(), FileError,
                  fmt::format("dataset.{}: {} has no column \"{}\"{}", key, path_.string(), name,
                              did_you_mean(name, first.fields)));
      return static_cast<std::size_t>(found - first.fields.begin());
    }
    std::size_t number = 0;
    const auto [end, status] = std::from_chars(name.data(), name.data() + name.size(), number);
    FOVEA_CHECK(
        status == std::errc() && end == name.data() + name.size() && number < first.fields.size(),
        ConfigError,
        fmt::format("dataset.{}: \"{}\"; without a header columns of {} are 0 to {}", key, name,
                    path_.string(), first.fields.size() - 1));
    return number;
  }

  fs::path path_;
  std::vector<std::string> names_;
  std::vector<SpeechFiles::Spoken> spoken_;
};

// A table of the part itself; nothing where there is none.
std::optional<fs::path> own_table(const fs::path& root, Split split) {
  std::error_code code;
  for (const char* ending : {".tsv", ".csv"}) {
    const fs::path path = part_path(root, split, ending);
    if (fs::exists(path, code)) return path;
  }
  return std::nullopt;
}

std::unique_ptr<SpeechPart> open_speech(const Place& place, const SpeechTableOptions& o) {
  const fs::path shared = place.root / o.transcripts;
  std::error_code code;
  if (o.has_lists(place.root)) {
    const fs::path lists = place.root / o.splits;
    if (!has_list(lists, place.split)) return nullptr;
    FOVEA_CHECK(fs::exists(shared, code), FileError,
                fmt::format("dataset.root: {}: not found; see {}", shared.string(), kSpeechPage));
    const SpokenTable table(place.root, shared, o);
    return std::make_unique<SpeechFiles>(
        kSpeechReader, table.listed(lists, place.split),
        std::vector<fs::path>{shared, list_file(lists, place.split)});
  }
  std::optional<fs::path> path = own_table(place.root, place.split);
  if (!path && place.split == Split::kTrain) path = shared;
  if (!path) return nullptr;
  FOVEA_CHECK(fs::exists(*path, code), FileError,
              fmt::format("dataset.root: {}: not found; see {}", path->string(), kSpeechPage));
  const SpokenTable table(place.root, *path, o);
  return std::make_unique<SpeechFiles>(kSpeechReader, table.all(), std::vector<fs::path>{*path});
}

}  // namespace

FOVEA_DATASET(speech, open_speech, "recordings with a table of transcripts", kSpeechPage,
              schema::Fields<SpeechTableOptions>{}
                  .add("transcripts", &SpeechTableOptions::transcripts,
                       "table of files and transcripts below root, where parts have none of their "
                       "own (train.tsv or .csv, val, test); .csv is read with commas and quotes, "
                       ".tsv with tabs, others with |")
                  .add("audio", &SpeechTableOptions::audio,
                       "folder below root that the names in the table start from")
                  .add("ending", &SpeechTableOptions::ending,
                       "what is added to the names in the table, e.g. \".wav\"")
                  .add("splits", &SpeechTableOptions::splits,
                       "folder below root with lists train.txt, val.txt, test.txt of names in the "
                       "table; where it has no train.txt, parts are tables")
                  .add("header", &SpeechTableOptions::header, "the first row names the columns")
                  .add("file_column", &SpeechTableOptions::file_column,
                       "column of the file: its name, or without a header its number from 0")
                  .add("text_column", &SpeechTableOptions::text_column, "column of the transcript"))

}  // namespace fovea::data
