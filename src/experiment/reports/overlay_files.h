// Samples of segmentations as pictures: the outlines of a foreground, or a colour for each class.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "training/tasks/task.h"

namespace fovea::experiment {

/// Writes overlays-1.png, overlays-2.png, ...: a page for every six samples of a split.
void write_overlays(const std::filesystem::path& folder, const std::string& title,
                    training::Task& task, data::Split split,
                    const std::vector<training::Shown>& shown);

}  // namespace fovea::experiment
