// Post-processing of segmentations: on which grid, and what is chosen.
#include "base/error.h"
#include "data/images/image_dataset.h"
#include "data/volumes/volume_dataset.h"
#include "training/tasks/segmentation/segmentation.h"

#include <utility>

namespace fovea::training {

void Segmentation::set_postprocessing(const PostprocessingOptions& options) {
  postprocessing_ = make_postprocessing(options, scored_names(), scored_labels(), first_scored());
}

void Segmentation::check_no_slices(data::Split split) const {
  const data::Dataset& samples = source().at(split);
  FOVEA_CHECK(
      data::find_volumes(samples) != nullptr || !data::images_of(samples).slice_of(0).has_value(),
      ConfigError,
      "--keep-largest, --min-size: samples are slices of volumes, whose components lie in "
      "several slices; expected pictures or whole volumes");
}

Tensor Segmentation::foreground_labels(const Tensor& shares) {
  std::vector<std::int64_t> labels;
  for (const float share : shares.host_values<float>())
    labels.push_back(share >= metrics::kForeground ? 1 : 0);
  return Tensor::from(labels, shares.shape(), shares.device());
}

metrics::Grid Segmentation::grid_of(const std::vector<std::int64_t>& size, const data::Batch& batch,
                                    std::int64_t i, data::Split split) const {
  const auto spacing = pixel_spacing(image_of({}, {}, size, batch, i, split).geometry, size);
  return {size, spacing.value_or(std::vector<double>())};
}

Tensor Segmentation::postprocessed_labels(const Tensor& labels,
                                          const std::vector<std::int64_t>& size,
                                          const data::Batch& batch, std::int64_t i,
                                          data::Split split) const {
  if (postprocessing().empty()) return labels;
  check_no_slices(split);
  const metrics::Grid grid = grid_of(size, batch, i, split);
  return postprocessed(postprocessing(), labels, size,
                       grid.spacing.empty() ? std::nullopt : std::optional(grid.spacing));
}

PostprocessingChoice Segmentation::choose_postprocessing(data::Split split) {
  check_split(split);
  check_no_slices(split);
  PostprocessingChooser chooser(scored_names(), scored_labels(), first_scored());
  Postprocessing before = std::exchange(postprocessing_, {});
  each_case(split, [&](const Tensor& truth, const Tensor& predicted, const metrics::Grid& grid) {
    chooser.add(truth.host_values<std::int64_t>(), predicted.host_values<std::int64_t>(), grid);
  });
  postprocessing_ = std::move(before);
  return chooser.choose();
}

}  // namespace fovea::training
