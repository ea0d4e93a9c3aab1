#include "data/given/channel_files.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <string_view>

#include "base/error.h"

namespace fovea::data {
namespace {

constexpr std::size_t kDigits = 4;

std::string without_ending(const std::filesystem::path& file) {
  const std::string name = file.string();
  constexpr std::string_view kPacked = ".nii.gz";
  if (name.ends_with(kPacked)) return name.substr(0, name.size() - kPacked.size());
  return std::filesystem::path(file).replace_extension().string();
}

// Of what has a single channel "a_0002" is a name, "a_0000" channel 0.
NumberedName numbered(const std::filesystem::path& file, std::int64_t channels) {
  const std::string stem = without_ending(file);
  NumberedName own = numbered_name(stem);
  if (channels == 0 || (channels == 1 && own.channel != 0)) return {stem, {}};
  return own;
}

void check_numbers(const GivenCase& one, const std::map<int, std::filesystem::path>& by_channel,
                   std::int64_t channels) {
  if (std::ssize(by_channel) != channels) return;  // who reads them says how many there are
  std::vector<std::string> names;
  for (const auto& [channel, file] : by_channel) names.push_back(file.filename().string());
  FOVEA_CHECK(by_channel.rbegin()->first == channels - 1, FileError,
              fmt::format("{}: its channels are {}; expected files that end in _0000 to _{:04}",
                          one.name, fmt::join(names, ", "), channels - 1));
}

}  // namespace

NumberedName numbered_name(const std::string& stem) {
  if (stem.size() <= kDigits + 1 || stem[stem.size() - kDigits - 1] != '_') return {stem, {}};
  const std::string digits = stem.substr(stem.size() - kDigits);
  const bool all_digits = std::all_of(digits.begin(), digits.end(),
                                      [](unsigned char c) { return std::isdigit(c) != 0; });
  if (!all_digits) return {stem, {}};
  return {stem.substr(0, stem.size() - kDigits - 1), std::stoi(digits)};
}

std::vector<GivenCase> given_cases(const std::vector<GivenFile>& files, std::int64_t channels) {
  struct Open {
    std::size_t place;  // among the cases
    std::map<int, std::filesystem::path> by_channel;
  };
  std::vector<GivenCase> cases;
  std::map<std::string, Open> numbered_cases;  // by stem
  for (const GivenFile& given : files) {
    const NumberedName own = numbered(given.file, channels);
    if (own.channel && channels > 1) {
      const auto [open, added] = numbered_cases.try_emplace(own.name, Open{cases.size(), {}});
      if (added) cases.push_back({{}, numbered(given.name, channels).name});
      const auto [known, first] = open->second.by_channel.try_emplace(*own.channel, given.file);
      FOVEA_CHECK(first, FileError,
                  fmt::format("{}: is channel {} of its case, as {} is; give one of them",
                              given.file.string(), *own.channel, known->second.string()));
      continue;
    }
    cases.push_back({{given.file}, numbered(given.name, channels).name});
  }
  for (const auto& [stem, open] : numbered_cases) {
    GivenCase& one = cases[open.place];
    check_numbers(one, open.by_channel, channels);
    for (const auto& [channel, file] : open.by_channel) one.files.push_back(file);
  }
  return cases;
}

}  // namespace fovea::data
