// Attention of networks whose blocks work on grids of several sizes.
#pragma once

#include <vector>

#include "common/app.h"
#include "experiment/run/open_run.h"
#include "visualise_attention/arguments.h"

namespace fovea::apps {

/// rollout-<run>.png: where the query pixel looks, a column for each sequence of blocks on one
/// grid, and one for all of them where grids become coarser; with --heads heads-<run>-<input>.png:
/// its row in every block and head. weights.csv: the weights of the rollouts. maps.safetensors:
/// <run>/<input>/<block>/attn (heads, rows, keys), and attn1 and attn2 where there are two maps;
/// rows is 1, the query's, unless --whole-maps is given or keys are reduced. Throws ConfigError for
/// networks without attention over tokens, settings of rollouts over a single grid, and a query
/// outside the image.
void draw_grids(std::vector<experiment::Opened>& runs, const Arguments& args, const Common& common);

}  // namespace fovea::apps
