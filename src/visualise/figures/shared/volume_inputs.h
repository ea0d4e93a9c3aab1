// The volumes that are looked at: samples of a split by their numbers, and files.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "visualise/figures/figure.h"

namespace fovea::visualise {

/// The volumes that are asked for: numbers of samples of the run's split, and files of one's own,
/// of which those that end in _0000, _0001, ... are channels of one volume; the first four samples
/// where none are. Each has a name of its own. Throws ConfigError.
std::vector<VolumeInput> volume_inputs(const FigureRequest& request, const ShownRun& run);

/// An input of the request's first run as another run has it: the same sample of its split. Throws
/// ConfigError if that has no such sample.
VolumeInput input_for(const VolumeInput& input, const ShownRun& run, const FigureRequest& request);

/// Which volumes are looked at: "test", "given files", or both.
std::string volumes_text(const ShownRun& run, const std::vector<VolumeInput>& inputs);
/// What a page of these volumes says of them: weights, how they were prepared, what is scored.
std::vector<std::string> page_notes(const ShownRun& run, const std::vector<VolumeInput>& inputs);

}  // namespace fovea::visualise
