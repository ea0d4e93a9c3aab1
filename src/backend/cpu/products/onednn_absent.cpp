// Takes the place of onednn.cpp and onednn_conv.cpp in builds without oneDNN.
#include "backend/cpu/conv/onednn_conv.h"
#include "backend/cpu/products/onednn.h"
#include "base/error.h"

namespace fovea::cpu::onednn {

bool available() { return false; }
bool fast_bfloat16() { return false; }
std::string version() { return {}; }
void gemm(const Gemm&, const void*, const void*, const float*, void*) {
  throw BackendError("oneDNN: not in this build");
}

struct Convolution::Made {};
Convolution::Convolution(const ConvPart&) { throw BackendError("oneDNN: not in this build"); }
Convolution::~Convolution() = default;
bool Convolution::fast() const { return false; }
std::int64_t Convolution::weight_bytes() const { return 0; }
std::int64_t Convolution::scratch_bytes() const { return 0; }
void Convolution::pack(const float*, void*) const {}
void Convolution::unpack(const float*, float*) const {}
void Convolution::run(const void*, const void*, const float*, const void*, std::byte*) const {}
const Convolution& convolution(const ConvPart& part) {
  thread_local const Convolution none(part);
  return none;
}

}  // namespace fovea::cpu::onednn
