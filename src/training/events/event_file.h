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

struct Scalar {
  std::string tag;
  double value = 0;
};

/// CRC-32C (Castagnoli), not masked.
std::uint32_t crc32c(std::string_view bytes);
/// One record of a file.
std::string event_record(std::string_view event);
/// The first event of a file, and one with scalars. wall_time: seconds since 1970.
std::string version_event(double wall_time);
std::string scalar_event(double wall_time, std::int64_t step, const std::vector<Scalar>& scalars);

/// events.out.tfevents.<seconds>.<host> in a run folder.
class EventFile {
 public:
  /// `name`: of the file that a resumed run goes on with; "" for a new one. Files of that kind from
  /// elsewhere stay as they are.
  explicit EventFile(const std::filesystem::path& run_folder, const std::string& name = "");
  const std::string& name() const { return name_; }
  /// The first such file of a folder, for checkpoints of older programs, which do not name it.
  static std::string find(const std::filesystem::path& run_folder);
  /// Throws FileError if it cannot be written.
  void add(std::int64_t step, const std::vector<Scalar>& scalars);
  std::int64_t size() const { return static_cast<std::int64_t>(file_->size()); }
  void sync() { file_->sync(); }
  /// Drops what is newer than a checkpoint.
  void cut_back(std::int64_t bytes);

 private:
  std::string name_;
  std::unique_ptr<io::File> file_;
};

}  // namespace fovea::training
