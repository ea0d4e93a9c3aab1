// A mean of numbers that may be undefined.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

namespace fovea::explain {

/// The mean of what was added and is not NaN; NaN where nothing was.
class MeanOf {
 public:
  void add(double value) {
    if (std::isnan(value)) return;
    sum_ += value;
    ++count_;
  }
  /// All that the other has.
  void add(const MeanOf& other) {
    sum_ += other.sum_;
    count_ += other.count_;
  }
  double value() const {
    return count_ > 0 ? sum_ / static_cast<double>(count_)
                      : std::numeric_limits<double>::quiet_NaN();
  }
  std::int64_t count() const { return count_; }

 private:
  double sum_ = 0;
  std::int64_t count_ = 0;
};

}  // namespace fovea::explain
