#include "common/intervention_flags.h"

namespace fovea::apps {

std::optional<explain::PatchDrop> InterventionFlags::drop(std::int64_t seed) const {
  if (drop_patches.empty()) return {};
  return explain::patch_drop(drop_patches, baseline, static_cast<std::uint64_t>(seed));
}

void add_intervention_flags(Options cli, InterventionFlags& flags) {
  cli.add_option(
         "--set-heads", flags.set_heads,
         "attention heads that are switched off or scaled, MODULE:HEADS=off or "
         "MODULE:HEADS=FACTOR: an attention or its block as fovea inspect lists it, * for any "
         "characters; numbers and ranges of heads, or *; repeatable, the later one counts")
      .value("MODULE:HEADS=off");
  const Option drop =
      cli.add_option("--drop-patches", flags.drop_patches,
                     "patches of images that --baseline replaces: numbers and ranges, row by row "
                     "from 0 (12,13,30-41), or a share that is drawn for every sample (50%)")
          .value("PATCHES");
  cli.add_option("--baseline", flags.baseline,
                 "what stands in place of dropped patches: zero (after normalisation, the data's "
                 "mean colour), mean (the image's), black, blur (default: zero)")
      .value("zero|mean|black|blur")
      .needs(drop);
}

}  // namespace fovea::apps
