// The attention explorer: one HTML page that carries the maps of several networks side by side and
// shows, for the token or patch under the mouse, what each layer, head and the rollout attend to.
// Explanations take the place of attention where they are given: what spoke for a class, by
// networks and methods side by side. The page is one file, reaches for nothing outside it and needs
// a browser of 2023 or later.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "visualise/drawing/canvas.h"
#include "visualise/maps/heat_scale.h"
#include "visualise/maps/rollouts/rollout.h"

namespace fovea::visualise {

/// An object of an image: a detection, or one of the truth.
struct ExplorerObject {
  std::string name;             // "cell 0.93"
  std::array<double, 4> box{};  // x1 y1 x2 y2 in pixels of the picture
  Colour colour;
  std::int64_t map = -1;  // the number of the map that it is shown with at first; -1: none
};

/// What a block has for each detection of an image: weights of places or, without rows, of layers.
struct ExplorerObjectMap {
  std::string name;  // "layers.2.blocks.1"
  std::int64_t heads = 0, rows = 0, cols = 0;
  std::vector<double> weights;  // (heads, objects, rows x cols)
  Quantity quantity = {false, "attention"};
  double even = 0;
  bool carried = false;  // the first layer stands for what came before the others
};

/// What one network does with one input of n tokens: words, or a grid of patches. Of a detector
/// the objects that it finds take the place of tokens, and their maps that of layers.
struct ExplorerModel {
  std::string name;
  std::string note;                           // beside the name, e.g. "predicts cat"; may be empty
  std::vector<AttentionMap> layers;           // in network order, all of n tokens
  Quantity attention = {false, "attention"};  // what their values are
  Matrix rollout;                             // (n, n); empty where there is none
  Quantity rolled_out = {false, "attention rollout, share"};
  double attention_even = 0;  // even_share() of the maps and of the rollout
  double rollout_even = 0;
  std::string policy;               // of the rollout, e.g. "raw, abs"; may be empty
  std::int64_t prefix_tokens = 0;   // class and register tokens before the words or patches
  bool class_token = true;          // the first of them is one
  std::vector<std::string> tokens;  // of a text: n words, those of the prefix included
  std::int64_t grid_h = 0;          // of an image: n = prefix_tokens + grid_h * grid_w
  std::int64_t grid_w = 0;
  bool is_detector = false;
  std::vector<ExplorerObject> objects = {};  // the best first
  std::vector<ExplorerObjectMap> object_maps = {};
};

/// What spoke for a class in an input, by one network and one method.
struct ExplorerRelevance {
  std::string run, method;
  std::string note;    // below the method, e.g. "vit predicts cat"; may be empty
  std::string target;  // the class
  Quantity quantity;   // maps of one name can have one scale
  std::int64_t rows = 0, cols = 0;
  std::vector<std::string> words;  // of a text: rows is 1, and there are `cols`
  std::vector<double> values;      // (rows, cols)
};

/// One input. Networks may cut it into tokens differently; what stands for the same word or place
/// is highlighted in all.
struct ExplorerSample {
  std::string name;                               // "7 (cat)"
  Canvas picture;                                 // of an image; no pixels for a text
  std::vector<ExplorerModel> models;              // all of them detectors, or none
  std::vector<ExplorerObject> truth = {};         // for detectors, where it is known
  std::vector<ExplorerRelevance> relevance = {};  // in place of models
};

struct Explorer {
  std::string title = "Attention explorer";
  std::vector<ExplorerSample> samples;
  HeatScale scale = {};          // the page begins with it
  ColourMap sequential = kHeat;  // of quantities without sign
};

/// The page. Its colours begin and end where heat_scale.h says (explorer/scale.js), with the
/// palettes of all pictures (colour_map.h). Names and tokens may hold anything: bytes that are not
/// UTF-8 become U+FFFD, and no text is read as HTML. Weights are rounded as pack_maps says, about 1
/// byte each before compression. Throws ShapeError if there is no sample, a sample has neither
/// models nor relevance or other kinds than the first has, or sizes do not agree, and NumericError
/// for weights that are not finite.
std::string explorer_page(const Explorer& explorer);
/// Writes the page in one rename. Throws FileError.
void write_explorer(const std::filesystem::path& path, const Explorer& explorer);

}  // namespace fovea::visualise
