// Attention of networks whose blocks work on grids of several sizes (pyramids and their decoders):
// where a place of the image looks, without a map of all tokens to all tokens. gdla section 9.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "models/model.h"
#include "visualise/drawing/canvas.h"
#include "visualise/maps/attention_maps.h"
#include "visualise/maps/heat_scale.h"
#include "visualise/maps/rollouts/rollout.h"
#include "visualise/maps/rollouts/unit_rollout.h"

namespace fovea::visualise {

/// Attention of one block for one image. Maps are (heads, rows, keys) float64.
struct GridAttention {
  std::string block;                    // "block3.2", "de1"
  std::int64_t grid_h = 0, grid_w = 0;  // of its tokens, which are the queries
  std::int64_t keys_h = 0, keys_w = 0;  // of the keys; coarser where the block reduces them
  std::int64_t first_row = 0;           // queries whose rows are there: this one and those after it
  Tensor map;                           // what counts: of two maps A1 - weight A2
  Tensor map1, map2;                    // undefined where there is one map
  std::optional<UnitMap> windows;       // of blocks that attend inside windows: all rows
  bool is_signed = false;               // weights may be negative
};

/// Runs the network in evaluation mode on one image (1, c, h, w), normalised as in training. Blocks
/// come in the order of the network. With a place, the row of the token there alone is made on
/// grids of more than `whole_up_to` tokens; without one whole maps (n, n), which take 75 MiB a head
/// at 56 x 56 tokens. Maps of reduced keys are always whole; of windows the row or the map has
/// zeros for other windows. Throws ConfigError for a network without such blocks.
std::vector<GridAttention> observe_grids(models::Model& model, const Tensor& image,
                                         std::optional<attention::Probe::Place> place,
                                         std::int64_t whole_up_to = 0);

/// Where a token looks through blocks that follow each other on one grid.
struct GridRollout {
  std::string first, last;  // block: "backbone.block3.0", "backbone.block3.5"
  std::int64_t grid_h = 0, grid_w = 0;
  std::int64_t query = 0;       // number of the token; -1: the mean over all
  std::vector<double> weights;  // of all tokens, sum 1; empty: rows that it needs were not made
};

/// The row of the token at `place` of the rollout of every sequence of blocks on one grid: of each
/// block A = max(map, 0), mean over heads, rows normalised; G = (I + A) / 2; the product of the Gs.
/// Weights of reduced keys are spread evenly over the tokens that a key stands for. Computed row by
/// row. Throws ConfigError where every sequence needs rows that were not observed.
std::vector<GridRollout> grid_rollouts(std::span<const GridAttention> blocks,
                                       attention::Probe::Place place);

/// What the last grid saw of the first through all blocks, the mean over its tokens, which
/// classifiers read: where one grid leads to a coarser one the weight of a token is spread evenly
/// over those it was made of (2 x 2 of them; mala section 9). Nothing where there is one grid,
/// grids become finer, or rows were not observed.
std::optional<GridRollout> joined_rollout(std::span<const GridAttention> blocks);

/// Rollouts of several images.
struct GridRolloutFigure {
  std::string title;
  std::vector<std::string> names;  // of the inputs
  std::vector<Canvas> inputs;
  std::vector<attention::Probe::Place> places;     // the query in each
  std::vector<std::vector<GridRollout>> rollouts;  // of each input, the same sequences of blocks
  HeatScale scale;
  ColourMap sequential = kHeat;
  bool smooth = false;
  double overlay = 0;
  std::int64_t factor = 1;
};

/// A row for each input, a column for each sequence of blocks with a bar below it; the query is
/// framed. Its own weight, which the skip connections make at least 2^-blocks, does not count for
/// the limits of the colours, and is drawn no larger than the largest beside it. A rollout without
/// weights is a hole. Throws ShapeError if there is no input or sizes do not fit.
Canvas render(const GridRolloutFigure& figure);

/// The query's row in every block (rows) and head (columns), on the keys' grid at the size of the
/// image, but at most 128 pixels; the heads of a block share their colours.
Canvas grid_heads(std::span<const GridAttention> blocks, attention::Probe::Place place,
                  const Canvas& image, const std::string& title, const HeadLook& look);

}  // namespace fovea::visualise
