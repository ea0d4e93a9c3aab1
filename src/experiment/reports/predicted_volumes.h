// Predictions for whole volumes as NIfTI files on the grid of the volume's file, and their scores
// in the form of nnU-Net's summary.json. dformer 7.7.
#pragma once

#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "data/volumes/volume_dataset.h"
#include "metrics/label_maps.h"
#include "training/inference/postprocessing.h"

namespace fovea::experiment {

/// What is written of one volume.
struct VolumeOutputs {
  bool labels = true;          // <name>.nii.gz: the value that files have for each voxel's class
  bool probabilities = false;  // <name>_<class>.nii.gz: float32, of each class but the first; or of
                               // each region
};

/// Labels are written after `postprocessing`. prob: (k, d, h, w) of a prepared volume, of which
/// data::labels_on_file() makes labels; place: where that lies in its file; like: the NIfTI file
/// whose header is taken, empty for none. Returns the names of the files.
std::vector<std::string> write_prediction(const std::filesystem::path& folder,
                                          const std::string& name, const Tensor& prob,
                                          const data::VolumePlace& place,
                                          const std::filesystem::path& like,
                                          const data::VolumeInfo& info, const VolumeOutputs& what,
                                          const training::Postprocessing& postprocessing);

/// predicted_volumes/<case>.nii.gz, predicted_probabilities/<case>_<class>.nii.gz of a split.
class PredictedVolumes {
 public:
  /// Words of --save.
  static std::vector<std::string> words() { return {"volumes", "probabilities"}; }
  /// `volumes` and `postprocessing` outlive this.
  PredictedVolumes(const data::VolumeDataset& volumes, std::filesystem::path folder,
                   const std::set<std::string>& wanted,
                   const training::Postprocessing& postprocessing);
  /// prob: (1, k, d, h, w) of a sample.
  void add(std::int64_t sample, const Tensor& prob) const;
  /// The folders.
  std::vector<std::string> finish() const;
  /// Where the labels of a sample are written; empty where they are not.
  std::filesystem::path labels_file(std::int64_t sample) const;

 private:
  const data::VolumeDataset& volumes_;
  std::filesystem::path folder_;
  bool labels_, probabilities_;
  const training::Postprocessing& postprocessing_;
};

/// summary.json as nnU-Net writes it: Dice, IoU and counts of every case and class, their means
/// over the cases (which leave out what is neither in the truth nor in the prediction) and the mean
/// over the classes behind the first. reference_file and prediction_file are the files compared,
/// null where there is none: volumes that are drawn, predictions that are not saved. Classes are
/// called by their value, regions as nnU-Net calls them: "(1, 2, 3)". counts: of
/// data::scored_names(); voxels: that count, by sample.
void write_nnunet_summary(const std::filesystem::path& file, const data::VolumeDataset& volumes,
                          const PredictedVolumes& predicted,
                          const std::vector<std::int64_t>& samples,
                          const std::vector<metrics::ClassCounts>& counts,
                          const std::vector<std::int64_t>& voxels);

}  // namespace fovea::experiment
