// The sizes of a convolution, and sums of what its taps have for the same place.
#pragma once

#include "backend/backend.h"
#include "backend/cpu/pieces.h"
#include "backend/spatial.h"

namespace fovea::cpu {

struct ConvGeometry {
  std::int64_t batch = 0, groups = 1;
  std::int64_t c_in = 0, c_out = 0;  // channels of one group
  Axes in{}, out{}, kernel{}, stride{}, padding{}, dilation{};
  Bits bits = Bits::kOfSizes;  // kOfElement: nor do they depend on the size of the batch

  std::int64_t in_size() const { return product(in); }
  std::int64_t out_size() const { return product(out); }
  std::int64_t taps() const { return product(kernel); }
  /// The first spatial axis: images are one slice deep.
  std::size_t first_axis() const { return in[0] == 1 && out[0] == 1 && kernel[0] == 1 ? 1 : 0; }
  /// Elements that one output sees along an axis, from its first to its last.
  std::int64_t reach(std::size_t axis) const { return dilation[axis] * (kernel[axis] - 1) + 1; }
  bool unit_stride() const { return product(stride) == 1; }
  /// An output sees the channels at its own place alone.
  bool pointwise() const { return taps() == 1 && unit_stride() && padding == Axes{0, 0, 0}; }
  /// One input channel per group.
  bool depthwise() const { return groups > 1 && c_in == 1; }
  std::int64_t macs() const { return batch * groups * c_out * out_size() * c_in * taps(); }
  bool operator==(const ConvGeometry&) const = default;
};

/// Pieces of a small convolution.
inline constexpr std::int64_t kFewConvPieces = 16;
/// Pieces that a pass of the convolution should have: more where it is large. `sums`: elements that
/// each piece sums by itself.
std::int64_t conv_pieces(const ConvGeometry& g, std::int64_t sums = 0);

ConvGeometry conv_geometry(Bits bits, const ConvArgs& args, const Shape& x, const Shape& weight,
                           const Shape& y);

/// The convolution that takes dy to dx; unit stride only. Its weight is the transposed, reversed
/// one, and its padding may be negative.
ConvGeometry reversed(const ConvGeometry& g);

/// Indices o in [begin, end) of an output axis whose input o stride + shift lies in [0, in).
struct Valid {
  std::int64_t begin, end;
};
Valid valid_outputs(std::int64_t out, std::int64_t in, std::int64_t stride, std::int64_t shift);

/// Adds columns for output positions [begin, begin + count) of one item to the places of its
/// `channels` planes that each position sees: columns[(channel taps + tap) ld + i] to the place of
/// the tap at position begin + i, and nothing outside.
template <class T>
void scatter_patches(const ConvGeometry& g, const T* columns, std::int64_t ld,
                     std::int64_t channels, std::int64_t begin, std::int64_t count, T* x);

}  // namespace fovea::cpu
