// The cases of an evaluation, where metrics are asked for that compare case by case: images, or
// volumes that images are slices of.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "data/batch.h"
#include "data/parts/division.h"
#include "metrics/cases.h"
#include "training/tasks/task_report.h"

namespace fovea::training {

/// Millimetres between the pixels of a sample of that size, one an axis: those of its file, scaled
/// by how it was resized; a part that was taken has the file's own pixels, and slices that lie on
/// one another the distances of their volume. Nothing where the data do not say.
std::optional<std::vector<double>> pixel_spacing(const data::Geometry& geometry,
                                                 const std::vector<std::int64_t>& size);

class CaseCollector {
 public:
  /// sets: the labels of each class. Throws ConfigError for a rule of volumes that is none.
  CaseCollector(const metrics::CaseMetrics& asked, metrics::LabelSets sets);
  /// Whether there is anything to collect; without it add() does nothing.
  bool wanted() const { return !asked_.names.empty(); }

  struct Image {
    std::span<const std::int64_t> truth, predicted;
    std::vector<std::int64_t> size;  // one number an axis
    data::Geometry geometry;
    std::int64_t index = 0;  // in its split; slices of a volume are in this order
    std::string name;
    std::string volume = "";  // that the data set says it is a slice of, "" for none
    std::int64_t slices = 0;  // of that volume
  };
  /// Throws ConfigError for an image whose name has no volume, and for millimetres of data that do
  /// not say how large pixels are, or how far slices are apart.
  void add(const metrics::ClassCounts& counts, const Image& image);
  /// Images by their index, volumes by their names. Throws ShapeError for slices of different
  /// sizes.
  std::vector<metrics::CaseScores> finish() const;

 private:
  struct Slice {
    std::vector<std::int16_t> truth, predicted;
    std::vector<std::int64_t> size;
    data::Geometry geometry;
    metrics::ClassCounts counts;
  };
  using Volume = std::map<std::int64_t, Slice>;  // by index

  std::string volume_of(const Image& image) const;
  metrics::CaseScores scores_of(const metrics::ClassCounts& counts, const Image& image) const;
  metrics::CaseScores scores_of(const std::string& name, const Volume& volume) const;

  metrics::CaseMetrics asked_;
  metrics::LabelSets sets_;
  std::optional<data::Grouping> grouping_;
  std::map<std::int64_t, metrics::CaseScores> images_;  // by index
  std::map<std::string, Volume> volumes_;               // whose slices are awaited
  std::map<std::string, metrics::CaseScores> scored_;   // that were complete
};

/// Of what was collected: by case its name, its slices, its value of the metrics asked for, then
/// of each class of `class_words` shares of 1 (Dice, IoU, ...) and mask_columns(). Volumes only.
Table volumes_table(const metrics::CaseMetrics& asked,
                    const std::vector<metrics::CaseScores>& cases,
                    const std::vector<std::string>& class_words);

/// Columns of what is made of masks (distances, shares of 1) in tables of samples and volumes, for
/// classes of these names ("": the only one); by EmptyMasks::kStrict where a mask is empty.
std::vector<Column> mask_columns(const metrics::CaseMetrics& asked,
                                 const std::vector<metrics::CaseScores>& cases,
                                 const std::vector<std::string>& class_words);

}  // namespace fovea::training
