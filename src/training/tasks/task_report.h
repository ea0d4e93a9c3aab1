// What a task says of a part of the data, as data. Who asked for it writes and draws it
// (experiment/reports).
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/variant.h"
#include "data/batch.h"
#include "data/parts/split.h"
#include "metrics/confusion.h"
#include "metrics/detection/objects.h"
#include "metrics/label_maps.h"
#include "metrics/metric_info.h"
#include "schema/json/value.h"

namespace fovea::training {

/// What an evaluation gave, in the order of reporting.
using Metrics = std::vector<metrics::Measurement>;

/// What is asked for.
struct ReportRequest {
  data::Split split = data::Split::kTest;
  std::int64_t pictures = 12;  // samples to be shown, where the task has pictures of samples
  /// Takes the maps of every batch, on the host, which are too large for a report: probabilities
  /// (b, k, spatial...) and, of several classes, the label of every pixel (b, spatial...). Empty:
  /// they are not made.
  std::function<void(const data::Batch& batch, const Tensor& probabilities, const Tensor& labels)>
      maps = {};
};

/// A column of a table. A double that is NaN is undefined: an empty cell.
struct Column {
  std::string name;
  Variant<std::vector<std::int64_t>, std::vector<double>, std::vector<std::string>> values;
};
/// Columns of one length.
struct Table {
  std::string name;  // of its file, without ending
  std::vector<Column> columns;
};

/// y over x, drawn in one picture.
struct Curve {
  std::string name;
  std::vector<double> x, y;
};
struct Curves {
  std::string name;  // of its file, without ending
  std::string x_label, y_label;
  double y_low = 0, y_high = 1;
  std::vector<Curve> curves;
};

/// How often something happened, by kind and class, drawn as bars.
struct Bars {
  std::string name;   // of its file, without ending
  std::string label;  // what is counted
  std::vector<std::string> kinds, classes;
  std::vector<std::int64_t> counts;  // (kinds, classes) row-major
};

/// Rows are the truth, columns the prediction.
struct Confusion {
  std::vector<std::string> classes;
  std::vector<std::int64_t> counts;  // (classes, classes) row-major
};
/// {"classes", "rows_are", "counts"}.
schema::Value to_value(const Confusion& confusion);

/// What a classifier says of each sample, in the order of Report::indices.
struct ScoreRows {
  std::int64_t width = 0;     // outputs of the network: at least as many as there are classes
  std::vector<float> logits;  // (n, width) row-major
  std::vector<std::int64_t> labels, predictions;
};

/// A sample to be shown (Task::picture), and what is to be said of it.
struct Shown {
  std::int64_t sample = 0;
  std::string label;
};

/// Samples to be shown, spread over the split: their places in a list of so many.
std::vector<std::size_t> shown_places(const ReportRequest& request, std::size_t samples);

/// Of label maps: the pixels of every class by sample, and how many of a sample count.
struct SampleCounts {
  std::vector<metrics::ClassCounts> classes;
  std::vector<std::int64_t> pixels;
};

/// An image with what is in it and what a detector found, in pixels of its file.
struct DetectedImage {
  std::int64_t height = 0, width = 0;
  std::vector<metrics::TruthObject> truth;
  std::vector<metrics::DetectedObject> found;  // the highest score first
};

struct Report {
  Metrics metrics = {};
  std::vector<std::int64_t> indices = {};  // of the samples in the split, ascending; the order of
                                           // Measurement::per_sample
  std::vector<std::string> volumes = {};   // likewise their order where it is of volumes
  std::vector<std::string> lines = {};     // for people, below the metrics
  schema::Value details = schema::Value::object();  // further members of results.json
  std::vector<Table> tables = {};
  std::vector<Curves> curves = {};
  std::vector<Bars> bars = {};
  std::optional<Confusion> confusion = {};
  std::optional<ScoreRows> scores = {};
  std::vector<Shown> shown = {};
  std::optional<SampleCounts> counts = {};
  std::vector<DetectedImage> detected = {};  // of a detector, in the order of the indices
};

}  // namespace fovea::training
