// Sums of the losses of regions, a stretch of pixels at a time. gdla 6.3.
#include <algorithm>
#include <vector>

#include "backend/cpu/pieces.h"
#include "backend/cpu/cpu_backend.h"
#include "backend/cpu/simd/simd.h"

namespace fovea::cpu {
namespace {

constexpr std::int64_t kStretch = 4096;  // pixels of a piece, which are summed in the compute type

// Calls body(item, piece, pixels, place of the first of them in the logits, memory for the loops).
template <class S, class Body>
void for_stretches(ThreadPool& pool, const RegionArgs& of, const Body& body) {
  const std::int64_t k = of.logits.size(1);
  const std::int64_t plane = of.logits.size(2);
  const std::int64_t of_item = divide_up(plane, kStretch);
  pool.run(of.logits.size(0) * of_item, [&](std::int64_t piece) {
    const std::int64_t item = piece / of_item;
    const std::int64_t first = piece % of_item * kStretch;
    const std::int64_t place = item * k * plane + first;
    const Tensor memory = scratch<Compute<S>>((5 * k + 1) * simd::kSlack, of.logits);
    const simd::RegionPixels<S> pixels{
        .sigmoid = of.sigmoid,
        .classes = k,
        .pixels = std::min(kStretch, plane - first),
        .plane = plane,
        .logits = of.logits.data<S>() + place,
        .target = of.target.data<std::int64_t>() + item * plane + first,
        .ignore_index = of.ignore_index};
    body(item, piece, pixels, place, memory.template data<Compute<S>>());
  });
}

}  // namespace

void CpuBackend::region_sums(const RegionSumsArgs& args) const {
  const RegionArgs& of = args.of;
  const std::int64_t items = of.logits.size(0);
  const std::int64_t k = of.logits.size(1);
  const std::int64_t of_item = divide_up(of.logits.size(2), kStretch);
  const std::int64_t size = 4 * k + 1;
  const Tensor parts =
      scratch<double>(size * std::max<std::int64_t>(1, items * of_item), of.logits);
  dispatch_stored("region_sums", of.logits.dtype(), [&]<class S>(S) {
    using C = Compute<S>;
    for_stretches<S>(
        pool_, of,
        [&](std::int64_t, std::int64_t piece, const auto& pixels, std::int64_t, C* memory) {
          simd::kernels().of<S>().region_sums(pixels, memory, parts.data<double>() + size * piece);
        });
    const RegionSums& to = args.to;
    C* const of_classes[] = {to.both.data<C>(), to.sums.data<C>(), to.squares.data<C>(),
                             to.labels.data<C>()};
    for (std::int64_t item = 0; item < items; ++item) {
      for (std::int64_t i = 0; i < size; ++i) {
        double sum = 0;
        for (std::int64_t piece = item * of_item; piece < (item + 1) * of_item; ++piece)
          sum += parts.data<double>()[size * piece + i];
        C& result = i < 4 * k ? of_classes[i / k][item * k + i % k] : to.surprise.data<C>()[item];
        result = static_cast<C>(sum);
      }
    }
  });
}

void CpuBackend::region_sums_backward(const RegionSumsBackwardArgs& args) const {
  const std::int64_t k = args.of.logits.size(1);
  dispatch_stored("region_sums_backward", args.of.logits.dtype(), [&]<class S>(S) {
    using C = Compute<S>;
    for_stretches<S>(
        pool_, args.of,
        [&](std::int64_t item, std::int64_t, const auto& pixels, std::int64_t place, C* memory) {
          const simd::RegionSlopes<C> slopes{.both = args.dboth.data<C>() + item * k,
                                             .sums = args.dsums.data<C>() + item * k,
                                             .squares = args.dsquares.data<C>() + item * k,
                                             .surprise = args.dsurprise.data<C>()[item]};
          simd::kernels().of<S>().region_gradient(pixels, memory, slopes,
                                                  args.dlogits.data<S>() + place);
        });
  });
}

// In one thread: an image has few rows, and counting is quick.
void CpuBackend::region_areas(const RegionAreasArgs& args) const {
  const std::int64_t k = args.area.numel();
  const std::int64_t h = args.target.size(1);
  const std::int64_t w = args.target.size(2);
  std::vector<std::int64_t> area(static_cast<std::size_t>(k)), boundary(area);
  const std::int64_t* label = args.target.data<std::int64_t>();
  for (std::int64_t row = 0; row < args.target.size(0) * h; ++row) {
    const bool edge = row % h == 0 || row % h == h - 1;
    for (std::int64_t column = 0; column < w; ++column, ++label) {
      if (*label < 0 || *label >= k) continue;
      const auto own = static_cast<std::size_t>(*label);
      ++area[own];
      const bool inside = !edge && column > 0 && column + 1 < w && label[-1] == *label &&
                          label[1] == *label && label[-w] == *label && label[w] == *label;
      boundary[own] += inside ? 0 : 1;
    }
  }
  std::copy(area.begin(), area.end(), args.area.data<double>());
  std::copy(boundary.begin(), boundary.end(), args.boundary.data<double>());
}

}  // namespace fovea::cpu
