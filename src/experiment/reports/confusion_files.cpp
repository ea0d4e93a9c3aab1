#include "experiment/reports/confusion_files.h"

#include <fmt/format.h>

#include "base/csv_field.h"
#include "base/file.h"
#include "visualise/plots/confusion_plot.h"

namespace fovea::experiment {
namespace {

std::string confusion_csv(const training::Confusion& confusion) {
  const std::vector<std::string>& classes = confusion.classes;
  std::string text = "truth \\ prediction";
  for (const std::string& name : classes) text += "," + csv_field(name);
  for (std::size_t i = 0; i < classes.size(); ++i) {
    text += "\n" + csv_field(classes[i]);
    for (std::size_t j = 0; j < classes.size(); ++j)
      text += fmt::format(",{}", confusion.counts[i * classes.size() + j]);
  }
  return text + "\n";
}

}  // namespace

void write_confusion(const std::filesystem::path& folder, const std::string& title,
                     const training::Confusion& confusion) {
  io::write_atomic(folder / "confusion.csv", confusion_csv(confusion));
  const visualise::ConfusionPlot plot{title, confusion.classes, confusion.counts};
  visualise::write_png(folder / "confusion.png", visualise::render(plot));
}

}  // namespace fovea::experiment
