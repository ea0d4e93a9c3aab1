// The samples of one part of a data set as its files provide them: all that is known before any is
// read. Derived: Source, of images (source.h), and TextPart (text_dataset.h).
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace fovea::data {

/// A sample that was found to be unusable without decoding it, e.g. a label out of range.
struct Problem {
  std::int64_t index = 0;
  std::string message;
};

/// In the order of the files. Thread-safe after construction.
class Part {
 public:
  virtual ~Part() = default;
  std::int64_t size() const { return std::ssize(labels_); }
  /// Class of every sample; 0 where has_classes() is false.
  const std::vector<std::int64_t>& labels() const { return labels_; }
  /// False where samples have masks instead.
  virtual bool has_classes() const { return true; }
  virtual const std::vector<std::string>& class_names() const = 0;
  /// Of masks with several classes: whether the first one is the background, which means over
  /// classes and colours leave out.
  virtual bool has_background() const { return true; }
  /// File, or file and record, for messages and reports.
  virtual std::string name(std::int64_t index) const = 0;
  /// The files that the samples come from, masks included; none where they are made in memory.
  virtual std::vector<std::filesystem::path> files() const = 0;
  /// Whether it stands for data that are not opened (described/), and has no samples.
  virtual bool is_described() const { return false; }
  /// For samples that are generated: the generator with all its options.
  virtual std::string recipe() const { return ""; }
  /// Notes for the user, e.g. on files that were left out; one line each.
  const std::vector<std::string>& notes() const { return notes_; }
  /// In the order of the samples. A sample may have several problems.
  const std::vector<Problem>& problems() const { return problems_; }

 protected:
  std::vector<std::int64_t> labels_;
  std::vector<Problem> problems_;
  std::vector<std::string> notes_;
};

}  // namespace fovea::data
