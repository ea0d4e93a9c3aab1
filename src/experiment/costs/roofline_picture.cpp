#include "experiment/costs/roofline_picture.h"

#include <algorithm>

namespace fovea::experiment {

visualise::Roofline roofline_of(const std::string& title, const Peaks& peaks,
                                const std::vector<ProfileRow>& rows) {
  visualise::Roofline roofline{.title = title,
                               .products = {{"float32", peaks.float32.best()},
                                            {"bfloat16", peaks.bfloat16.best()},
                                            {"float64", peaks.float64.best()}},
                               .bandwidths = {},
                               .points = {}};
  for (const MemoryPeak& level : peaks.levels) {
    roofline.bandwidths.push_back({level.name, std::max({level.read, level.write, level.copy,
                                                         level.stream_write, level.stream_copy})});
  }
  for (const ProfileRow& row : rows) {
    if (row.bytes_per_step == 0 || row.ms_per_step <= 0) continue;
    const auto operations =
        static_cast<double>(std::max(2 * row.macs_per_step, row.numbers_per_step));
    roofline.points.push_back({.name = row.op,
                               .backward = row.backward,
                               .intensity = operations / static_cast<double>(row.bytes_per_step),
                               .rate = 1e3 * operations / row.ms_per_step,
                               .share = row.share});
  }
  return roofline;
}

void write_roofline(const std::filesystem::path& path, const std::string& title, const Peaks& peaks,
                    const std::vector<ProfileRow>& rows) {
  const visualise::LinePlot plot = visualise::roofline_plot(roofline_of(title, peaks, rows));
  visualise::write_plots(path, {&plot, 1}, 1);
}

}  // namespace fovea::experiment
