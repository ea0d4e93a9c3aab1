// The folder of a report: what a task says of a split, written and drawn, and outputs of the
// network that `eval --save` asks for.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "experiment/reports/mask_files.h"
#include "experiment/reports/predicted_volumes.h"
#include "experiment/run/runner.h"

namespace fovea::experiment {

struct ReportSettings {
  data::Split split = data::Split::kTest;
  std::filesystem::path folder;   // exists
  std::string title;              // of pictures
  std::vector<std::string> save;  // words for outputs of the network that are to be written
  std::int64_t pictures = 12;     // samples to draw, where the task has pictures of samples
};

class ReportFiles {
 public:
  /// `run` and `settings` outlive this. Throws ConfigError with the nearest word for one of `save`
  /// that is not known of what the task's networks give (TaskInfo::gives).
  ReportFiles(Run& run, const ReportSettings& settings);

  /// What the task is to be asked for.
  training::ReportRequest request();
  /// Writes
  ///   <table>.csv                 each table of the report (table_file.h)
  ///   <curves>.png, <bars>.png    its curves and bars
  ///   confusion.{csv,png}         where it has a confusion matrix
  ///   predictions.csv             where it has scores, and what write_scores() writes
  ///   overlays-*.png              where it shows samples
  ///   summary.json                of volumes: nnU-Net's (predicted_volumes.h)
  ///   what MaskFiles or, of volumes, PredictedVolumes wrote of the maps that came by
  /// and returns the files that `save` asked for, folders by their name.
  std::vector<std::string> write(const training::Report& report);

 private:
  void take_maps(const data::Batch& batch, const Tensor& probabilities, const Tensor& labels);
  std::vector<std::string> write_rows(const training::Report& report) const;
  std::vector<std::string> write_objects(const training::Report& report) const;

  Run& run_;
  const ReportSettings& settings_;
  std::set<std::string> wanted_;
  const data::VolumeDataset* volumes_ = nullptr;  // of masks
  std::optional<MaskFiles> masks_;
  std::optional<PredictedVolumes> predicted_;
};

}  // namespace fovea::experiment
