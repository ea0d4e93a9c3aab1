// Label maps: mask files in which every value is a class, or one value for "ignore".
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "data/files/pictures/image_file.h"

namespace fovea::data {

/// Which value in mask files is which class.
class LabelRule {
 public:
  /// values: one for each class, in their order; ignore: the value of pixels without a class. All
  /// different, 0..65535.
  LabelRule(std::vector<int> values, std::optional<int> ignore);
  /// The values that occur in mask files, ascending, but `ignore`. All files are read; those that
  /// cannot be, JPEG files among them, which keep no exact values, are passed over. Throws
  /// FileError where there are not two values.
  static LabelRule found_in(std::span<const std::filesystem::path> files,
                            std::optional<int> ignore);

  const std::vector<int>& values() const { return values_; }
  bool ignores() const { return ignore_.has_value(); }

  MaskFile read(const std::filesystem::path& file) const;
  /// 1 + class of every pixel, 0 for ignored pixels. Throws FileError starting with `name` for
  /// another value, with its place, and for a JPEG file.
  Image apply(const MaskFile& mask, const std::string& name) const;
  /// Whether a pixel has another class than the first.
  bool has_foreground(const MaskFile& mask) const;
  /// "another class than that of the value 0".
  std::string text() const;

 private:
  std::vector<int> values_;
  std::optional<int> ignore_;
  std::vector<int> numbers_;  // by value: 1 + class, 0 to be ignored, -1 for no value of ours
};

}  // namespace fovea::data
