// The input of a block of the output is copied with room for all taps (tap_layout.h), so that it is
// read where it lies, once for every tap, and no matrix of patches is made. Register tiles of
// output channels and positions; positions are lanes. The gradient of x is the same over dy, for
// each remainder of a place by the strides with the taps that reach it; results of the remainders
// are then put together. A sum has kPanelDepth terms at most before it is added to others, in their
// order.
#include "backend/cpu/conv/conv_lines.h"

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

#include "backend/cpu/conv/conv_source.h"
#include "backend/cpu/conv/tap_layout.h"
#include "backend/cpu/pieces.h"

namespace fovea::cpu {
namespace {

using simd::kPackedRows;
using simd::kPanelDepth;

constexpr std::int64_t kResults = 1 << 17;  // of a block

// The terms of a result in equal chunks, of whole channels where kernels are not too large.
class Terms {
 public:
  /// Of `taps` for each channel. Chunks are as if there were `most` taps.
  Terms(std::int64_t channels, std::int64_t taps, std::int64_t most)
      : taps_(taps), all_(channels * taps) {
    const std::int64_t unit = most <= kPanelDepth ? taps : 1, units = all_ / unit;
    const std::int64_t room = most <= kPanelDepth ? kPanelDepth / most : kPanelDepth;
    size_ = divide_up(units, divide_up(units, room)) * unit;
  }
  std::int64_t all() const { return all_; }
  std::int64_t most() const { return size_; }
  std::int64_t chunks() const { return divide_up(all_, size_); }
  std::int64_t first(std::int64_t chunk) const { return chunk * size_; }
  std::int64_t count(std::int64_t chunk) const { return std::min(size_, all_ - first(chunk)); }
  std::int64_t first_channel(std::int64_t chunk) const { return first(chunk) / taps_; }
  std::int64_t channels(std::int64_t chunk) const {
    return (first(chunk) + count(chunk) - 1) / taps_ + 1 - first_channel(chunk);
  }
  bool same_channels(std::int64_t a, std::int64_t b) const {
    return first_channel(a) == first_channel(b) && channels(a) == channels(b);
  }
  std::int64_t most_channels() const {
    std::int64_t most = 0;
    for (std::int64_t chunk = 0; chunk < chunks(); ++chunk) most = std::max(most, channels(chunk));
    return most;
  }
  /// Of all terms, in copies of their chunk's channels. `taps`: which of the layout's, in order.
  std::vector<std::int64_t> distances(const TapLayout& layout,
                                      const std::vector<std::int64_t>& taps) const {
    std::vector<std::int64_t> distances;
    for (std::int64_t term = 0; term < all_; ++term) {
      const std::int64_t channel = term / taps_ - first_channel(term / size_);
      distances.push_back(layout.distance(channel, taps[static_cast<std::size_t>(term % taps_)]));
    }
    return distances;
  }

 private:
  std::int64_t taps_, all_, size_ = 1;
};

// Output channels of a group in blocks whose weights stay in the second-level cache.
class ChannelBlocks {
 public:
  ChannelBlocks(std::int64_t channels, std::int64_t least_blocks) : channels_(channels) {
    constexpr std::int64_t kMost = 252;
    const std::int64_t blocks = std::max(least_blocks, divide_up(channels, kMost));
    size_ = round_up(divide_up(channels, blocks), kPackedRows);
  }
  std::int64_t count() const { return divide_up(channels_, size_); }
  std::int64_t first(std::int64_t i) const { return i * size_; }
  std::int64_t channels(std::int64_t i) const { return std::min(size_, channels_ - first(i)); }
  std::int64_t most() const { return size_; }

