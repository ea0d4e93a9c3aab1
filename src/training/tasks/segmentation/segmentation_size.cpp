// At what size segmentations are scored: that of what the network sees, or that of the files.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "data/images/image_dataset.h"
#include "data/volumes/volume_dataset.h"
#include "training/tasks/segmentation/segmentation.h"

namespace fovea::training {

std::string Segmentation::network_size(data::Split split) const {
  const Tensor mask = source().at(split).get(0).at("mask");
  const int axes = data::find_volumes(source().at(split)) != nullptr ? 3 : 2;
  return fmt::format(
      "{}", fmt::join(mask.shape().part(mask.rank() - axes, mask.rank()).to_vector(), " x "));
}

bool Segmentation::at_original_size(data::Split split) const {
  if (asked_.size != metrics::ScoreSize::kAuto) return asked_.size == metrics::ScoreSize::kOriginal;
  // Pixels of a picture that was squashed to the network's square are no measure of length.
  if (asked_.has_distances()) return true;
  const data::Dataset& samples = source().at(split);
  return data::find_volumes(samples) != nullptr || data::images_of(samples).slice_of(0).has_value();
}

Tensor Segmentation::original_truth(data::Split split, std::int64_t index) const {
  if (const auto* volumes = data::find_volumes(source().at(split)))
    return volumes->original_mask(index);
  return data::images_of(source().at(split)).original_mask(index);
}

Tensor Segmentation::labels_at_original(const Tensor& labels, const data::Batch& batch,
                                        std::int64_t i, data::Split split) const {
  const data::Geometry plane = batch.geometry.at(static_cast<std::size_t>(i)).in_plane();
  return data::images_of(source().at(split))
      .at_original(labels, plane.original_size.at(0), plane.original_size.at(1));
}

void Segmentation::add_score_size(Report& report, data::Split split, const char* how) const {
  const bool original = at_original_size(split);
  report.details.set("score_size", original ? "original" : "network");
  if (original) {
    report.lines.push_back(fmt::format(
        "scored at the size of the files: {}; the loss is that of what the network sees", how));
  } else if (asked_.has_pixel_distances()) {
    report.lines.push_back(fmt::format(
        "scored at the size that the network sees, {}: distances in px are pixels of that size",
        network_size(split)));
  }
}

}  // namespace fovea::training
