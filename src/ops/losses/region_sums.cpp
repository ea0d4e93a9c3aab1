#include "ops/losses/region_sums.h"

#include "autograd/graph.h"
#include "backend/backend.h"
#include "ops/create.h"

namespace fovea::ops {

RegionSums region_sums(const RegionArgs& given) {
  autograd::Op op("region_sums", {given.logits});
  const std::int64_t items = given.logits.size(0);
  const Shape classes{items, given.logits.size(1)};
  const DType dtype = compute_dtype(given.logits.dtype());
  const auto empty = [&](const Shape& shape) {
    return Tensor::empty(shape, dtype, given.logits.device());
  };
  const RegionSums sums{empty(classes), empty(classes), empty(classes), empty(classes),
                        empty({items})};
  backend(given.logits).region_sums({.of = given, .to = sums});
  RegionArgs of = given;  // logits are all that is kept
  of.logits = op.keep(given.logits);
  of.target = op.keep(given.target);
  const std::vector<Tensor> results =
      op.outputs({sums.both, sums.sums, sums.squares, sums.surprise},
                 [=](const std::vector<Tensor>& upstream, autograd::Gradients& in) {
                   const auto given_or_zero = [&](std::size_t i) {
                     if (upstream[i].defined()) return upstream[i];
                     return zeros(i < 3 ? classes : Shape{items}, dtype, of.logits.device());
                   };
                   Tensor dlogits = in.empty(0);
                   backend(of.logits).region_sums_backward({.of = of,
                                                            .dboth = given_or_zero(0),
                                                            .dsums = given_or_zero(1),
                                                            .dsquares = given_or_zero(2),
                                                            .dsurprise = given_or_zero(3),
                                                            .dlogits = dlogits});
                   in.add(0, std::move(dlogits));
                 });
  return {results[0], results[1], results[2], sums.labels, results[3]};
}

}  // namespace fovea::ops
