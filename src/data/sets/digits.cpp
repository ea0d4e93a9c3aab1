// Optical Recognition of Handwritten Digits (E. Alpaydin, C. Kaynak; UCI Machine Learning
// Repository): 1,797 images of 8 x 8 pixels with values 0..16. It ships with the project.
#include <fmt/format.h>

#include <charconv>
#include <memory>
#include <string_view>

#include "base/error.h"
#include "data/files/packed_file.h"
#include "data/registry.h"

namespace fovea::data {
namespace {

constexpr std::int64_t kDigitsSide = 8;
constexpr std::int64_t kDigitsPixels = kDigitsSide * kDigitsSide;
constexpr std::size_t kDigitsMaxBytes = std::size_t{1} << 24;

struct DigitsOptions : ImageOptions {};

class Digits final : public Source {
 public:
  explicit Digits(const Place& place)
      : Source({.class_names = {"0", "1", "2", "3", "4", "5", "6", "7", "8", "9"},
                .channels = 1,
                .height = kDigitsSide,
                .width = kDigitsSide,
                .pixel_max = 16.0f,
                .mean = {0.3051},
                .std = {0.3762}}),
        path_(find_data_file(place.root / "digits.csv", "datasets/digits/README.md")) {
    const std::vector<std::byte> content = read_packed(path_, kDigitsMaxBytes);
    std::string_view text(reinterpret_cast<const char*>(content.data()), content.size());
    std::vector<std::int64_t> seen(10, 0);
    for (std::int64_t line = 1; !text.empty(); ++line) {
      const std::size_t end = std::min(text.find('\n'), text.size());
      std::vector<std::uint8_t> row = parse(text.substr(0, end), line);
      const std::uint8_t label = row.back();
      row.pop_back();
      // There is no official split of this file: every fifth sample of each class is test.
      const bool test = seen[label]++ % 5 == 4;
      if (test == (place.split == Split::kTest)) {
        labels_.push_back(label);
        lines_.push_back(line);
        pixels_.push_back(std::move(row));
      }
      text.remove_prefix(std::min(end + 1, text.size()));
    }
  }

  Image read(std::int64_t index) const override {
    return {kDigitsSide, kDigitsSide, 1, pixels_[static_cast<std::size_t>(index)]};
  }

  std::string name(std::int64_t index) const override {
    return fmt::format("{}:{}", path_.string(), lines_[static_cast<std::size_t>(index)]);
  }

  std::vector<std::filesystem::path> files() const override { return {path_}; }

 private:
  // 64 pixels 0..16 and a label 0..9.
  std::vector<std::uint8_t> parse(std::string_view line, std::int64_t number) const {
    std::vector<std::uint8_t> values;
    const char* next = line.data();
    const char* end = line.data() + line.size();
    while (next != end && values.size() <= kDigitsPixels) {
      int value = -1;
      const auto [after, status] = std::from_chars(next, end, value);
      const int maximum = values.size() < kDigitsPixels ? 16 : 9;
      FOVEA_CHECK(status == std::errc() && value >= 0 && value <= maximum, FileError,
                  fmt::format("{}:{}: value {} of the line is not a number in 0..{}",
                              path_.string(), number, values.size() + 1, maximum));
      values.push_back(static_cast<std::uint8_t>(value));
      next = after != end && *after == ',' ? after + 1 : after;
      if (next == after && after != end) break;
    }
    FOVEA_CHECK(values.size() == kDigitsPixels + 1 && next == end, FileError,
                fmt::format("{}:{}: expected {} pixels and a label, separated by commas",
                            path_.string(), number, kDigitsPixels));
    return values;
  }

  std::filesystem::path path_;
  std::vector<std::int64_t> lines_;
  std::vector<std::vector<std::uint8_t>> pixels_;
};

std::unique_ptr<Source> open_digits(const Place& place, const DigitsOptions&) {
  if (place.split == Split::kVal) return nullptr;
  return std::make_unique<Digits>(place);
}

}  // namespace

FOVEA_DATASET(digits, open_digits,
              "1,797 handwritten digits of 8 x 8 pixels; ships with the project",
              "datasets/digits/README.md", schema::Fields<DigitsOptions>{})

}  // namespace fovea::data
