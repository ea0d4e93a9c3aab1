// What `predict` does: a trained network on inputs that belong to no data set. They are prepared as
// the run's own samples are; results are written as they come, so that memory does not grow with
// the number of inputs, but for their names.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "experiment/reports/result_line.h"
#include "experiment/run/runner.h"

namespace fovea::experiment {

struct PredictRequest {
  std::vector<std::filesystem::path>
      inputs;                              // files and folders; of texts also "-", standard input
  std::vector<std::string> texts = {};     // themselves, of runs that read texts
  std::vector<std::string> columns = {};   // of tables of texts (data::TextReader)
  std::filesystem::path out = {};          // a folder; made where it is not there
  TableFormat format = TableFormat::kCsv;  // of the table
  bool probabilities = false;              // of every class
  std::int64_t batch_size = 0;             // 0: that of evaluations
  bool continues = false;                  // a pass that was interrupted, if there is one in `out`
};

/// Told what happens while it does.
class PredictObserver {
 public:
  virtual ~PredictObserver() = default;
  virtual void noted(const std::string& note) = 0;
  /// So many inputs were done by the pass that is continued.
  virtual void continued(std::int64_t /*done*/) {}
  /// An input that could not be read.
  virtual void failed(const std::string& message) = 0;
  /// So many of all inputs are done, read or not; total is 0 where nobody knows it.
  virtual void progressed(std::int64_t done, std::int64_t total) = 0;
  /// True to end after what is done.
  virtual bool stops() = 0;
};

struct PredictCounts {
  std::int64_t predicted = 0, failed = 0;  // with those of the pass that was continued
  std::int64_t inputs = 0;                 // with those not reached; 0: nobody knows
  bool stopped = false;
};

/// Writes into `out`
///   of volumes   <name>.nii.gz: the value that files of labels have for each voxel's class, and
///                with probabilities <name>_<class>.nii.gz, float32
///   of masks     <name>.png: the value for each pixel's class, or 0 and 255 of one foreground;
///                with probabilities <name>_<class>.png, 255 = 1
///   of objects   <name>.png: the picture with what was found (drawn_objects.h); boxes.json and
///                masks.json (COCO's results), where the id of an image is its place among the
///                inputs + 1, and that of a class the data set's
/// and the table predictions.csv or predictions.jsonl, with columns prediction_heads() of
/// classifiers, detection_heads() of detectors, "name,file,text" of transcribers, else "name,file":
/// a row for each input in their order, of detectors one for each object. Of several runs the
/// probabilities are averaged (ensemble.h). A pass that is continued ends with the bytes of one
/// that was not interrupted, by what PredictJournal keeps in the folder. Throws FileError for
/// inputs that are not there and where nothing can be written, ConfigError for inputs that the run
/// does not read, and where a pass is continued with other settings.
PredictCounts predict(const std::vector<Run*>& runs, const PredictRequest& request,
                      PredictObserver& observer);

}  // namespace fovea::experiment
