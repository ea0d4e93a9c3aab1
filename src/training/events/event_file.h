// TensorBoard event files, written without a protobuf library.
//
// A file is a sequence of records: uint64 length, uint32 masked crc32c of the length, the bytes,
// uint32 masked crc32c of the bytes. The bytes are an Event message: field 1 wall_time (double),
// 2 step (int64), 3 file_version (first record), 5 Summary with repeated field 1 Value {1 tag,
// 2 simple_value (float)}.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/file.h"

namespace fovea::training {

/// CRC-32C (Castagnoli), not masked.
std::uint32_t crc32c(std::string_view bytes);
/// One record of a file.
std::string event_record(std::string_view event);
/// Seconds since 1970, now.
double unix_time();
/// The first event of a file, and one with values of a Summary. wall_time: unix_time().
std::string version_event(double wall_time);
std::string summary_event(double wall_time, std::int64_t step,
                          const std::vector<std::string>& values);
/// Such a value; of settings: settings_events.h.
std::string scalar_value(const std::string& tag, double value);

/// events.out.tfevents.<seconds>.<host> in a run folder.
class EventFile {
 public:
  /// `name`: of the file that a resumed run goes on with; "" for a new one. Files of that kind from
  /// elsewhere stay as they are.
  explicit EventFile(const std::filesystem::path& run_folder, const std::string& name = "");
  const std::string& name() const { return name_; }
  /// The first such file of a folder, for checkpoints of older programs, which do not name it.
  static std::string find(const std::filesystem::path& run_folder);
  /// An event with values of a Summary. Throws FileError if it cannot be written.
  void add(std::int64_t step, const std::vector<std::string>& values);
  std::int64_t size() const { return static_cast<std::int64_t>(file_->size()); }
  void sync() { file_->sync(); }
  /// Drops what is newer than a checkpoint.
  void cut_back(std::int64_t bytes);

 private:
  std::string name_;
  std::unique_ptr<io::File> file_;
};

}  // namespace fovea::training
