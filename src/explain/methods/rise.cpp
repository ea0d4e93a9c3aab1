// The mean of random masks, each weighted by the probability of what it leaves. explain A.16.
#include <algorithm>

#include "base/error.h"
#include "explain/methods/places.h"
#include "ops/elementwise.h"
#include "ops/shape.h"
#include "tensor/host.h"
#include "visualise/drawing/heatmap.h"

namespace fovea::explain {
namespace {

struct RiseOptions : BaselineOptions {
  std::int64_t masks = 512;
  std::int64_t cells = 7;
  double keep = 0.5;
};

// A mask: cells x cells of 0 and 1, enlarged by whole cells and one more, and a crop of it.
std::vector<double> random_mask(const GridSize& size, const RiseOptions& o,
                                const RandomStream& stream) {
  Matrix cells{o.cells, o.cells, {}};
  const auto count = static_cast<std::uint64_t>(o.cells * o.cells);
  for (std::uint64_t i = 0; i < count; ++i)
    cells.values.push_back(stream.fork("cells").uniform(i) < o.keep ? 1 : 0);
  const std::int64_t h = (size.h + o.cells - 1) / o.cells, w = (size.w + o.cells - 1) / o.cells;
  const Matrix large = visualise::heat_map(cells, (o.cells + 1) * h, (o.cells + 1) * w, true);
  const std::int64_t top = stream.fork("offset").below(h, 0),
                     left = stream.fork("offset").below(w, 1);
  std::vector<double> mask;
  for (std::int64_t y = 0; y < size.h; ++y) {
    for (std::int64_t x = 0; x < size.w; ++x) mask.push_back(large.at(top + y, left + x));
  }
  return mask;
}

// Masks (N, 1, h, w) of the request, or random ones.
Tensor masks_of(const ExplanationRequest& request, const RiseOptions& o) {
  const GridSize size = request.subject.size();
  const Tensor& x = request.subject.x();
  if (request.masks.defined())
    return request.masks.alias({request.masks.size(0), 1, size.h, size.w});
  std::vector<double> all;
  for (std::int64_t k = 0; k < o.masks; ++k) {
    const auto mask =
        random_mask(size, o, request.random.fork("rise").fork(static_cast<std::uint64_t>(k)));
    all.insert(all.end(), mask.begin(), mask.end());
  }
  return from_doubles(all, {o.masks, 1, size.h, size.w}, x.dtype(), x.device());
}

Explanation rise(const ExplanationRequest& request, const RiseOptions& o) {
  const Subject& subject = request.subject;
  FOVEA_CHECK(
      !subject.reads_text() && !subject.segments(), ConfigError,
      "rise: watches the probability of a class of images; expected a classifier of images");
  const Tensor masks = masks_of(request, o);
  const Tensor base = baseline_of(request, o, "rise");
  const std::int64_t count = masks.size(0), b = subject.batch();
  std::vector<double> scores;  // (N, b)
  for (std::int64_t first = 0; first < count; first += groups_of(request)) {
    std::vector<Tensor> masked;
    for (std::int64_t k = first; k < std::min(count, first + groups_of(request)); ++k) {
      const Tensor mask = masks.rows(k, k + 1);
      masked.push_back(
          ops::add(ops::mul(subject.x(), mask), ops::mul(base, ops::affine(mask, -1, 1))));
    }
    const auto found =
        subject.target_scores(ops::concat(masked, 0), request.targets, /*probabilities=*/true);
    scores.insert(scores.end(), found.begin(), found.end());
  }
  const std::vector<double> values = host_doubles(masks);
  Explanation result{{}, subject.size()};
  for (std::int64_t i = 0; i < b; ++i) {
    std::vector<double> of_item;
    for (std::int64_t k = 0; k < count; ++k)
      of_item.push_back(scores[static_cast<std::size_t>(k * b + i)]);
    const std::vector<double> map = rise_map(values, of_item, o.keep);
    result.values.insert(result.values.end(), map.begin(), map.end());
  }
  return result;
}

schema::Fields<RiseOptions> rise_fields() {
  schema::Fields<RiseOptions> fields;
  fields.add("masks", &RiseOptions::masks, schema::at_least(1), "random masks")
      .add("cells", &RiseOptions::cells, schema::at_least(1), "cells along a side of a mask")
      .add("keep", &RiseOptions::keep, schema::in_range(0.01, 1),
           "probability that a cell is kept");
  return add_baseline(fields);
}

}  // namespace

FOVEA_EXPLANATION(rise,
                  {.title = "mean of random masks, weighted by the probability that is left",
                   .source = "Petsiuk et al., 2018",
                   .per_pixel = true},
                  rise_fields(), rise)

}  // namespace fovea::explain
