#include "data/volumes/volume_training.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"

namespace fovea::data {

TrainingVolumes::TrainingVolumes(const VolumePart& part, const std::vector<std::int64_t>& indices,
                                 bool skip)
    : part_(part),
      indices_(indices),
      skip_(skip),
      bad_(static_cast<std::size_t>(part.size()), false) {
  for (const Problem& problem : part.problems()) {
    if (!std::binary_search(indices.begin(), indices.end(), problem.index)) continue;
    FOVEA_CHECK(skip, FileError, problem.message);
    bad_[static_cast<std::size_t>(problem.index)] = true;
  }
}

LabelledVoxels TrainingVolumes::read(std::int64_t i) {
  const std::int64_t index = indices_[static_cast<std::size_t>(i)];
  if (bad_[static_cast<std::size_t>(index)]) return {};
  try {
    LabelledVoxels volume = part_.read(index);
    look_at(volume);
    return volume;
  } catch (const FileError& error) {
    if (!skip_) throw;
    bad_[static_cast<std::size_t>(index)] = true;
    unreadable_.push_back({index, error.what()});
    return {};
  }
}

void TrainingVolumes::look_at(const LabelledVoxels& volume) {
  ++read_;
  if (!volume.labels.empty()) ++labelled_;
  foreground_ = foreground_ || std::ranges::any_of(volume.labels, is_foreground);
  const auto [low, high] = std::minmax_element(volume.values.begin(), volume.values.end());
  if (*low == *high) constant_.push_back(fmt::format("{} ({})", volume.file.string(), *low));
}

void TrainingVolumes::check() const {
  FOVEA_CHECK(read_ > 0, FileError,
              fmt::format("dataset: none of the {} volumes of train can be read; the first: {}",
                          indices_.size(),
                          !unreadable_.empty()        ? unreadable_.front().message
                          : !part_.problems().empty() ? part_.problems().front().message
                                                      : "unknown"));
  FOVEA_CHECK(foreground_ || labelled_ == 0, FileError,
              fmt::format("dataset: the labels of train hold nothing but {} in all {} volumes; "
                          "there is nothing to learn",
                          part_.class_names().front(), labelled_));
}

std::vector<std::string> TrainingVolumes::notes() const {
  if (constant_.empty()) return {};
  return {
      fmt::format("dataset: {} of {} training volumes hold one value everywhere, e.g. {}; "
                  "dataset.exclude leaves volumes out",
                  constant_.size(), read_, constant_.front())};
}

}  // namespace fovea::data
