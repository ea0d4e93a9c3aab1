// Copies of parts of a convolution's input with zeros around them, in which every tap of the kernel
// is a distance: what a tap reads for positions that lie next to each other lies next to each other
// too. With a stride, columns (rows, slices) of each remainder lie apart from the others.
#pragma once

#include <vector>

#include "backend/cpu/conv/conv_geometry.h"
#include "backend/cpu/conv/conv_source.h"

namespace fovea::cpu {

/// Elements that a copy has, about: it stays in the second-level cache.
inline constexpr std::int64_t kCopyElements = 1 << 15;

/// Output positions of some items, an interval of each axis.
struct ConvBlock {
  std::int64_t item = 0, items = 0;
  Axes begin{}, size{};
  std::int64_t positions() const { return items * product(size); }
};

/// How the output is cut into blocks, and how the copy of a block's input is laid out.
class TapLayout {
 public:
  /// What the lines of a block are: rows of the output, or stretches of whole vectors, in which
  /// some positions between rows may have no meaning. Results of kApart are never rows of y.
  enum class Lines { kRows, kVectors, kApart };
  /// `most`: positions of a block. T: what is copied.
  template <class T>
  static TapLayout of(const ConvGeometry& g, Lines lines, std::int64_t most) {
    return {g, lines == Lines::kRows ? 1 : simd::kernels().lanes<T>(), lines != Lines::kApart,
            most};
  }

  std::int64_t blocks() const;
  ConvBlock block(std::int64_t i) const;
  std::int64_t block_positions() const { return whole_.positions(); }

  /// Where a position lies in a plane of the output.
  std::int64_t place(const Axes& position) const {
    return (position[0] * g_.out[1] + position[1]) * g_.out[2] + position[2];
  }

  /// Elements of the copy of one channel, and of so many, with what may be touched behind them.
  std::int64_t channel_size() const { return channel_; }
  std::int64_t copy_size(std::int64_t channels) const {
    return channels * channel_ + 2 * simd::kSlack + more_[2] * mixed_;
  }
  /// Elements that copy() needs to make its input.
  std::int64_t made_size() const;
  /// Copies the input of a block, `channels` planes from `first` on.
  template <class T>
  void copy(const ConvSource<T>& source, const ConvBlock& block, std::int64_t first,
            std::int64_t channels, T* made, T* to) const;

  /// How far behind a position's place the input of a tap of a channel is.
  std::int64_t distance(std::int64_t channel, std::int64_t tap) const;
  /// A block's lines, from their first to their last position. Results of lines that are rows of y
  /// lie where the block begins in y.
  const std::vector<simd::ConvLine>& lines() const { return lines_; }
  std::int64_t line_count(const ConvBlock& block) const;
  std::int64_t line_width(const ConvBlock& block) const;

  /// Otherwise they lie in memory of their own, with so many elements a channel, and put() takes
  /// them to maps of the size `in`, of which the block's first item and channel is at y. A position
  /// is a cell of as many places as `stride` says along each axis; results for the place r of all
  /// cells are `channels` channels from r * channels on.
  bool lines_are_rows() const { return rows_; }
  std::int64_t result_size() const { return rows_ ? 0 : all_lines_ * line_size_; }
  template <class T>
  void put(const ConvBlock& block, const T* result, std::int64_t channels, const Axes& stride,
           const Axes& in, T* y) const;

 private:
  TapLayout(const ConvGeometry& g, std::int64_t lanes, bool may_be_rows, std::int64_t most);
  void cut(bool may_be_rows, std::int64_t most);
  void lay_out();
  void list_lines();
  std::int64_t stretch(const ConvBlock& block) const {
    return (block.size[1] - 1) * step_[1] + block.size[2] * step_[2];
  }
  template <class T>
  void copy_slice(const T* rows, std::int64_t first, std::int64_t last, const ConvBlock& block,
                  T* to) const;
  template <class T>
  void copy_rows(const T* from, Valid given, std::int64_t places, std::int64_t phase,
                 const ConvBlock& block, T* to) const;

  ConvGeometry g_;
  std::int64_t lanes_;
  ConvBlock whole_;         // sizes of all blocks but the last ones
  Axes phases_{}, more_{};  // remainders; places behind the last position that a tap reads
  Axes phase_{}, step_{};   // distances
  std::int64_t item_ = 0, channel_ = 0;
  std::int64_t mixed_ = 1;  // items of small maps that lie element by element next to each other
  bool rows_ = false;
  std::int64_t all_lines_ = 0, line_size_ = 0;
  std::vector<simd::ConvLine> lines_;
};

}  // namespace fovea::cpu
