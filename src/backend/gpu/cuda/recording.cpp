#include "backend/gpu/cuda/recording.h"

#include "backend/gpu/cuda/check.h"

namespace fovea::gpu {

Recording::~Recording() {
  if (capturing_) end_capture(false);
  for (const Stretch& stretch : stretches_) {
    if (stretch.graph != nullptr) cudaGraphExecDestroy(stretch.graph);
  }
}

void Recording::begin_step() {
  in_step_ = true;
  next_ = 0;
  ++steps_;
}

void Recording::end_step(bool complete) {
  in_step_ = false;
  if (capturing_) end_capture(complete);
}

void Recording::before_launch() {
  if (!in_step_ || capturing_ || steps_ <= begins_after_) return;
  // (Relaxed: memory may be allocated meanwhile.)
  check("recording a step", cudaStreamBeginCapture(stream_, cudaStreamCaptureModeRelaxed));
  capturing_ = true;
}

void Recording::end_stretch() {
  if (capturing_) end_capture(true);
}

void* Recording::allocate(std::size_t bytes) {
  void* memory = nullptr;
  const cudaError_t code = cudaMalloc(&memory, bytes);
  if (code == cudaErrorMemoryAllocation) {
    cudaGetLastError();  // the allocator says so
    end_stretch();       // else what the allocator then frees stays taken until the step ends
    return nullptr;
  }
  check("allocating memory", code);
  return memory;
}

void Recording::free(void* memory) {
  if (!capturing_) {
    cudaFree(memory);
    return;
  }
  to_free_.push_back(memory);
}

void Recording::end_capture(bool launch) {
  capturing_ = false;
  cudaGraph_t recorded = nullptr;
  const cudaError_t ended = cudaStreamEndCapture(stream_, &recorded);
  if (launch) {
    check("recording a step", ended);
    if (next_ == stretches_.size()) stretches_.emplace_back();
    Stretch& stretch = stretches_[next_++];
    cudaGraphExecUpdateResultInfo why{};
    if (stretch.graph != nullptr &&
        cudaGraphExecUpdate(stretch.graph, recorded, &why) != cudaSuccess) {
      cudaGetLastError();  // it is made anew
      cudaGraphExecDestroy(stretch.graph);
      stretch.graph = nullptr;
    }
    if (stretch.graph != nullptr) {
      stretch.made = 0;
    } else {
      check("making a graph", cudaGraphInstantiate(&stretch.graph, recorded, 0));
      if (++stretch.made > kMostMade) {
        stretch.made = 0;
        begins_after_ = steps_ + kPause;
      }
    }
    check("starting a graph", cudaGraphLaunch(stretch.graph, stream_));
  }
  if (recorded != nullptr) cudaGraphDestroy(recorded);
  for (void* memory : to_free_) cudaFree(memory);  // waits for the device
  to_free_.clear();
}

}  // namespace fovea::gpu
