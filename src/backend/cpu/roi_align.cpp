// RoIAlign, a few planes at a time: a plane stays in the caches while all boxes of its item read
// it, or add their gradients to it in their order. Boxes overlap, planes do not.
#include <vector>

#include "backend/cpu/cpu_backend.h"
#include "backend/cpu/pieces.h"
#include "backend/cpu/products/compute_plane.h"
#include "backend/cpu/simd/simd.h"
#include "backend/roi_taps.h"

namespace fovea::cpu {
namespace {

constexpr std::int64_t kPlanes = 8;   // of a piece
constexpr std::int64_t kBoxes = 128;  // of a piece of the forward pass

// The bins of all boxes along one axis.
template <class C>
class RoiBins {
 public:
  RoiBins(const RoiAlignArgs& args, int axis, std::int64_t bins, std::int64_t length)
      : bins_(bins) {
    const std::int64_t n = args.boxes.size(0);
    std::vector<std::int64_t> begins;
    for (std::int64_t i = 0; i < n; ++i) {
      const RoiSide side = roi_side(args.boxes.data<float>() + 5 * i, axis, args.scale, bins,
                                    args.sampling_ratio, length);
      const std::size_t first = all_.size();
      all_.resize(first + static_cast<std::size_t>(bins), {length, 0, nullptr});
      // (count is where the bin ends, until both are known.)
      for_roi_taps(side, [&](std::int64_t b, std::int64_t pixel, double) {
        simd::RoiBin<C>& bin = all_[first + static_cast<std::size_t>(b)];
        bin.first = std::min(bin.first, pixel);
        bin.count = std::max(bin.count, pixel + 1);
      });
      for (std::size_t b = first; b < all_.size(); ++b) {
        all_[b].count = std::max<std::int64_t>(0, all_[b].count - all_[b].first);
        if (all_[b].count == 0) all_[b].first = 0;
        begins.push_back(std::ssize(weights_));
        weights_.resize(weights_.size() + static_cast<std::size_t>(all_[b].count));
      }
      for_roi_taps(side, [&](std::int64_t b, std::int64_t pixel, double weight) {
        const std::size_t at = first + static_cast<std::size_t>(b);
        weights_[static_cast<std::size_t>(begins[at] + pixel - all_[at].first)] +=
            static_cast<C>(weight);
      });
    }
    for (std::size_t b = 0; b < all_.size(); ++b) all_[b].weights = weights_.data() + begins[b];
  }
  const simd::RoiBin<C>* of(std::int64_t box) const { return all_.data() + box * bins_; }

 private:
  std::int64_t bins_;
  std::vector<simd::RoiBin<C>> all_;
  std::vector<C> weights_;
};

// Elements that the loops need for one box in planes of this width.
std::int64_t memory_size(std::int64_t width) {
  return simd::kRoiRows * divide_up(width, simd::kSlack) * simd::kSlack;
}

// What each box reads of planes (h, w) for bins (height, width), and the boxes of each item.
template <class C>
class RoiPlan {
 public:
  RoiPlan(const RoiAlignArgs& args, const Tensor& map, const Tensor& bins)
      : rows_(args, 0, bins.size(2), map.size(2)), across_(args, 1, bins.size(3), map.size(3)) {
    boxes_of_.resize(static_cast<std::size_t>(map.size(0)));
    for (std::int64_t i = 0; i < args.boxes.size(0); ++i) {
      simd::RoiReads<C> reads{.height = bins.size(2),
                              .width = bins.size(3),
                              .stride = map.size(3),
                              .rows = rows_.of(i),
                              .across = across_.of(i)};
      std::int64_t first = map.size(3), end = 0;
      for (std::int64_t b = 0; b < reads.width; ++b) {
        const simd::RoiBin<C>& bin = reads.across[b];
        if (bin.count == 0) continue;
        first = std::min(first, bin.first);
        end = std::max(end, bin.first + bin.count);
      }
      if (end > 0) {
        reads.first_column = first;
        reads.columns = end - first;
      }
      reads_.push_back(reads);
      const auto item = static_cast<std::size_t>(args.boxes.data<float>()[5 * i]);
      boxes_of_[item].push_back(i);
    }
  }
  const simd::RoiReads<C>& reads(std::int64_t box) const {
    return reads_[static_cast<std::size_t>(box)];
  }
  const std::vector<std::int64_t>& boxes_of(std::int64_t item) const {
    return boxes_of_[static_cast<std::size_t>(item)];
  }