 private:
  std::int64_t channels_, size_;
};

// Weights of all groups, blocks of channels and chunks of terms. A row of the weight has all terms.
template <class T>
class PackedWeight {
 public:
  PackedWeight(ThreadPool& pool, const ConvGeometry& g, const Terms& terms,
               const ChannelBlocks& blocks, const Tensor& weight)
      : chunks_(terms.chunks()),
        blocks_(blocks.count()),
        size_(blocks.most() * terms.most() + simd::kSlack),
        memory_(scratch<T>(g.groups * chunks_ * blocks_ * size_, weight)) {
    pool.run(g.groups * chunks_ * blocks_, [&](std::int64_t i) {
      const std::int64_t block = i % blocks_, chunk = i / blocks_ % chunks_;
      const std::int64_t row = i / blocks_ / chunks_ * g.c_out + blocks.first(block);
      simd::kernels().of<T>().pack_conv_rows(
          weight.data<T>() + row * terms.all() + terms.first(chunk), terms.all(),
          blocks.channels(block), terms.count(chunk), memory_.template data<T>() + i * size_);
    });
  }
  const T* at(std::int64_t group, std::int64_t chunk, std::int64_t block) const {
    return memory_.template data<T>() + ((group * chunks_ + chunk) * blocks_ + block) * size_;
  }

 private:
  std::int64_t chunks_, blocks_, size_;
  Tensor memory_;
};

// The most positions of a block, each with `results` results of a channel.
std::int64_t most_positions(const ConvGeometry& g, const Terms& terms, std::int64_t results) {
  constexpr std::int64_t kLeast = 64, kMost = 1024;
  std::int64_t copied = terms.most_channels();
  for (std::size_t axis = 0; axis < 3; ++axis) copied *= std::min(g.stride[axis], g.reach(axis));
  return std::clamp(std::min(kCopyElements / copied, kResults / (g.c_out * results)), kLeast,
                    kMost);
}

// Where threads have few pieces, output channels are divided too, and copies made more than once.
std::int64_t piece_channel_blocks(const ConvGeometry& g, std::int64_t pieces, int threads) {
  constexpr std::int64_t kLeastChannels = 64;
  const std::int64_t wanted = threads == 1 ? 1 : 2 * threads;
  return std::clamp<std::int64_t>(divide_up(wanted, pieces), 1,
                                  std::max<std::int64_t>(1, g.c_out / kLeastChannels));
}

// Taps of which each result is a sum. All sets have as many chunks, of the same channels.
template <class T>
struct TapSet {
  Terms terms;
  std::vector<std::int64_t> distances;
  PackedWeight<T> weight;
};

// The sums of sets of taps for a block of positions and some output channels of a group. A piece of
// work has a block and a group, and some of the channels or all.
template <class T>
class TapSums {
 public:
  TapSums(const ConvGeometry& g, const TapLayout& layout, const Tensor& x, int threads)
      : g_(g),
        layout_(layout),
        source_({.x = x}),
        parts_(piece_channel_blocks(g, layout.blocks() * g.groups, threads)),
        channels_(g.c_out, parts_) {}

  const ChannelBlocks& channels() const { return channels_; }
  void add(TapSet<T> set) { sets_.push_back(std::move(set)); }

  /// Calls use(block, group, first channel, channels, copy): a copy has copy_size() elements, and
  /// `behind` others follow it for each channel of a piece.
  template <class Use>
  void run(ThreadPool& pool, std::int64_t behind, const Tensor& like, const Use& use) const {
    const std::int64_t pieces = layout_.blocks() * g_.groups;
    // Blocks of channels are pieces of their own, or all of them are one.
    const std::int64_t parts = parts_ > 1 ? channels_.count() : 1;
    const std::int64_t blocks = channels_.count() / parts;
    const std::int64_t most = std::min(g_.c_out, blocks * channels_.most());
    const std::int64_t size = copy_size() + most * behind;
    reserve<T>(pool, size, like);
    pool.run(pieces * parts, [&](std::int64_t piece) {
      const Tensor memory = scratch<T>(size, like);
      const std::int64_t at = piece / parts, first = channels_.first(piece % parts * blocks);
      use(layout_.block(at / g_.groups), at % g_.groups, first,
          std::min(blocks * channels_.most(), g_.c_out - first), memory.template data<T>());
    });
  }
  std::int64_t copy_size() const {
    return round_up(layout_.copy_size(sets_.front().terms.most_channels()), simd::kSlack);
  }

