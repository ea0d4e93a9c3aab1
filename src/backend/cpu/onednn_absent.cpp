// Takes the place of onednn.cpp in builds without oneDNN.
#include "backend/cpu/onednn.h"
#include "base/error.h"

namespace fovea::cpu::onednn {

bool available() { return false; }
bool fast_bfloat16() { return false; }
std::string version() { return {}; }
void gemm(const Gemm&, const void*, const void*, const float*, void*) {
  throw BackendError("oneDNN: not in this build");
}

}  // namespace fovea::cpu::onednn
