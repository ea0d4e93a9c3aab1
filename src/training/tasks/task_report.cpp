#include "training/tasks/task_report.h"

#include <algorithm>
#include <cstddef>

namespace fovea::training {

schema::Value to_value(const Confusion& confusion) {
  schema::Value matrix = schema::Value::array();
  const std::size_t classes = confusion.classes.size();
  for (std::size_t i = 0; i < classes; ++i) {
    const auto first = confusion.counts.begin() + static_cast<std::ptrdiff_t>(i * classes);
    matrix.push_back(schema::Value::array(
        std::vector<std::int64_t>(first, first + static_cast<std::ptrdiff_t>(classes))));
  }
  return schema::Value::object({{"classes", schema::Value::array(confusion.classes)},
                                {"rows_are", "truth"},
                                {"counts", matrix}});
}

std::vector<std::size_t> shown_places(const ReportRequest& request, std::size_t samples) {
  const std::size_t count = std::min(static_cast<std::size_t>(request.pictures), samples);
  std::vector<std::size_t> places;
  for (std::size_t k = 0; k < count; ++k) places.push_back(k * samples / count);
  return places;
}

}  // namespace fovea::training