  /// Those of a set lie at result + its number * apart, those of a channel ldy apart. They are
  /// added to what is there where `begun`.
  void sum(const ConvBlock& block, std::int64_t group, std::int64_t first, std::int64_t channels,
           bool begun, T* copy, T* result, std::int64_t ldy, std::int64_t apart) const {
    simd::ConvLines<T> lines{.count = layout_.line_count(block),
                             .width = layout_.line_width(block),
                             .lines = layout_.lines().data(),
                             .x = copy};
    const Terms& terms = sets_.front().terms;
    for (std::int64_t chunk = 0; chunk < terms.chunks(); ++chunk) {
      if (chunk == 0 || !terms.same_channels(chunk, chunk - 1)) {
        layout_.copy<T>(source_, block, group * g_.c_in + terms.first_channel(chunk),
                        terms.channels(chunk), nullptr, copy);
      }
      for (std::size_t i = 0; i < sets_.size(); ++i) {
        const TapSet<T>& set = sets_[i];
        lines.terms = set.terms.count(chunk);
        lines.distances = set.distances.data() + set.terms.first(chunk);
        T* to = result + static_cast<std::int64_t>(i) * apart;
        for (std::int64_t c = first / channels_.most(); channels_.first(c) < first + channels;
             ++c) {
          simd::kernels().of<T>().conv_lines(
              lines, set.weight.at(group, chunk, c), channels_.channels(c),
              to + (channels_.first(c) - first) * ldy, ldy, chunk > 0 || begun);
        }
      }
    }
  }

 private:
  const ConvGeometry& g_;
  const TapLayout& layout_;
  ConvSource<T> source_;
  std::int64_t parts_;
  ChannelBlocks channels_;
  std::vector<TapSet<T>> sets_;
};

// A convolution g whose results are the places of one remainder by `stride`, for all remainders: a
// set of taps for each, in order. `terms`: those of a set.
template <class T>
class RemainderConvs {
 public:
  RemainderConvs(const ConvGeometry& g, const Axes& stride, const Axes& places, const Terms& terms,
                 const Tensor& x, int threads)
      : g_(g),
        stride_(stride),
        places_(places),
        layout_(TapLayout::of<T>(
            g, count() == 1 ? TapLayout::Lines::kVectors : TapLayout::Lines::kApart,
            most_positions(g, terms, count()))),
        sums_(g, layout_, x, threads) {}

  /// `taps`: their numbers in the kernel of g; a row of the weight has those of every channel.
  void add(ThreadPool& pool, const Terms& terms, const std::vector<std::int64_t>& taps,
           const Tensor& weight) {
    sums_.add({terms, terms.distances(layout_, taps),
               PackedWeight<T>(pool, g_, terms, sums_.channels(), weight)});
  }

  /// bias may be null.
  void run(ThreadPool& pool, const T* bias, const Tensor& y) const {
    const std::int64_t size = product(places_);
    const bool at_once = layout_.lines_are_rows();
    sums_.run(pool, count() * layout_.result_size(), y,
              [&](const ConvBlock& block, std::int64_t group, std::int64_t first,
                  std::int64_t channels, T* copy) {
                const std::int64_t plane = (block.item * g_.groups + group) * g_.c_out + first;
                T* to = y.data<T>() + plane * size;
                T* result = at_once ? to + layout_.place(block.begin) : copy + sums_.copy_size();
                const std::int64_t ld = at_once ? size : layout_.result_size();
                if (bias != nullptr)
                  begin(block, bias + group * g_.c_out + first, channels, result, ld);
                sums_.sum(block, group, first, channels, bias != nullptr, copy, result, ld,
                          channels * ld);
                if (!at_once) layout_.put(block, result, channels, stride_, places_, to);
              });
  }

