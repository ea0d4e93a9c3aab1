// Parts of modules that hooks see beside what modules put out (autograd/hooks.h).
#pragma once

namespace fovea::nn {

/// What a linear layer reads: "blocks.0.attn.proj.input".
inline constexpr const char* kLinearInput = "input";

}  // namespace fovea::nn
