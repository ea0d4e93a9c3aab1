// Weights as a user names them: a file, a run, or one of its checkpoints.
#pragma once

#include <filesystem>

namespace fovea::training {

/// The safetensors file that `given` means:
///   RUN                                 the weights that RUN/summary.json is about, else the last
///   RUN/checkpoints/step-00001234       model.safetensors of a checkpoint; also last and best
///   RUN/checkpoints/last/FILE           FILE of that checkpoint, e.g. ema.safetensors
///   anything else                       itself, whether it is there or not
/// Throws FileError for a folder that is none of these, and for a run without checkpoints.
std::filesystem::path weights_file(const std::filesystem::path& given);

}  // namespace fovea::training
