// Volumes with a class for every voxel as samples: crops to train on, whole volumes to evaluate.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "data/augment/volumes/volume_augment.h"
#include "data/dataset.h"
#include "data/registry.h"
#include "data/volumes/volume_options.h"
#include "data/volumes/volume_part.h"
#include "data/volumes/volume_plan.h"
#include "data/volumes/volume_training.h"

namespace fovea::data {

/// Prepared volumes of one part, kept in memory, and on disk where the options name a folder.
class PreparedVolumes {
 public:
  PreparedVolumes(std::shared_ptr<const VolumePart> part, VolumePlan plan,
                  const VolumeSetOptions& options);
  /// Thread-safe. Throws FileError.
  std::shared_ptr<const PreparedVolume> get(std::int64_t source_index) const;
  const VolumePlan& plan() const { return plan_; }

 private:
  PreparedVolume prepare(std::int64_t source_index) const;
  std::filesystem::path stored_in(std::int64_t source_index) const;

  std::shared_ptr<const VolumePart> part_;
  VolumePlan plan_;
  std::string folder_, root_;
  mutable std::mutex mutex_;
  mutable std::map<std::int64_t, std::shared_ptr<const PreparedVolume>> kept_;
  mutable std::int64_t left_;  // bytes that may still be kept
};

/// Samples hold "image" (c, d, h, w) and "mask" (d, h, w). Of train they are crops of img_size, for
/// evaluations whole volumes of their own sizes at the plan's spacing.
class VolumeDataset final : public Dataset, public std::enable_shared_from_this<VolumeDataset> {
 public:
  enum class Samples { kCrops, kWhole };
  /// indices: the volumes of `part` that belong to this split, ascending. Those that the part has a
  /// problem with throw FileError or are left out, by options.on_bad_sample.
  VolumeDataset(std::shared_ptr<const VolumePart> part, Split split,
                const std::vector<std::int64_t>& indices, const VolumeSetOptions& options,
                std::shared_ptr<const PreparedVolumes> prepared, Samples samples);
  /// For train: notes what was found in its volumes when the plan was made.
  void note_training(const TrainingVolumes& volumes);
  /// Notes that volumes have different orientations and are not turned. `others`: the headers of
  /// another part.
  void note_orientations(const std::vector<VolumeSize>& others);

  const std::vector<Field>& fields() const override { return fields_; }
  const std::vector<std::string>& output_names() const override { return output_names_; }
  SampleShape shape() const override;
  schema::Value description() const override;
  void prepare(std::int64_t i, const Draw& draw, Sample& into) const override;
  /// The whole volume as a network sees it.
  Sample get(std::int64_t i) const override;
  std::int64_t draws_per_epoch() const override { return options_.samples_per_epoch; }
  bool skips_bad_samples() const override { return options_.on_bad_sample == OnBadSample::kSkip; }
  std::shared_ptr<const Dataset> for_evaluation() const override;
  std::map<std::string, std::string> weight_files() const override;
  void check_weight_files(const std::map<std::string, std::string>& files,
                          const std::string& folder) const override;

  const VolumeInfo& info() const { return part_->info(); }
  const VolumePlan& plan() const { return prepared_->plan(); }
  /// The headers of the samples; empty for generated volumes.
  std::vector<VolumeSize> headers() const;
  VolumeCase files_of(std::int64_t i) const { return part_->files_of(source_index(i)); }
  /// nnU-Net's name of a sample: its file name without ending and channel number.
  std::string case_name(std::int64_t i) const;
  /// A sample as its files have it. Throws FileError.
  LabelledVoxels original(std::int64_t i) const { return part_->read(source_index(i)); }
  /// The labels of a sample on the grid of its file, (d, h, w) int64. Throws FileError.
  Tensor original_mask(std::int64_t i) const;
  /// The labels on the grid of the file, (d, h, w) int64, from probabilities (outputs, d, h, w) of
  /// a whole sample: labels_on_file() (volume_regions.h).
  Tensor labels_at_original(const Tensor& prob, std::int64_t i) const;
  /// Where a sample lies in its file.
  VolumePlace place(std::int64_t i) const { return prepared_->get(source_index(i))->place; }

 private:
  void write(const PreparedVolume& volume, Sample& into) const;

  std::shared_ptr<const VolumePart> part_;
  VolumeSetOptions options_;
  std::shared_ptr<const PreparedVolumes> prepared_;
  Samples samples_;
  VolumeAugmentation augmentation_;
  std::vector<Field> fields_;
  std::vector<std::string> output_names_;
};

/// Null for a data set of another kind.
const VolumeDataset* find_volumes(const Dataset& dataset);

}  // namespace fovea::data
