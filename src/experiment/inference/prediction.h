// What `predict` does: a trained network on files that belong to no data set. Pictures and volumes
// are prepared as the run's own are; what comes out is written on the grid of the file.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "experiment/run/open_run.h"
#include "metrics/detection/objects.h"

namespace fovea::experiment {

/// One picture, or one volume: of several channels, several files.
struct PredictInput {
  std::vector<std::filesystem::path> files;
  std::string name;        // of the files that are written: that of the input, one of its own
  std::int64_t index = 0;  // among the inputs
};

struct PredictInputs {
  std::vector<PredictInput> inputs;
  std::vector<std::string> notes;  // files of folders that are no inputs, and sub-folders
};
/// The inputs that files and folders hold: of networks for volumes .nii and .nii.gz files, where
/// channels are files that end in _0000, _0001, ...; of transcribers recordings; else pictures.
/// Folders are not searched in depth; what they hold besides is in the notes. Throws FileError for
/// what is not there and for a folder without any, ConfigError for runs that read neither.
PredictInputs predict_inputs(Run& run, const std::vector<std::filesystem::path>& given);

struct PredictRequest {
  std::filesystem::path out;  // exists
  bool probabilities = false;
};

/// What is said of one input, besides its own files.
struct Prediction {
  std::string lines;                                  // of predictions.csv, each with its end
  std::vector<metrics::DetectedObject> objects = {};  // of detectors
  std::int64_t input = 0;                             // PredictInput::index
};

/// Writes into `out`
///   of volumes   <name>.nii.gz: the value that files of labels have for each voxel's class, and
///                with probabilities <name>_<class>.nii.gz, float32
///   of masks     <name>.png: the value for each pixel's class, or 0 and 255 of one foreground;
///   with
///                probabilities <name>_<class>.png, 255 = 1
///   of objects   <name>.png: the picture with what was found (drawn_objects.h)
///   of classes   nothing
/// and returns what is said of it in predictions.csv: a line, or of objects one for each; of
/// recordings the text. Throws
/// FileError for an input that cannot be read.
Prediction predict(Run& run, const PredictInput& input, const PredictRequest& request);

/// Writes predictions.csv, whose first line is prediction_heads() of classifiers, detection_heads()
/// of detectors, "name,file,text" of transcribers, else "name,file"; and of detectors boxes.json
/// and masks.json (COCO's results), where the id of an image is its place among the inputs + 1, and
/// that of a class the data set's.
void write_predictions(Run& run, const std::vector<Prediction>& predictions,
                       const PredictRequest& request);

}  // namespace fovea::experiment
