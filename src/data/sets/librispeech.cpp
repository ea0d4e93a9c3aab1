// LibriSpeech (V. Panayotov et al., "LibriSpeech: an ASR corpus based on public domain audio
// books", ICASSP 2015): ROOT/<part>/<speaker>/<chapter>/<speaker>-<chapter>.trans.txt, a line
// "<recording> TEXT" for each <recording>.flac beside it.
#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "base/error.h"
#include "base/file.h"
#include "data/audio/speech_options.h"
#include "data/parts/folder.h"
#include "data/registry.h"

namespace fovea::data {
namespace {

namespace fs = std::filesystem;

constexpr const char* kLibriReader = "librispeech";
constexpr const char* kLibriPage = "datasets/librispeech.md";

struct LibriSpeechOptions : SpeechOptions {
  std::vector<std::string> train_parts = {"train-clean-100", "train-clean-360", "train-other-500"};
  std::vector<std::string> val_parts = {"dev-clean"};
  std::vector<std::string> test_parts = {"test-clean"};

  const std::vector<std::string>& parts_of(Split part) const {
    return part == Split::kTrain ? train_parts : part == Split::kVal ? val_parts : test_parts;
  }
};

void read_chapter(const fs::path& list, std::vector<SpeechFiles::Spoken>& spoken) {
  const std::string text = io::read_text(list);
  int number = 1;
  for (std::size_t at = 0; at < text.size(); ++number) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    std::string line = text.substr(at, end - at);
    at = end + 1;
    if (!line.empty() && line.back() == '\r') line.pop_back();
    if (line.empty()) continue;
    const std::size_t blank = line.find(' ');
    FOVEA_CHECK(blank != std::string::npos && blank > 0, FileError,
                fmt::format("{}:{}: expected the name of a recording and what is said",
                            list.string(), number));
    spoken.push_back(
        {list.parent_path() / (line.substr(0, blank) + ".flac"), line.substr(blank + 1)});
  }
}

// Chapters below a part, in byte order at every level.
void walk(const fs::path& folder, std::vector<SpeechFiles::Spoken>& spoken,
          std::vector<fs::path>& lists) {
  for (const fs::directory_entry& entry : sorted_entries(kLibriReader, folder)) {
    if (type_of(kLibriReader, entry) == fs::file_type::directory) {
      walk(entry.path(), spoken, lists);
    } else if (entry.path().filename().string().ends_with(".trans.txt")) {
      lists.push_back(entry.path());
      read_chapter(entry.path(), spoken);
    }
  }
}

std::unique_ptr<SpeechPart> open_librispeech(const Place& place, const LibriSpeechOptions& o) {
  std::vector<SpeechFiles::Spoken> spoken;
  std::vector<fs::path> lists;
  std::error_code code;
  for (const std::string& part : o.parts_of(place.split)) {
    const fs::path folder = place.root / part;
    FOVEA_CHECK(fs::is_directory(folder, code), FileError,
                fmt::format("dataset.root: {}: not found; see {}", folder.string(), kLibriPage));
    walk(folder, spoken, lists);
  }
  if (o.parts_of(place.split).empty()) return nullptr;
  return std::make_unique<SpeechFiles>(kLibriReader, spoken, std::move(lists));
}

}  // namespace

FOVEA_DATASET(
    librispeech, open_librispeech, "LibriSpeech: read English books, 16 kHz", kLibriPage,
    schema::Fields<LibriSpeechOptions>{}
        .add("train_parts", &LibriSpeechOptions::train_parts, "folders below root that are train")
        .add("val_parts", &LibriSpeechOptions::val_parts, "folders that are val; [] = none")
        .add("test_parts", &LibriSpeechOptions::test_parts, "folders that are test; [] = none"))

}  // namespace fovea::data
