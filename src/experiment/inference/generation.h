// Images that a trained generator makes: chosen classes, a picture of them, a film of one, and
// scores by a classifier. mala 4.7, 8.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "experiment/run/open_run.h"
#include "training/inference/sampler.h"
#include "visualise/drawing/canvas.h"
#include "visualise/drawing/film.h"

namespace fovea::experiment {

/// Classes by number or name, apart by commas: "0-9", "3,5", "cat", and "none" for no class (-1);
/// "" for all. Throws ConfigError for what is none of them.
std::vector<std::int64_t> class_choice(const std::string& text,
                                       const std::vector<std::string>& class_names);

struct GenerateSettings {
  std::vector<std::int64_t> classes;
  std::int64_t samples = 4;  // of each class
  training::SamplerOptions sampler;
  std::uint64_t seed = 0;
  std::int64_t batch_size = 64;
  bool film = false;                                                         // of the first image
  std::function<void(std::int64_t done, std::int64_t total)> progress = {};  // steps of batches
  std::function<bool()> stop = {};
};

struct Generated {
  Tensor images;                     // (n, c, h, w) in [0, 1] on the host, class after class
  std::vector<std::int64_t> labels;  // -1: no class
  visualise::Film film = {};         // what came of the noise, and what the network takes it for
};

/// Throws ConfigError for the run of a task that makes no images, and as Task::generate_images().
Generated generate(Run& run, const GenerateSettings& settings);

/// A row a class, with its name and up to 16 of its images. There is at least one image.
visualise::Canvas image_grid(const Generated& generated,
                             const std::vector<std::string>& class_names, const std::string& title);

/// What a picture of a run in training shows: the run's eval.samples of at most ten classes, spread
/// over all, with noise that is the same after every epoch. Nothing where the task makes no images
/// or eval.samples is 0.
std::optional<visualise::Canvas> epoch_samples(Run& run, const std::string& title);

/// Scores by the features and classes of a classifier (metrics/generation.h).
struct ProxyScores {
  double fid = 0, is_mean = 0, is_std = 0;
  std::int64_t images = 0, real = 0;
  std::int64_t splits = 0;  // parts of the inception score
  std::string part;         // of the classifier's data that the images are compared with
};
/// images: (n, c, h, w) in [0, 1] on the host, in any order; they are compared with the part that
/// the classifier's numbers are of. Throws ConfigError for a run that classifies no images or other
/// ones than these, and ShapeError for fewer than two images.
ProxyScores proxy_scores(Run& classifier, const Tensor& images);

}  // namespace fovea::experiment
