#include "data/images/label_values.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstddef>
#include <utility>

#include "base/error.h"
#include "data/images/mask_values.h"

namespace fovea::data {
namespace {

constexpr int kNoValue = -1;
constexpr std::size_t kMaxNamedLabels = 20;  // values a message names

void refuse_lossy(const MaskFile& mask, const std::string& name) {
  FOVEA_CHECK(!mask.lossy, FileError,
              fmt::format("{}: is a JPEG file, which does not keep exact values; expected a map of "
                          "labels as PNG",
                          name));
}

std::string list(const std::vector<int>& values) {
  const std::vector<int> first(
      values.begin(),
      values.begin() + static_cast<std::ptrdiff_t>(std::min(values.size(), kMaxNamedLabels)));
  return fmt::format("{}{}", fmt::join(first, ", "),
                     values.size() > kMaxNamedLabels ? ", ..." : "");
}

}  // namespace

LabelRule::LabelRule(std::vector<int> values, std::optional<int> ignore)
    : values_(std::move(values)), ignore_(ignore), numbers_(65536, kNoValue) {
  int number = 0;
  for (const int value : values_) numbers_[static_cast<std::size_t>(value)] = ++number;
  if (ignore_) numbers_[static_cast<std::size_t>(*ignore_)] = 0;
}

LabelRule LabelRule::found_in(std::span<const std::filesystem::path> files,
                              std::optional<int> ignore) {
  MaskValues seen;
  std::string unreadable;
  for (const std::filesystem::path& file : files) {
    try {
      const MaskFile mask = read_mask_file(file, MaskPixels::kStored);
      refuse_lossy(mask, file.string());
      seen.add(mask);
    } catch (const FileError& error) {  // reported when the sample itself is used
      if (unreadable.empty()) unreadable = error.what();
    }
  }
  FOVEA_CHECK(seen.files() > 0, FileError, unreadable);
  std::vector<int> values;
  for (const auto& [value, pixels] : seen.pixels()) {
    if (value != ignore) values.push_back(value);
  }
  FOVEA_CHECK(values.size() > 1, FileError,
              fmt::format("dataset: the masks of train hold fewer than two classes: values found: "
                          "{}",
                          seen.text()));
  return {std::move(values), ignore};
}

MaskFile LabelRule::read(const std::filesystem::path& file) const {
  return read_mask_file(file, MaskPixels::kStored);
}

Image LabelRule::apply(const MaskFile& mask, const std::string& name) const {
  refuse_lossy(mask, name);
  Image result{mask.image.height, mask.image.width, 1, {}};
  const bool wide = values_.size() > 255;
  visit_values(mask.image, [&](const auto& stored) {
    for (std::size_t i = 0; i < stored.size(); ++i) {
      const int number = numbers_[stored[i]];
      if (number == kNoValue) {
        const auto width = static_cast<std::size_t>(result.width);
        throw FileError(fmt::format(
            "{}: value {} in row {}, column {}; expected those of the classes: {}{}; see "
            "dataset.mask_values and dataset.ignore_value",
            name, stored[i], i / width, i % width, list(values_),
            ignore_ ? fmt::format(", or {} to ignore", *ignore_) : std::string()));
      }
      if (wide) {
        result.deep.push_back(static_cast<std::uint16_t>(number));
      } else {
        result.pixels.push_back(static_cast<std::uint8_t>(number));
      }
    }
  });
  return result;
}

bool LabelRule::has_foreground(const MaskFile& mask) const {
  return visit_values(mask.image, [&](const auto& stored) {
    return std::any_of(stored.begin(), stored.end(),
                       [&](auto value) { return numbers_[value] > 1; });
  });
}

std::string LabelRule::text() const {
  return fmt::format("another class than that of the value {}", values_.front());
}

}  // namespace fovea::data
