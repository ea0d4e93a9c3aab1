// Steps as graphs of CUDA: what the host launches is recorded and handed to the device in one go.
#pragma once

#include <cuda_runtime_api.h>

#include <vector>

namespace fovea::gpu {

/// Records the launches of steps. A stretch of launches ends where the host does what no graph can
/// hold, a copy or a wait, and the next begins with the next launch; each stretch starts when it
/// ends. The graph of the same stretch in the step before is changed to the new one, which is cheap
/// while a step launches the same kernels in the same order, whatever they are handed; if steps
/// change too often, recording stops. Used by one thread.
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
  /// Gives memory back when nothing that was recorded needs it.
  void free(void* memory);

 private:
  struct Stretch {
    cudaGraphExec_t graph = nullptr;
    int made = 0;  // how often it could not be changed
  };
  void end_capture(bool launch);

  // The first steps load kernels and choose algorithms.
  static constexpr int kWarmUp = 3;
  static constexpr int kMostMade = 8;

  cudaStream_t stream_;
  int steps_ = 0;
  bool in_step_ = false, capturing_ = false, given_up_ = false;
  std::vector<Stretch> stretches_;
  std::size_t next_ = 0;  // of the step
  std::vector<void*> to_free_;
};

}  // namespace fovea::gpu