 private:
  RoiBins<C> rows_, across_;
  std::vector<simd::RoiReads<C>> reads_;
  std::vector<std::vector<std::int64_t>> boxes_of_;
};

}  // namespace

void CpuBackend::roi_align(const RoiAlignArgs& args, const Tensor& x, const Tensor& y) const {
  if (y.numel() == 0 || args.boxes.size(0) == 0) return;
  const std::int64_t c = x.size(1), plane = x.size(2) * x.size(3), bins = y.size(2) * y.size(3);
  const std::int64_t blocks = divide_up(c, kPlanes);
  const std::int64_t* rows = args.rows.data<std::int64_t>();
  dispatch_stored("roi_align", x.dtype(), [&]<class S>(S) {
    using C = Compute<S>;
    const RoiPlan<C> plan(args, x, y);
    struct Piece {
      std::int64_t item, block, first;
    };
    std::vector<Piece> pieces;
    for (std::int64_t item = 0; item < x.size(0); ++item) {
      for (std::int64_t block = 0; block < blocks; ++block) {
        for (std::int64_t first = 0; first < std::ssize(plan.boxes_of(item)); first += kBoxes)
          pieces.push_back({item, block, first});
      }
    }
    pool_.run(std::ssize(pieces), [&](std::int64_t number) {
      const auto& [item, block, first] = pieces[static_cast<std::size_t>(number)];
      const std::vector<std::int64_t>& boxes = plan.boxes_of(item);
      const Tensor memory = scratch<C>(memory_size(x.size(3)), x);
      const std::int64_t end = std::min(std::ssize(boxes), first + kBoxes);
      for (std::int64_t i = first; i < end; ++i) {
        const std::int64_t box = boxes[static_cast<std::size_t>(i)];
        for (std::int64_t k = block * kPlanes; k < std::min(c, (block + 1) * kPlanes); ++k) {
          simd::kernels().of<S>().roi_bins(plan.reads(box), x.data<S>() + (item * c + k) * plane,
                                           memory.template data<C>(),
                                           y.data<S>() + (rows[box] * c + k) * bins);
        }
      }
    });
  });
}

void CpuBackend::roi_align_backward(const RoiAlignArgs& args, const Tensor& dy,
                                    const Tensor& dx) const {
  if (dx.numel() == 0) return;
  const std::int64_t c = dx.size(1), plane = dx.size(2) * dx.size(3);
  const std::int64_t bins = dy.size(2) * dy.size(3), blocks = divide_up(c, kPlanes);
  const std::int64_t* rows = args.rows.data<std::int64_t>();
  dispatch_stored("roi_align_backward", dx.dtype(), [&]<class S>(S) {
    using C = Compute<S>;
    const RoiPlan<C> plan(args, dx, dy);
    pool_.run(dx.size(0) * blocks, [&](std::int64_t piece) {
      const std::int64_t item = piece / blocks;
      const std::int64_t first = piece % blocks * kPlanes;
      const std::int64_t count = std::min(kPlanes, c - first);
      const std::int64_t copy = args.add ? count * plane : copy_size<S>(count * plane);
      const Tensor memory = scratch<C>(copy + memory_size(dx.size(3)), dx);
      S* to = dx.data<S>() + (item * c + first) * plane;
      C* sums = args.add ? memory.template data<C>() : room_for(to, memory.template data<C>());
      std::fill_n(sums, count * plane, C{0});
      for (const std::int64_t box : plan.boxes_of(item)) {
        for (std::int64_t k = 0; k < count; ++k) {
          simd::kernels().of<S>().roi_bins_backward(
              plan.reads(box), dy.data<S>() + (rows[box] * c + first + k) * bins,
              memory.template data<C>() + copy, sums + k * plane);
        }
      }
      if (!args.add) return narrowed(sums, count * plane, to);
      for (std::int64_t i = 0; i < count * plane; ++i)
        to[i] = static_cast<S>(static_cast<C>(to[i]) + sums[i]);
    });
  });
}

}  // namespace fovea::cpu
