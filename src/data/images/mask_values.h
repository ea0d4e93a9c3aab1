// Which values of mask files are foreground. Files hold 0 and 255, 0 and 1, grey levels with soft
// borders, JPEG noise around the ends, or numbers of classes; the meaning is recognised from the
// masks of train, or given in the experiment file.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "data/files/pictures/image_file.h"
#include "schema/json/value.h"

namespace fovea::data {

/// How often each value occurs in the masks looked at.
class MaskValues {
 public:
  void add(const MaskFile& mask);

  const std::map<int, std::int64_t>& pixels() const { return pixels_; }
  bool only_zero() const { return pixels_.empty() || pixels_.rbegin()->first == 0; }
  bool lossy() const { return lossy_; }
  int white() const { return white_; }
  std::int64_t files() const { return files_; }
  /// "0 (91.2 % of the pixels), 1 (8.8 %) in 16 files".
  std::string text() const;

 private:
  std::map<int, std::int64_t> pixels_;
  bool lossy_ = false;
  int white_ = 255;  // 65535 if a file has 16 bits
  std::int64_t files_ = 0;
};

/// The rule for what is foreground.
class MaskRule {
 public:
  /// A threshold on value x 255 / white (1 to 255).
  static MaskRule threshold(int least);
  /// Soft masks: value / white.
  static MaskRule soft();
  /// Exactly these values.
  static MaskRule values(std::vector<int> foreground);
  static MaskRule nonzero();
  /// By dataset.mask_threshold (0: soft) and dataset.mask_values (a list of values, "nonzero");
  /// nothing if both are null.
  static std::optional<MaskRule> given(std::optional<std::int64_t> threshold,
                                       const schema::Value& values);
  /// A complaint about these two keys, or "".
  static std::string complaint(std::optional<std::int64_t> threshold, const schema::Value& values);
  /// From mask files: 0 and 1 make 1 the foreground; 0 and white, also with soft borders or JPEG
  /// noise, make it half of white and more. Sixteen files spread over the list are looked at, fewer
  /// if they are already conclusive, all if those hold nothing but 0. Throws ConfigError with the
  /// values found if neither fits, FileError if there is nothing but 0 in any file. Files that
  /// cannot be read are passed over.
  static MaskRule recognise(std::span<const std::filesystem::path> files);

  MaskFile read(const std::filesystem::path& file) const;
  /// 0 and 255; for soft() the grey values of the file. Throws FileError starting with `name` for a
  /// file that contradicts what was recognised, and for exact values of a JPEG file.
  Image apply(const MaskFile& mask, const std::string& name) const;
  bool has_foreground(const MaskFile& mask) const;
  /// "128 and more of 255", "the value 1 (recognised in train)".
  std::string text() const;

 private:
  enum class Kind { kThreshold, kSoft, kValues, kNonzero };
  MaskRule(Kind kind, std::vector<int> numbers, bool recognised)
      : kind_(kind), numbers_(std::move(numbers)), recognised_(recognised) {}
  static std::optional<MaskRule> judge(const MaskValues& seen);
  bool is_foreground(int value, int white) const;
  void refuse_misfit(const MaskFile& mask, const std::string& name) const;

  Kind kind_;
  std::vector<int> numbers_;  // the threshold, or the values, ascending
  bool recognised_;
};

}  // namespace fovea::data
