// Convolutions of oneDNN on its own blocked layouts, each call in the calling thread alone. Where
// oneDNN was not built in nothing here may be called.
#pragma once

#include <cstdint>
#include <memory>

#include "backend/cpu/conv_geometry.h"

namespace fovea::cpu::onednn {

enum class ConvPass { kForward, kBackwardData, kBackwardWeight };

/// A convolution of float32 tensors, or a part of one: some items, and some of the channels that
/// lie next to each other. Distances are in elements.
struct ConvPart {
  ConvPass pass = ConvPass::kForward;
  ConvGeometry g;
  std::int64_t x_item = 0, y_item = 0;  // between items of x, of y
  std::int64_t w_row = 0;               // between output channels of the weight
  bool has_bias = false;
  bool operator==(const ConvPart&) const = default;
};

/// Brings x, y and the weight to the layouts that oneDNN is fastest with, and back. The layout of
/// the weight does not depend on the number of items.
class Convolution {
 public:
  explicit Convolution(const ConvPart& part);
  ~Convolution();
  Convolution(const Convolution&) = delete;
  Convolution& operator=(const Convolution&) = delete;

  /// False if oneDNN has only a slow kernel for these sizes: then it must not be run.
  bool fast() const;
  /// Elements of a packed weight, and of the memory that run() needs.
  std::int64_t weight_elements() const;
  std::int64_t scratch_elements() const;
  void pack(const float* weight, float* packed) const;
  void unpack(const float* packed, float* weight) const;
  /// Which of x, packed and y is written depends on the pass. bias may be null.
  void run(const float* x, const float* packed, const float* bias, const float* y,
           float* scratch) const;

 private:
  struct Made;
  std::unique_ptr<Made> made_;
};

/// The calling thread's, made when first asked for.
const Convolution& convolution(const ConvPart& part);

}  // namespace fovea::cpu::onednn
