// Free Spoken Digit Dataset (Z. Jackson et al.): ROOT/recordings/<digit>_<speaker>_<index>.wav.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <memory>
#include <optional>

#include "base/error.h"
#include "data/audio/speech_options.h"
#include "data/parts/folder.h"
#include "data/registry.h"

namespace fovea::data {
namespace {

namespace fs = std::filesystem;

constexpr const char* kFsddReader = "fsdd";
constexpr const char* kFsddPage = "datasets/fsdd.md";
constexpr std::array<const char*, 10> kDigitWords = {"zero", "one", "two",   "three", "four",
                                                     "five", "six", "seven", "eight", "nine"};

struct FsddOptions : SpeechOptions {
  std::vector<std::string> test_speakers;
  std::int64_t test_indices = 5;
};

struct SpokenDigit {
  std::int64_t digit = 0, index = 0;
  std::string speaker;
};

std::optional<std::int64_t> number_in(std::string_view text) {
  std::int64_t number = -1;
  const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (status != std::errc() || end != text.data() + text.size() || number < 0) return std::nullopt;
  return number;
}

// Nothing for a file of another name.
std::optional<SpokenDigit> parse_name(const std::string& stem) {
  const std::size_t first = stem.find('_'), last = stem.rfind('_');
  if (first == std::string::npos || last <= first + 1) return std::nullopt;
  const auto digit = number_in(std::string_view(stem).substr(0, first));
  const auto index = number_in(std::string_view(stem).substr(last + 1));
  if (!digit || *digit > 9 || !index) return std::nullopt;
  return SpokenDigit{*digit, *index, stem.substr(first + 1, last - first - 1)};
}

std::unique_ptr<SpeechPart> open_fsdd(const Place& place, const FsddOptions& o) {
  if (place.split == Split::kVal) return nullptr;
  const fs::path folder = place.root / "recordings";
  std::error_code code;
  FOVEA_CHECK(fs::is_directory(folder, code), FileError,
              fmt::format("dataset.root: {}: not found; see {}", folder.string(), kFsddPage));
  std::vector<SpeechFiles::Spoken> spoken;
  std::vector<std::string> speakers;
  for (const fs::directory_entry& entry : sorted_entries(kFsddReader, folder)) {
    if (!has_sound_extension(entry.path())) continue;
    const auto named = parse_name(entry.path().stem().string());
    FOVEA_CHECK(named.has_value(), FileError,
                fmt::format("{}: expected <digit>_<speaker>_<index>.wav; see {}",
                            entry.path().string(), kFsddPage));
    speakers.push_back(named->speaker);
    const bool held_out = o.test_speakers.empty()
                              ? named->index < o.test_indices
                              : std::find(o.test_speakers.begin(), o.test_speakers.end(),
                                          named->speaker) != o.test_speakers.end();
    if (held_out == (place.split == Split::kTest))
      spoken.push_back({entry.path(), kDigitWords[static_cast<std::size_t>(named->digit)]});
  }
  for (const std::string& speaker : o.test_speakers)
    FOVEA_CHECK(std::find(speakers.begin(), speakers.end(), speaker) != speakers.end(), ConfigError,
                fmt::format("dataset.test_speakers: no recording of \"{}\" in {}", speaker,
                            folder.string()));
  return std::make_unique<SpeechFiles>(kFsddReader, spoken, std::vector<fs::path>{});
}

}  // namespace

FOVEA_DATASET(fsdd, open_fsdd, "Free Spoken Digit Dataset: single English digits, 8 kHz", kFsddPage,
              schema::Fields<FsddOptions>{}
                  .add("test_speakers", &FsddOptions::test_speakers,
                       "speakers whose recordings are test, and all others train; []: by index")
                  .add("test_indices", &FsddOptions::test_indices, schema::at_least(1),
                       "recordings of each digit and speaker that are test, the first ones; as "
                       "published 5"))

}  // namespace fovea::data
