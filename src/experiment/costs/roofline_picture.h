// A profile with limits as a roofline.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "backend/peaks.h"
#include "experiment/costs/profile.h"
#include "visualise/plots/roofline_plot.h"

namespace fovea::experiment {

/// Roofs are the highest rates of each level and each type. Operations without multiply-adds have
/// one operation for every number that they write. Those of `rows` that move nothing are left out.
visualise::Roofline roofline_of(const std::string& title, const Peaks& peaks,
                                const std::vector<ProfileRow>& rows);

/// Writes it as .png or .svg. Throws as visualise::write_plots().
void write_roofline(const std::filesystem::path& path, const std::string& title, const Peaks& peaks,
                    const std::vector<ProfileRow>& rows);

}  // namespace fovea::experiment