 private:
  std::int64_t count() const { return product(stride_); }

  // Results begin with the bias.
  void begin(const ConvBlock& block, const T* bias, std::int64_t channels, T* result,
             std::int64_t ldy) const {
    for (std::int64_t c = 0; c < channels; ++c) {
      for (std::int64_t line = 0; line < layout_.line_count(block); ++line)
        std::fill_n(result + c * ldy + layout_.lines()[static_cast<std::size_t>(line)].y,
                    layout_.line_width(block), bias[c]);
    }
  }

  const ConvGeometry& g_;
  Axes stride_, places_;
  TapLayout layout_;
  TapSums<T> sums_;
};

// Taps along one axis that reach places of one remainder by the stride: position i of the remainder
// r is the place i stride + r, and tap k takes it to i + shift of the output.
struct Reaching {
  std::vector<std::int64_t> taps, shifts;
};

// All remainders of each axis.
class Remainders {
 public:
  explicit Remainders(const ConvGeometry& g) {
    for (std::size_t axis = 0; axis < 3; ++axis) {
      const std::int64_t stride = g.stride[axis];
      axes_[axis].resize(static_cast<std::size_t>(stride));
      for (std::int64_t k = 0; k < g.kernel[axis]; ++k) {
        const std::int64_t at =
            g.padding[axis] - k * g.dilation[axis];  // from place to output stride
        const std::int64_t r = (-at % stride + stride) % stride;
        Reaching& of = axes_[axis][static_cast<std::size_t>(r)];
        of.taps.push_back(k);
        of.shifts.push_back((r + at) / stride);
      }
    }
  }
  const std::vector<Reaching>& operator[](std::size_t axis) const { return axes_[axis]; }
  /// Taps that reach a place, at most; 0 if there are places that none reaches.
  std::int64_t most_taps() const {
    std::int64_t most = 1;
    for (const std::vector<Reaching>& axis : axes_) {
      const auto fewer = [](const Reaching& a, const Reaching& b) {
        return a.taps.size() < b.taps.size();
      };
      const auto [few, many] = std::minmax_element(axis.begin(), axis.end(), fewer);
      most *= few->taps.empty() ? 0 : std::ssize(many->taps);
    }
    return most;
  }

