#include "common/mask_flags.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace fovea::apps {

void add_mirror_flag(Options cli, std::vector<std::string>& axes) {
  cli.add_option("--mirror", axes,
                 "of masks and volumes the mean over all mirrorings of these axes, 0,1 or 0,1,2 "
                 "(0: the first, of volumes slices), as nnU-Net; the same as --set "
                 "eval.inferer.mirror_axes=[0,1]")
      .commas()
      .value("AXIS,...");
}

void add_mirror_override(const std::vector<std::string>& axes,
                         std::vector<std::string>& overrides) {
  if (!axes.empty())
    overrides.push_back(fmt::format("eval.inferer.mirror_axes=[{}]", fmt::join(axes, ",")));
}

void add_postprocessing_flags(Options cli, training::PostprocessingOptions& asked) {
  cli.add_option("--keep-largest", asked.keep_largest,
                 "of masks and volumes the largest connected component stays, others become "
                 "background: of foreground (all classes together), of each class, of classes or "
                 "regions by name, one after the other; none: not even what postprocessing.json of "
                 "the run says (default: that, if there is one)")
      .commas()
      .value("NAME,...");
  cli.add_option("--min-size", asked.min_size,
                 "components of a class that are smaller become background: in pixels or voxels "
                 "(50), or where the files say how large these are in millimetres (50mm2, 50mm3)")
      .value("SIZE");
}

}  // namespace fovea::apps
