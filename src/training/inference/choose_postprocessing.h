// Which post-processing improves predictions whose truth is known: nnU-Net's rule
// (determine_postprocessing).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "training/inference/postprocessing.h"

namespace fovea::training {

struct PostprocessingChoice {
  /// Something that was tried on top of what had been taken before.
  struct Step {
    std::string keep_largest;      // "foreground", or a class or region
    double before = 0, after = 0;  // Dice that it is judged by, 0 to 1
    bool taken = false;
  };
  PostprocessingOptions options;
  std::vector<Step> steps;
  std::int64_t cases = 0;
};

/// First the largest component of the foreground, which is taken where it makes the mean over the
/// classes of Dice larger and that of no class smaller; then, of several classes or regions, that
/// of each in their order, taken where it makes the Dice of this one larger. Dice of a class is the
/// mean over the cases that have it in truth or prediction; classes that no case has are left out.
class PostprocessingChooser {
 public:
  /// What is scored, as make_postprocessing() takes it, and throws as it does.
  PostprocessingChooser(std::vector<std::string> names, metrics::LabelSets labels,
                        std::size_t first);
  /// A case; it is kept compressed. Labels of truth below 0 do not count.
  void add(std::span<const std::int64_t> truth, std::span<const std::int64_t> predicted,
           const metrics::Grid& grid);
  PostprocessingChoice choose() const;

 private:
  struct Case {
    std::string truth, predicted;  // a byte a pixel, compressed
    metrics::Grid grid;
  };
  // Of each class the mean over the cases.
  std::vector<double> dice_with(const PostprocessingOptions& options) const;

  std::vector<std::string> names_;
  metrics::LabelSets labels_;
  std::size_t first_;
  std::vector<Case> cases_;
};

}  // namespace fovea::training
