// What `predict` writes of one input besides its row of the table.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "data/boxes/box_dataset.h"
#include "data/images/image_dataset.h"
#include "experiment/inference/ensemble.h"
#include "experiment/inference/predict_inputs.h"
#include "experiment/run/runner.h"
#include "metrics/detection/objects.h"

namespace fovea::experiment {

/// Where the files of inputs lie, what becomes of their labels, and whether probabilities are
/// written.
struct PredictedFiles {
  std::filesystem::path out;
  const training::Postprocessing& postprocessing;
  bool probabilities = false;

  /// <out>/<name><ending>; makes the folder that it lies in.
  std::filesystem::path file(const std::string& name, const std::string& ending) const;
};

/// <name>.nii.gz on the grid of the input, and of probabilities <name>_<class>.nii.gz. Throws
/// FileError.
void predict_volume(const Ensemble& runs, const PredictInput& input, const PredictedFiles& files);

/// prob: (1, k, h, w) of a picture, whose size `geometry` says: <name>.png at that size, and of
/// probabilities <name>_<class>.png.
void write_masks(const data::ImageDataset& images, const Tensor& prob,
                 const data::Geometry& geometry, const std::string& name,
                 const PredictedFiles& files);

/// <name>.png, the picture with what was found in it, which is returned. Throws FileError.
std::vector<metrics::DetectedObject> predict_objects(Run& run, const data::BoxDataset& boxes,
                                                     const PredictInput& input,
                                                     const PredictedFiles& files);

}  // namespace fovea::experiment
