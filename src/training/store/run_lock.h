// One program at a time in a run folder.
#pragma once

#include <filesystem>

namespace fovea::training {

/// Holds run.lock, which names the process and host, until destroyed. The kernel's lock on the file
/// ends with the process, so a lock left by a killed run of this host is taken over. A file that
/// names another host is respected, since locks do not reach across every network file system.
class RunLock {
 public:
  /// Throws FileError naming the process and host that hold it.
  explicit RunLock(const std::filesystem::path& run_folder);
  ~RunLock();
  RunLock(const RunLock&) = delete;
  RunLock& operator=(const RunLock&) = delete;

 private:
  std::filesystem::path path_;
  int fd_ = -1;
};

}  // namespace fovea::training
