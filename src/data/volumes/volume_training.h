// Reads the training volumes once for the plan, and checks that they can be trained on.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data/part.h"
#include "data/volumes/volume_part.h"

namespace fovea::data {

/// Used by one thread.
class TrainingVolumes {
 public:
  /// indices: the volumes of `part` that are train; both outlive this. skip: those that cannot be
  /// read are left out. Else throws FileError for the first that the part has a problem with,
  /// before any is read.
  TrainingVolumes(const VolumePart& part, const std::vector<std::int64_t>& indices, bool skip);

  std::int64_t size() const { return std::ssize(indices_); }
  /// Volume i of train, 0 to size() - 1; without voxels if it is left out. Throws FileError.
  LabelledVoxels read(std::int64_t i);
  /// After all were read: throws FileError if all are left out, or if none holds anything but the
  /// background.
  void check() const;

  /// Volumes that were left out because read() failed, by their index in the part.
  const std::vector<Problem>& unreadable() const { return unreadable_; }
  /// A note on volumes that hold one value everywhere.
  std::vector<std::string> notes() const;

 private:
  void look_at(const LabelledVoxels& volume);

  const VolumePart& part_;
  const std::vector<std::int64_t>& indices_;
  bool skip_;
  std::vector<bool> bad_;  // by place in the part
  std::vector<Problem> unreadable_;
  std::int64_t read_ = 0, labelled_ = 0;
  std::vector<std::string> constant_;
  bool foreground_ = false;
};

}  // namespace fovea::data
