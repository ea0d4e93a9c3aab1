#include "data/images/mask_values.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "base/error.h"

namespace fovea::data {
namespace {

constexpr int kMaxNamedValues = 12;  // values a message names

int white_of(const Image& image) { return image.deep.empty() ? 255 : 65535; }

const char* const kRemedy =
    "set dataset.mask_values to the values of the foreground, e.g. [1, 2], or to \"nonzero\", or "
    "dataset.mask_threshold to the least grey value of 0..255 that is foreground";

// Files spread evenly over the list come first, then the others in their order.
std::vector<std::size_t> spread(std::size_t files, std::size_t first) {
  std::set<std::size_t> chosen;
  for (std::size_t k = 0; k < std::min(first, files); ++k)
    chosen.insert(k * files / std::min(first, files));
  std::vector<std::size_t> order(chosen.begin(), chosen.end());
  for (std::size_t i = 0; i < files; ++i) {
    if (chosen.count(i) == 0) order.push_back(i);
  }
  return order;
}

}  // namespace

void MaskValues::add(const MaskFile& mask) {
  visit_values(mask.image, [&](const auto& values) {
    std::vector<std::int64_t> counts(static_cast<std::size_t>(white_of(mask.image)) + 1, 0);
    for (const auto value : values) ++counts[value];
    for (std::size_t v = 0; v < counts.size(); ++v) {
      if (counts[v] > 0) pixels_[static_cast<int>(v)] += counts[v];
    }
  });
  lossy_ = lossy_ || mask.lossy;
  white_ = std::max(white_, white_of(mask.image));
  ++files_;
}

std::string MaskValues::text() const {
  std::int64_t total = 0;
  for (const auto& [value, count] : pixels_) total += count;
  // The most frequent ones, in the order of the values.
  std::vector<std::pair<std::int64_t, int>> by_count;
  for (const auto& [value, count] : pixels_) by_count.emplace_back(-count, value);
  std::sort(by_count.begin(), by_count.end());
  by_count.resize(std::min<std::size_t>(by_count.size(), kMaxNamedValues));
  std::set<int> named;
  for (const auto& [count, value] : by_count) named.insert(value);
  std::string list;
  for (const int value : named) {
    const double share = static_cast<double>(pixels_.at(value)) / static_cast<double>(total);
    list += fmt::format("{}{} ({:.3g} %{})", list.empty() ? "" : ", ", value, 100 * share,
                        list.empty() ? " of the pixels" : "");
  }
  if (pixels_.size() > named.size()) {
    list += fmt::format(" and {} rarer ones", pixels_.size() - named.size());
  }
  return fmt::format("{} in {} {}", list, files_, files_ == 1 ? "file" : "files");
}

MaskRule MaskRule::threshold(int least) { return {Kind::kThreshold, {least}, false}; }
MaskRule MaskRule::soft() { return {Kind::kSoft, {}, false}; }
MaskRule MaskRule::nonzero() { return {Kind::kNonzero, {}, false}; }
MaskRule MaskRule::values(std::vector<int> foreground) {
  std::sort(foreground.begin(), foreground.end());
  return {Kind::kValues, std::move(foreground), false};
}

std::optional<MaskRule> MaskRule::given(std::optional<std::int64_t> least,
                                        const schema::Value& foreground) {
  if (least) return *least > 0 ? threshold(static_cast<int>(*least)) : soft();
  if (foreground.is_null()) return std::nullopt;
  if (foreground.is_string()) return nonzero();
  std::vector<int> list;
  for (const schema::Value& value : foreground.items()) {
    list.push_back(static_cast<int>(value.as_int()));
  }
  return values(std::move(list));
}

std::string MaskRule::complaint(std::optional<std::int64_t> least,
                                const schema::Value& foreground) {
  if (foreground.is_null()) return "";
  if (least) return "mask_threshold and mask_values are both given; choose one";
  const auto is_value = [](const schema::Value& v) {
    return v.is_integer() && v.as_int() >= 0 && v.as_int() <= 65535;
  };
  const bool word = foreground.is_string() && foreground.as_string() == "nonzero";
  const bool list = foreground.is_array() && foreground.size() > 0 &&
                    std::all_of(foreground.items().begin(), foreground.items().end(), is_value);
  if (word || list) return "";
  return fmt::format(
      "mask_values is {}; expected a list of values from 0 to 65535, \"nonzero\" or null",
      foreground.dump());
}

// Nothing where the values could mean several things.
std::optional<MaskRule> MaskRule::judge(const MaskValues& seen) {
  const int white = seen.white();
  const int most = seen.pixels().rbegin()->first;
  const MaskRule half(Kind::kThreshold, {128}, true);
  // A JPEG keeps no exact values: bright pixels are the foreground, dark ones noise.
  if (seen.lossy()) return most >= white - white / 4 ? std::optional(half) : std::nullopt;
  if (most == 1) return MaskRule(Kind::kValues, {1}, true);
  std::int64_t bright = 0, between = 0;
  int brightest_between = 0;
  for (const auto& [value, count] : seen.pixels()) {
    if (value == white) {
      bright += count;
    } else if (value > 0) {
      between += count;
      brightest_between = value;
    }
  }
  // Soft borders are rarer than what they surround, and reach the light half. Numbers of classes
  // beside a 255 for "ignore" do not.
  const bool borders = between == 0 || (between <= bright && brightest_between > white / 2);
  return bright > 0 && borders ? std::optional(half) : std::nullopt;
}

MaskRule MaskRule::recognise(std::span<const std::filesystem::path> files) {
  constexpr std::size_t kEnough = 16;
  MaskValues seen;
  std::size_t looked_at = 0;
  std::string unreadable;
  for (const std::size_t i : spread(files.size(), kEnough)) {
    if (looked_at++ >= kEnough && !seen.only_zero()) break;
    try {
      seen.add(read_mask_file(files[i], MaskPixels::kStored));
    } catch (const FileError& error) {  // reported when the sample itself is used
      if (unreadable.empty()) unreadable = error.what();
      continue;
    }
    if (seen.only_zero()) continue;
    const auto verdict = judge(seen);
    // More files could show that 0 and 1 are only the first of several classes.
    if (verdict && verdict->kind_ == Kind::kThreshold) return *verdict;
  }
  FOVEA_CHECK(seen.files() > 0, FileError, unreadable);
  FOVEA_CHECK(
      !seen.only_zero(), FileError,
      fmt::format("dataset: the masks of train hold no foreground: values found: {}", seen.text()));
  const auto verdict = judge(seen);
  FOVEA_CHECK(
      verdict.has_value(), ConfigError,
      fmt::format("dataset.mask_values: what is foreground cannot be told from the masks of "
                  "train: values found: {}; {}",
                  seen.text(), kRemedy));
  return *verdict;
}

bool MaskRule::is_foreground(int value, int white) const {
  switch (kind_) {
    case Kind::kThreshold:
      return std::int64_t{value} * 255 >= std::int64_t{numbers_[0]} * white;
    case Kind::kSoft:
      return 2 * value >= white;
    case Kind::kValues:
      return std::binary_search(numbers_.begin(), numbers_.end(), value);
    case Kind::kNonzero:
      return value != 0;
  }
  return false;
}

bool MaskRule::has_foreground(const MaskFile& mask) const {
  MaskValues own;
  own.add(mask);
  return std::any_of(own.pixels().begin(), own.pixels().end(), [&](const auto& value) {
    return is_foreground(value.first, white_of(mask.image));
  });
}

void MaskRule::refuse_misfit(const MaskFile& mask, const std::string& name) const {
  const bool exact = kind_ == Kind::kValues || kind_ == Kind::kNonzero;
  FOVEA_CHECK(!mask.lossy || !exact, FileError,
              fmt::format("{}: is a JPEG file, which does not keep exact values, but foreground is "
                          "{}; convert the masks to PNG, or set dataset.mask_threshold",
                          name, text()));
  if (!recognised_ || mask.lossy) return;
  MaskValues own;
  own.add(mask);
  const int most = own.pixels().empty() ? 0 : own.pixels().rbegin()->first;
  const bool fits = exact ? most <= 1 : most == 0 || 2 * most >= white_of(mask.image);
  FOVEA_CHECK(fits, FileError,
              fmt::format("{}: does not fit the other masks, in which foreground is {}: values "
                          "found: {}; {}",
                          name, text(), own.text(), kRemedy));
}

// A threshold that was given is one of grey values, whatever a palette's order.
MaskFile MaskRule::read(const std::filesystem::path& file) const {
  const bool grey = !recognised_ && (kind_ == Kind::kThreshold || kind_ == Kind::kSoft);
  return read_mask_file(file, grey ? MaskPixels::kGrey : MaskPixels::kStored);
}

Image MaskRule::apply(const MaskFile& mask, const std::string& name) const {
  if (kind_ == Kind::kSoft) return mask.image;
  refuse_misfit(mask, name);
  const int white = white_of(mask.image);
  Image result{mask.image.height, mask.image.width, 1, {}};
  visit_values(mask.image, [&](const auto& values) {
    std::vector<std::uint8_t> table(static_cast<std::size_t>(white) + 1);
    for (int v = 0; v <= white; ++v) {
      table[static_cast<std::size_t>(v)] = is_foreground(v, white) ? 255 : 0;
    }
    result.pixels.reserve(values.size());
    for (const auto value : values) result.pixels.push_back(table[value]);
  });
  return result;
}

std::string MaskRule::text() const {
  const char* const how = recognised_ ? " (recognised in train)" : "";
  switch (kind_) {
    case Kind::kThreshold:
      return fmt::format("{} and more of 255{}", numbers_[0], how);
    case Kind::kSoft:
      return "grey, 128 and more of 255";
    case Kind::kValues:
      return fmt::format("the value{} {}{}", numbers_.size() == 1 ? "" : "s",
                         fmt::join(numbers_, ", "), how);
    case Kind::kNonzero:
      return "every value but 0";
  }
  return "";
}

}  // namespace fovea::data
