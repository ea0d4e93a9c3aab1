// What counts a network while it is built: a depth that no memory holds is refused while the
// network is small.
#pragma once

#include <cstdint>

namespace fovea::nn {

class Construction {
 public:
  /// Modules and parameters. They take memory on the meta device as well, about a kilobyte each;
  /// a ResNet of 1202 layers has 10 000, DeiT with 1000 blocks 25 000.
  static constexpr std::int64_t kMostParts = 400'000;

  /// One more module or parameter. Throws ConfigError beyond kMostParts.
  void add();

 private:
  std::int64_t parts_ = 0;
};

}  // namespace fovea::nn
