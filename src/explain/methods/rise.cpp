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

// The masks of every sample: those of the request, or random ones, which are drawn when they are
// wanted, as those of a batch together may be large.
class Masks {
 public:
  Masks(const ExplanationRequest& request, const RiseOptions& o) : request_(request), o_(o) {
    if (request.masks.defined()) given_ = host_doubles(request.masks);
  }
  std::int64_t count() const {
    return request_.masks.defined() ? request_.masks.size(0) : o_.masks;
  }
  /// Masks [first, last) of sample i: (last - first, h, w).
  std::vector<double> of_sample(std::int64_t i, std::int64_t first, std::int64_t last) const {
    const GridSize size = request_.subject.size();
    if (request_.masks.defined())
      return {given_.begin() + first * size.count(), given_.begin() + last * size.count()};
    const RandomStream stream = request_.random[as_index(i)].fork("rise");
    std::vector<double> masks;
    for (std::int64_t k = first; k < last; ++k) {
      const auto mask = random_mask(size, o_, stream.fork(as_index(k)));
      masks.insert(masks.end(), mask.begin(), mask.end());
    }
    return masks;
  }

 private:
  const ExplanationRequest& request_;
  const RiseOptions& o_;
  std::vector<double> given_;
};

// Probabilities of the targets behind each mask: (N, b).
std::vector<double> masked_scores(const ExplanationRequest& request, const RiseOptions& o,
                                  const Masks& masks) {
  const Subject& subject = request.subject;
  const Tensor& x = subject.x();
  const Tensor base = baseline_of(request, o, "rise");
  const std::int64_t b = subject.batch();
  std::vector<double> scores;
  for (std::int64_t first = 0; first < masks.count(); first += groups_of(request)) {
    const std::int64_t last = std::min(masks.count(), first + groups_of(request));
    std::vector<double> all;
    for (std::int64_t k = first; k < last; ++k) {
      for (std::int64_t i = 0; i < b; ++i) {
        const auto mask = masks.of_sample(i, k, k + 1);
        all.insert(all.end(), mask.begin(), mask.end());
      }
    }
    const Tensor mask =
        from_doubles(all, {(last - first) * b, 1, x.size(2), x.size(3)}, x.dtype(), x.device());
    const Tensor masked =
        ops::add(ops::mul(repeated(x, last - first), mask),
                 ops::mul(repeated(base, last - first), ops::affine(mask, -1, 1)));
    const auto found = subject.target_scores(masked, request.targets, /*probabilities=*/true);
    scores.insert(scores.end(), found.begin(), found.end());
  }
  return scores;
}

Explanation rise(const ExplanationRequest& request, const RiseOptions& o) {
  const Subject& subject = request.subject;
  FOVEA_CHECK(
      !subject.reads_text() && !subject.segments(), ConfigError,
      "rise: watches the probability of a class of images; expected a classifier of images");
  const Masks masks(request, o);
  const std::vector<double> scores = masked_scores(request, o, masks);
  const std::int64_t count = masks.count(), b = subject.batch();
  Explanation result{{}, subject.size()};
  for (std::int64_t i = 0; i < b; ++i) {
    std::vector<double> of_item;
    for (std::int64_t k = 0; k < count; ++k) of_item.push_back(scores[as_index(k * b + i)]);
    const std::vector<double> map = rise_map(masks.of_sample(i, 0, count), of_item, o.keep);
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
