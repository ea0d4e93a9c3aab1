#include "experiment/reports/overlay_files.h"

#include <fmt/format.h>

#include <algorithm>

#include "experiment/reports/objects/drawn_objects.h"
#include "visualise/layouts/detection.h"
#include "visualise/layouts/label_overlay.h"
#include "visualise/layouts/overlay.h"

namespace fovea::experiment {
namespace {

using Picture = training::Task::Picture;

template <class T>
std::vector<T> values_of(const Tensor& tensor) {
  const auto values = tensor.host_values<T>();
  return {values.begin(), values.end()};
}

visualise::Segmented foreground_row(const std::string& label, const Picture& picture) {
  const Tensor& image = picture.image;
  return {label,
          values_of<float>(image),
          values_of<float>(picture.truth),
          values_of<float>(picture.predicted),
          image.size(0),
          image.size(1),
          image.size(2)};
}

visualise::Labelled class_row(const std::string& label, const Picture& picture) {
  const Tensor& image = picture.image;
  return {label,
          values_of<float>(image),
          values_of<std::int64_t>(picture.truth),
          values_of<std::int64_t>(picture.predicted),
          image.size(0),
          image.size(1),
          image.size(2)};
}

visualise::DetectedImage detected_row(const std::string& label, const Picture& picture) {
  const Tensor& image = picture.image;
  return {label,         values_of<float>(image), image.size(0),       image.size(1),
          image.size(2), drawn(picture.objects),  drawn(picture.found)};
}

}  // namespace

void write_overlays(const std::filesystem::path& folder, const std::string& title,
                    training::Task& task, data::Split split,
                    const std::vector<training::Shown>& shown) {
  constexpr std::size_t kRows = 6;
  for (std::size_t first = 0; first < shown.size(); first += kRows) {
    std::vector<visualise::Segmented> foregrounds;
    std::vector<visualise::Labelled> classes;
    std::vector<visualise::DetectedImage> detected;
    for (std::size_t k = first; k < std::min(first + kRows, shown.size()); ++k) {
      const Picture picture = task.picture(split, shown[k].sample);
      if (!picture.truth.defined()) {
        detected.push_back(detected_row(shown[k].label, picture));
      } else if (picture.truth.dtype() == DType::kInt64) {
        classes.push_back(class_row(shown[k].label, picture));
      } else {
        foregrounds.push_back(foreground_row(shown[k].label, picture));
      }
    }
    const std::vector<std::string>& names = task.source().class_names();
    visualise::write_png(folder / fmt::format("overlays-{}.png", first / kRows + 1),
                         !detected.empty()  ? visualise::detection_grid(title, names, detected)
                         : !classes.empty() ? visualise::label_grid(title, names, classes, 0,
                                                                    task.source().has_background())
                                            : visualise::overlay_grid(title, foregrounds));
  }
}

}  // namespace fovea::experiment
