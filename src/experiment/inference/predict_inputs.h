// The files that `predict` is given, one by one or as folders.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "data/dataset.h"

namespace fovea::experiment {

/// One picture, one recording, or one volume: of several channels, several files.
struct PredictInput {
  std::vector<std::filesystem::path> files;
  std::string name;        // of the files that are written; of a file below a sub-folder of what
                           // was given "sub/name"; each input has a name of its own
  std::int64_t index = 0;  // among the inputs
};

struct PredictInputs {
  std::vector<PredictInput> inputs;
  std::vector<std::string> notes;  // files of folders that are no inputs, links to folders
};
/// The inputs that files and folders, with their sub-folders, hold: for networks of volumes .nii
/// and .nii.gz files, where channels are files that end in _0000, _0001, ... or lie along the
/// fourth axis of one; for transcribers recordings; else pictures. Hidden files and what lies in
/// `out` are left out. Throws FileError for what is not there and for a folder without any.
PredictInputs predict_inputs(const data::Dataset& samples,
                             const std::vector<std::filesystem::path>& given,
                             const std::filesystem::path& out);

}  // namespace fovea::experiment
