// Convolutions of oneDNN on its own blocked layouts, each call in the calling thread alone. Where
// oneDNN was not built in nothing here may be called.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "backend/cpu/conv/conv_geometry.h"
#include "tensor/dtype.h"

namespace fovea::cpu::onednn {

enum class ConvPass { kForward, kBackwardData, kBackwardWeight };

/// Slices of a convolution along its first axis: of x, of y, and of zeros before the first of x.
struct Slab {
  std::int64_t in = 0, out = 0, padding = 0;
  bool operator==(const Slab&) const = default;
};

/// A convolution, or a part of one: some items, some slices of each, and some of the channels that
/// lie next to each other. Distances are in elements. The weight, its gradient and the bias are
/// float32.
struct ConvPart {
  ConvPass pass = ConvPass::kForward;
  DType stored = DType::kFloat32;  // x and y: float32 or bfloat16
  ConvGeometry g;                  // items and channels of the part, axes of the whole
  Slab slab;
  std::int64_t x_item = 0, y_item = 0;        // between items of x, of y
  std::int64_t x_channel = 0, y_channel = 0;  // between channels
  std::int64_t w_row = 0;                     // between output channels of the weight
  bool has_bias = false;
  bool operator==(const ConvPart&) const = default;
};

/// Converts x, y and the weight to the layouts that oneDNN is fastest with, and back. The layout of
/// the weight does not depend on the number of items or slices.
class Convolution {
 public:
  explicit Convolution(const ConvPart& part);
  ~Convolution();
  Convolution(const Convolution&) = delete;
  Convolution& operator=(const Convolution&) = delete;

  /// False if oneDNN has only a slow kernel for these sizes: then it must not be run.
  bool fast() const;
  /// Bytes of a packed weight, and of the memory that run() needs, in whole cache lines.
  std::int64_t weight_bytes() const;
  std::int64_t scratch_bytes() const;
  /// A packed weight is stored as x and y are; a packed gradient of one is float32.
  void pack(const float* weight, void* packed) const;
  void unpack(const float* packed, float* weight) const;
  /// Which of x, packed and y is written depends on the pass. bias may be null.
  void run(const void* x, const void* packed, const float* bias, const void* y,
           std::byte* scratch) const;

 private:
  struct Made;
  std::unique_ptr<Made> made_;
};

/// The calling thread's convolution, made at the first call, and again where many others have been
/// asked for since. Valid until the thread's next call.
const Convolution& convolution(const ConvPart& part);

}  // namespace fovea::cpu::onednn