 private:
  std::array<std::vector<Reaching>, 3> axes_;
};

// The convolution over dy that gives one remainder of every axis, with a tap for each shift.
ConvGeometry over_outputs(const ConvGeometry& g, const Remainders& remainders) {
  ConvGeometry r = g;
  std::swap(r.c_in, r.c_out);
  r.in = g.out;
  r.stride = r.dilation = {1, 1, 1};
  for (std::size_t axis = 0; axis < 3; ++axis) {
    std::int64_t least = std::numeric_limits<std::int64_t>::max(), most = -least;
    for (const Reaching& of : remainders[axis]) {
      for (const std::int64_t shift : of.shifts) {
        least = std::min(least, shift);
        most = std::max(most, shift);
      }
    }
    r.out[axis] = divide_up(g.in[axis], g.stride[axis]);
    r.kernel[axis] = most - least + 1;
    r.padding[axis] = -least;
  }
  return r;
}

// The same along all axes: taps of the kernel of g, and those of r that stand for their shifts.
Reaching along_all(const ConvGeometry& g, const ConvGeometry& r, const Reaching& d,
                   const Reaching& h, const Reaching& w) {
  Reaching all;
  for (std::size_t i = 0; i < d.taps.size(); ++i) {
    for (std::size_t j = 0; j < h.taps.size(); ++j) {
      for (std::size_t k = 0; k < w.taps.size(); ++k) {
        all.taps.push_back((d.taps[i] * g.kernel[1] + h.taps[j]) * g.kernel[2] + w.taps[k]);
        all.shifts.push_back(
            ((d.shifts[i] + r.padding[0]) * r.kernel[1] + h.shifts[j] + r.padding[1]) *
                r.kernel[2] +
            w.shifts[k] + r.padding[2]);
      }
    }
  }
  return all;
}

// The given taps of a weight: rows of the inputs' channels, of each output channel its taps. Some
// rows side by side, or lines of memory that several of them have would be read again for each.
template <class T>
Tensor turned_weight(ThreadPool& pool, const ConvGeometry& g, const Tensor& weight,
                     const std::vector<std::int64_t>& taps) {
  constexpr std::int64_t kRows = 16;
  const std::int64_t all = g.taps(), count = std::ssize(taps), row = g.c_out * count;
  const std::int64_t blocks = divide_up(g.c_in, kRows);
  const Tensor result = scratch<T>(g.groups * g.c_in * row, weight);
  pool.run(g.groups * blocks, [&](std::int64_t i) {
    const std::int64_t group = i / blocks, first = i % blocks * kRows;
    const std::int64_t end = std::min(first + kRows, g.c_in);
    for (std::int64_t o = 0; o < g.c_out; ++o) {
      const T* from = weight.data<T>() + (group * g.c_out + o) * g.c_in * all;
      T* to = result.data<T>() + group * g.c_in * row + o * count;
      for (std::int64_t channel = first; channel < end; ++channel) {
        for (std::int64_t t = 0; t < count; ++t)
          to[channel * row + t] = from[channel * all + taps[static_cast<std::size_t>(t)]];
      }
    }
  });
  return result;
}

}  // namespace

template <class T>
void lines_forward(ThreadPool& pool, const ConvGeometry& g, const Tensor& x, const Tensor& weight,
                   const T* bias, const Tensor& y) {
  const Terms terms(g.c_in, g.taps(), g.taps());
  std::vector<std::int64_t> taps(static_cast<std::size_t>(g.taps()));
  std::iota(taps.begin(), taps.end(), std::int64_t{0});
  RemainderConvs<T> convs(g, {1, 1, 1}, g.out, terms, x, pool.threads());
  convs.add(pool, terms, taps, weight);
  convs.run(pool, bias, y);
}

bool lines_reach_all(const ConvGeometry& g) {
  const std::int64_t taps = Remainders(g).most_taps();
  return g.unit_stride() || (taps > 1 && taps <= kPanelDepth);
}

template <class T>
void lines_backward_data(ThreadPool& pool, const ConvGeometry& g, const Tensor& weight,
                         const Tensor& dy, const Tensor& dx) {
  const Remainders remainders(g);
  const std::int64_t most = remainders.most_taps();
  const ConvGeometry r = over_outputs(g, remainders);
  RemainderConvs<T> convs(r, g.stride, g.in, {g.c_out, most, most}, dy, pool.threads());
  for (const Reaching& d : remainders[0]) {
    for (const Reaching& h : remainders[1]) {
      for (const Reaching& w : remainders[2]) {
        const Reaching of = along_all(g, r, d, h, w);
        convs.add(pool, {g.c_out, std::ssize(of.taps), most}, of.shifts,
                  turned_weight<T>(pool, g, weight, of.taps));
      }
    }
  }
  convs.run(pool, nullptr, dx);
}

#define FOVEA_INSTANTIATE(T)                                                                     \
  template void lines_forward<T>(ThreadPool&, const ConvGeometry&, const Tensor&, const Tensor&, \
                                 const T*, const Tensor&);                                       \
  template void lines_backward_data<T>(ThreadPool&, const ConvGeometry&, const Tensor&,          \
                                       const Tensor&, const Tensor&);
FOVEA_INSTANTIATE(float)
FOVEA_INSTANTIATE(double)
#undef FOVEA_INSTANTIATE

}  // namespace fovea::cpu
