// Steps as graphs of CUDA: what the host launches is recorded and handed to the device in one go.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace fovea::gpu {

/// Records the launches of steps. A stretch of launches ends where the host does what no graph can
/// hold, a copy or a wait, and the next begins with the next launch; each stretch starts when it
/// ends. The graph of the same stretch in the step before is changed to the new one, which is cheap
/// while a step launches the same kernels in the same order, whatever they are handed; where steps
/// change too often, recording pauses. Used by one thread.
class Recording {
 public:
  explicit Recording(cudaStream_t stream) : stream_(stream) {}
  ~Recording();
  Recording(const Recording&) = delete;
  Recording& operator=(const Recording&) = delete;

  void begin_step();
  void end_step(bool complete);
  /// Before a launch.
  void before_launch();
  /// Before anything else: ends the stretch that is recorded, if one is, and starts it.
  void end_stretch();
  /// nullptr where there is none: then what was recorded has started, and free() frees at once.
  void* allocate(std::size_t bytes);
  /// Gives memory back when nothing that was recorded needs it.
  void free(void* memory);

 private:
  struct Stretch {
    cudaGraphExec_t graph = nullptr;
    int made = 0;  // in how many steps in a row it could not be changed
  };
  void end_capture(bool launch);

  // The first steps load kernels and choose algorithms.
  static constexpr int kWarmUp = 3;
  static constexpr int kMostMade = 8;
  static constexpr int kPause = 100;  // steps

  cudaStream_t stream_;
  std::int64_t steps_ = 0, begins_after_ = kWarmUp;
  bool in_step_ = false, capturing_ = false;
  std::vector<Stretch> stretches_;
  std::size_t next_ = 0;  // of the step
  std::vector<void*> to_free_;
};

}  // namespace fovea::gpu
