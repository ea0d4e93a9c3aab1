// A perceptually even colour map: equal steps of a value look like equal steps, also in grey and
// with any colour vision. It needs no other file.
#pragma once

#include <array>

namespace fovea::visualise {

/// Inferno, from black over purple and orange to pale yellow, as 0xrrggbb: every fifth of the 256
/// colours of matplotlib's table (N. J. Smith and S. van der Walt, 2015, CC0). With linear
/// interpolation between them none of the 256 is off by more than 1/255.
inline constexpr std::array kInfernoColours = {
    0x000004, 0x02020c, 0x050417, 0x0a0722, 0x10092d, 0x160b39, 0x1e0c45, 0x260c51, 0x2f0a5b,
    0x380962, 0x400a67, 0x490b6a, 0x510e6c, 0x59106e, 0x61136e, 0x69166e, 0x71196e, 0x781c6d,
    0x801f6c, 0x88226a, 0x902568, 0x982766, 0xa02a63, 0xa82e5f, 0xb0315b, 0xb73557, 0xbf3952,
    0xc63d4d, 0xcc4248, 0xd34743, 0xd94d3d, 0xdf5337, 0xe45a31, 0xe9612b, 0xed6925, 0xf1711f,
    0xf47918, 0xf78212, 0xf98b0b, 0xfa9407, 0xfb9d07, 0xfca60c, 0xfcb014, 0xfbba1f, 0xfac42a,
    0xf8cd37, 0xf6d746, 0xf4e156, 0xf2ea69, 0xf2f27d, 0xf5f992, 0xfcffa4};

}  // namespace fovea::visualise
