// What `eval` asks of a task, and what the task says.
#pragma once

#include <cstdint>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "data/parts/split.h"
#include "metrics/metric_info.h"
#include "schema/json/value.h"

namespace fovea::training {

/// What an evaluation gave, in the order of reporting.
using Metrics = std::vector<metrics::Measurement>;

struct ReportRequest {
  data::Split split = data::Split::kTest;
  std::filesystem::path folder;   // exists
  std::string title;              // of pictures
  std::vector<std::string> save;  // words for outputs of the network that are to be written
  std::int64_t pictures = 12;     // samples to draw, where the task draws samples
};

/// Beside the files it wrote.
struct Report {
  Metrics metrics;
  std::vector<std::int64_t> indices;  // of the samples in the split, ascending; the order of
                                      // Measurement::per_sample
  std::vector<std::string> volumes;   // likewise their order where it is of volumes
  std::vector<std::string> lines;     // for people, below the metrics
  schema::Value details = schema::Value::object();  // further members of results.json
  std::vector<std::string> saved;  // files that `save` asked for, folders by their name
};

/// The words of ReportRequest::save, of those that a task knows. Throws ConfigError with the
/// nearest for another; `gives` says what its networks give: "classes".
std::set<std::string> parse_saves(const std::vector<std::string>& words,
                                  const std::vector<std::string>& known, const std::string& gives);

}  // namespace fovea::training
