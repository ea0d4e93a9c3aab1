// A confusion matrix as a table, a picture and a member of results.json.
#pragma once

#include <string>
#include <vector>

#include "metrics/confusion.h"
#include "schema/json/value.h"
#include "training/tasks/task_report.h"

namespace fovea::training {

/// Writes confusion.csv and confusion.png to the folder of a report: rows are the truth, columns
/// the prediction. Returns {"classes", "rows_are", "counts"}.
schema::Value write_confusion(const ReportRequest& request,
                              const metrics::ConfusionMatrix& confusion,
                              const std::vector<std::string>& classes);

}  // namespace fovea::training
