// What visualise-attention was asked for.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "training/store/foreign_weights.h"

namespace fovea::apps {

struct Arguments {
  std::vector<std::string> runs;    // or experiment files, each with a file of weights
  std::vector<std::string> inputs;  // numbers of samples, or image files
  std::vector<std::string> texts;   // words to be read
  std::string split;                // empty: the one that the run reports
  std::string checkpoint;
  std::optional<bool> averaged;
  std::vector<std::filesystem::path> weights;  // of the experiment files among `runs`, in order
  training::ForeignWeights reading;            // how they are read; its file is not used
  std::vector<std::string> overrides;
  std::string sign, normalise;
  std::string fusion = "mean";
  double discard = 0;
  double alpha = 0.5;
  std::int64_t start_layer = 0;
  std::string scale;    // empty: the standard
  std::string colours;  // empty: the standard of what is drawn
  bool smooth = false;
  double overlay = -1;  // below 0: likewise
  std::int64_t factor = 0;
  bool heads = false;
  bool no_explorer = false;
  bool across_depth = false;
  std::int64_t samples = 512;
  bool scores = false;
  bool magnitude = false;
  std::int64_t head = 0;  // of --magnitude
  bool pca = false;
  std::vector<std::string> layers;   // of --pca and --scores: numbers from 0, or names
  std::vector<std::string> maps;     // token_norm, update, saliency
  std::vector<std::int64_t> stages;  // of --maps, from 1; empty: all
  std::string compare = "first";     // of --maps update: first, last or none
  bool predictions = false;
  std::int64_t thickness = 1;  // of contours
  std::int64_t slices = 3;     // of volumes, in each plane
  std::vector<std::int64_t>
      query;  // row and column of a pixel; of a voxel of a file its slice first
  std::string convention = "radiological";  // of volumes: where the patient's right is
  bool whole_maps = false;
  std::string out = "attention";
  int threads = 0;
};

}  // namespace fovea::apps
