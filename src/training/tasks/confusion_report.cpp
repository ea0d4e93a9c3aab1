#include "training/tasks/confusion_report.h"

#include <fmt/format.h>

#include "base/csv_field.h"
#include "base/file.h"
#include "visualise/plots/confusion_plot.h"

namespace fovea::training {
namespace {

using schema::Value;

// Rows are the truth, columns the prediction.
std::string confusion_csv(const std::vector<std::int64_t>& counts,
                          const std::vector<std::string>& classes) {
  std::string text = "truth \\ prediction";
  for (const std::string& name : classes) text += "," + csv_field(name);
  for (std::size_t i = 0; i < classes.size(); ++i) {
    text += "\n" + csv_field(classes[i]);
    for (std::size_t j = 0; j < classes.size(); ++j)
      text += fmt::format(",{}", counts[i * classes.size() + j]);
  }
  return text + "\n";
}

Value confusion_json(const std::vector<std::int64_t>& counts,
                     const std::vector<std::string>& classes) {
  Value matrix = Value::array();
  for (std::size_t i = 0; i < classes.size(); ++i) {
    const auto first = counts.begin() + static_cast<std::ptrdiff_t>(i * classes.size());
    matrix.push_back(Value::array(
        std::vector<std::int64_t>(first, first + static_cast<std::ptrdiff_t>(classes.size()))));
  }
  return Value::object(
      {{"classes", Value::array(classes)}, {"rows_are", "truth"}, {"counts", matrix}});
}

}  // namespace

Value write_confusion(const ReportRequest& request, const metrics::ConfusionMatrix& confusion,
                      const std::vector<std::string>& classes) {
  const std::vector<std::int64_t>& counts = confusion.counts();
  io::write_atomic(request.folder / "confusion.csv", confusion_csv(counts, classes));
  const visualise::ConfusionPlot plot{request.title, classes, counts};
  visualise::write_png(request.folder / "confusion.png", visualise::render(plot));
  return confusion_json(counts, classes);
}

}  // namespace fovea::training
