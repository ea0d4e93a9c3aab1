// What the blocks of decoders do with the tokens of images.
#pragma once

#include "common/app.h"
#include "visualise_attention/arguments.h"

namespace fovea::apps {

/// For every image maps-<input>.png (gdla figures 6 and 8), saliency-<input>.png (figure 7), or
/// both, by --maps; maps.safetensors with <run>/<input>/<stage>/ token_norm and update (h, w),
/// saliency_tokens (n) and saliency_channels (dim), float64. Prints the share of the first token.
/// Throws ConfigError for words and stages that there are none of, networks without such blocks and
/// runs that see other images.
void draw_stages(const Arguments& args, const Common& common);

}  // namespace fovea::apps
