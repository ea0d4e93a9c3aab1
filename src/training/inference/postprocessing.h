// What becomes of predicted labels before they are scored or written: small and stray parts are
// removed, as nnU-Net's post-processing does.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "metrics/confusion.h"
#include "metrics/masks/components.h"
#include "schema/json/value.h"
#include "tensor/tensor.h"

namespace fovea::training {

/// By words.
struct PostprocessingOptions {
  /// Names of classes or regions of which the largest component stays, one after the other;
  /// "foreground" for all of them together, "each" for every one by itself.
  std::vector<std::string> keep_largest;
  /// Components of a class or region that are smaller are removed: "50" pixels or voxels, "50mm2",
  /// "50mm3"; "" for none.
  std::string min_size;

  bool empty() const { return keep_largest.empty() && min_size.empty(); }
  bool operator==(const PostprocessingOptions&) const = default;
  /// "largest component of foreground, liver; components of at least 50mm3".
  std::string text() const;
};
/// {"keep_largest": [...], "min_size": "..."}; the inverse throws ConfigError.
schema::Value to_value(const PostprocessingOptions& options);
PostprocessingOptions postprocessing_from(const schema::Value& value);

/// By labels, of which 0 is the background.
struct Postprocessing {
  PostprocessingOptions options;                        // that it was made of
  std::vector<std::vector<std::int64_t>> keep_largest;  // labels that are taken together
  std::vector<std::vector<std::int64_t>> sized;         // likewise of those that min_size is about
  double min_size = 0;
  int millimetre_axes = 0;  // 2: mm2, 3: mm3; 0: pixels

  bool empty() const { return keep_largest.empty() && sized.empty(); }
};

/// names: of what is scored, with its labels; the first `first` of them are the background. Throws
/// ConfigError for an unknown name, a size that is none, and data without a background.
Postprocessing make_postprocessing(const PostprocessingOptions& options,
                                   const std::vector<std::string>& names,
                                   const metrics::LabelSets& labels, std::size_t first);

/// Applies it in place, first what keeps the largest, then what removes the small. Of components of
/// equal size all stay, as in nnU-Net. grid: with its spacing in millimetres where `min_size` is in
/// these. Throws ConfigError where that is not known, or has other axes.
void postprocess(const Postprocessing& how, std::span<std::int64_t> labels,
                 const metrics::Grid& grid);
void postprocess(const Postprocessing& how, std::span<std::uint8_t> labels,
                 const metrics::Grid& grid);

/// The same of labels (spatial...) int64 on the host, perhaps with the axis of a batch of one
/// before them; spacing: in millimetres, one an axis, or nothing.
Tensor postprocessed(const Postprocessing& how, const Tensor& labels,
                     const std::vector<std::int64_t>& size,
                     const std::optional<std::vector<double>>& spacing);

}  // namespace fovea::training
