// Whether relevance lies on an object whose mask is known. explain B.9.
#pragma once

#include "explain/scores/score.h"

namespace fovea::explain {

/// Relevance of every pixel and the mask of the object, both (height, width); mask: not 0 = object.
struct MaskedMap {
  std::span<const double> map;
  std::span<const std::uint8_t> mask;
  std::int64_t height = 0, width = 0;
};

// Scores of one map. NaN for an empty mask. They throw ShapeError unless map and mask have a value
// for every pixel, and NumericError for NaN in a map.

/// The pointing game (Zhang et al. 2016): 1 if any place of the largest value lies in the mask, or
/// no farther than `tolerance` pixels from it; else 0.
double pointing_game(const MaskedMap& m, double tolerance);
/// The share of positive relevance in the mask; NaN if nothing is positive.
double energy_inside(const MaskedMap& m);
/// The share of all relevance, negative values too (Quantus's RelevanceMassAccuracy).
double mass_inside(const MaskedMap& m);
/// The share of the places with the largest relevance, as many as the mask has pixels, in the mask.
double rank_accuracy(const MaskedMap& m);
/// The area under the ROC curve of relevance against the mask; NaN for a mask of the whole image.
double roc_of_mask(const MaskedMap& m);

/// Whether relevance is the same everywhere, as of a method whose positive part is nothing. Such a
/// map locates nothing, and the conventions for ties would make good numbers of it: its largest
/// value lies in every mask. The scores of localisation are then not defined.
bool is_flat(std::span<const double> relevance);

/// Relevance of units at the size of their image, bilinear.
std::vector<double> enlarged(std::span<const double> relevance, const Units& units);

}  // namespace fovea::explain
