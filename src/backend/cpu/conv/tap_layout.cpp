#include "backend/cpu/conv/tap_layout.h"

#include <algorithm>

namespace fovea::cpu {

namespace {
// Maps of so many positions have items next to each other, or their vectors would be half empty.
constexpr std::int64_t kSmallMap = 16;
}  // namespace

TapLayout::TapLayout(const ConvGeometry& g, std::int64_t lanes, bool may_be_rows, std::int64_t most)
    : g_(g), lanes_(lanes) {
  cut(may_be_rows, most);
  lay_out();
  list_lines();
}

// Whole items, or whole slices of one, or whole rows of one, or parts of a row.
void TapLayout::cut(bool may_be_rows, std::int64_t most) {
  whole_.items = 1;
  whole_.size = {1, 1, 1};
  std::int64_t left = most;
  const auto take = [&](std::int64_t all) {
    const std::int64_t size = std::clamp<std::int64_t>(left, 1, all);
    left = size == all ? left / all : 0;
    return divide_up(all, divide_up(all, size));
  };
  whole_.size[2] = take(g_.out[2]);
  if (whole_.size[2] < g_.out[2])
    whole_.size[2] = std::min(g_.out[2], divide_up(whole_.size[2], simd::kSlack) * simd::kSlack);
  whole_.size[1] = take(g_.out[1]);
  whole_.size[0] = take(g_.out[0]);
  whole_.items = take(g_.batch);
  if (lanes_ > 1 && g_.out_size() <= kSmallMap) mixed_ = whole_.items;
  rows_ = may_be_rows && mixed_ == 1 && whole_.size[2] % lanes_ == 0 && g_.out[2] % lanes_ == 0;
}

void TapLayout::lay_out() {
  Axes places{};
  for (std::size_t axis = 0; axis < 3; ++axis) {
    phases_[axis] = std::min(g_.stride[axis], g_.reach(axis));
    more_[axis] = (g_.reach(axis) - 1) / g_.stride[axis];
    places[axis] = whole_.size[axis] + more_[axis];
  }
  // Zeros behind a row are those before the next one.
  if (g_.stride[2] == 1 && whole_.size[2] == g_.out[2]) {
    const std::int64_t before = g_.padding[2], behind = places[2] - before - g_.in[2];
    places[2] -= std::clamp<std::int64_t>(std::min(before, behind), 0, more_[2]);
  }
  step_[2] = mixed_;
  step_[1] = places[2] * step_[2];
  step_[0] = places[1] * step_[1];
  phase_[2] = places[0] * step_[0];
  phase_[1] = phases_[2] * phase_[2];
  phase_[0] = phases_[1] * phase_[1];
  item_ = mixed_ > 1 ? 1 : phases_[0] * phase_[0];
  // No power of two: channels would compete for few lines of the cache.
  channel_ = phases_[0] * phase_[0] * (mixed_ > 1 ? 1 : whole_.items) + simd::kSlack;
}

void TapLayout::list_lines() {
  const std::int64_t items = mixed_ > 1 ? 1 : whole_.items;
  const std::int64_t rows = rows_ ? whole_.size[1] : 1;
  all_lines_ = items * whole_.size[0] * rows;
  line_size_ = divide_up(stretch(whole_), simd::kSlack) * simd::kSlack;
  const std::int64_t y_item = g_.groups * g_.c_out * g_.out_size();
  for (std::int64_t line = 0; line < all_lines_; ++line) {
    const std::int64_t item = line / (whole_.size[0] * rows);
    const std::int64_t d = line / rows % whole_.size[0], h = line % rows;
    lines_.push_back({item * item_ + d * step_[0] + h * step_[1],
                      rows_ ? item * y_item + place({d, h, 0}) : line * line_size_});
  }
}

std::int64_t TapLayout::blocks() const {
  std::int64_t count = divide_up(g_.batch, whole_.items);
  for (std::size_t axis = 0; axis < 3; ++axis) count *= divide_up(g_.out[axis], whole_.size[axis]);
  return count;
}

ConvBlock TapLayout::block(std::int64_t i) const {
  ConvBlock block;
  for (std::size_t axis = 3; axis-- > 0;) {
    const std::int64_t count = divide_up(g_.out[axis], whole_.size[axis]);
    block.begin[axis] = i % count * whole_.size[axis];
    block.size[axis] = std::min(whole_.size[axis], g_.out[axis] - block.begin[axis]);
    i /= count;
  }
  block.item = i * whole_.items;
  block.items = std::min(whole_.items, g_.batch - block.item);
  return block;
}

std::int64_t TapLayout::line_count(const ConvBlock& block) const {
  return (mixed_ > 1 ? 1 : block.items) * block.size[0] * (rows_ ? block.size[1] : 1);
}

std::int64_t TapLayout::line_width(const ConvBlock& block) const {
  return rows_ ? block.size[2] : stretch(block);
}

std::int64_t TapLayout::distance(std::int64_t channel, std::int64_t tap) const {
  std::int64_t distance = channel * channel_;
  for (std::size_t axis = 3; axis-- > 0;) {
    const std::int64_t at = tap % g_.kernel[axis] * g_.dilation[axis];
    distance += at % g_.stride[axis] * phase_[axis] + at / g_.stride[axis] * step_[axis];
    tap /= g_.kernel[axis];
  }
  return distance;
}

std::int64_t TapLayout::made_size() const {
  const std::int64_t rows = (whole_.size[1] + more_[1]) * g_.stride[1];
  return std::min(rows, g_.in[1]) * g_.in[2];
}

template <class T>
void TapLayout::copy(const ConvSource<T>& source, const ConvBlock& block, std::int64_t first,
                     std::int64_t channels, T* made, T* to) const {
  // Rows of the input that a slice reads.
  const std::int64_t before = block.begin[1] * g_.stride[1] - g_.padding[1];
  const std::int64_t rows = (block.size[1] + more_[1] - 1) * g_.stride[1] + phases_[1];
  const std::int64_t top = std::clamp<std::int64_t>(before, 0, g_.in[1]);
  const std::int64_t end = std::clamp(before + rows, top, g_.in[1]);
  for (std::int64_t c = 0; c < channels; ++c) {
    for (std::int64_t i = 0; i < block.items; ++i) {
      for (std::int64_t slice = 0; slice < (block.size[0] + more_[0]) * phases_[0]; ++slice) {
        const std::int64_t place = slice / phases_[0], phase = slice % phases_[0];
        const std::int64_t d = (block.begin[0] + place) * g_.stride[0] + phase - g_.padding[0];
        T* at = to + c * channel_ + i * item_ + phase * phase_[0] + place * step_[0];
        if (d < 0 || d >= g_.in[0] || top == end) {
          copy_slice<T>(nullptr, 0, 0, block, at);
        } else {
          const Matrix<T> part =
              source.part(block.item + i, first + c, 1, (d * g_.in[1] + top) * g_.in[2],
                          (end - top) * g_.in[2], made);
          copy_slice(part.data, top, end, block, at);
        }
      }
    }
  }
}

// Of one slice, rows [first, last) of the input are given.
template <class T>
void TapLayout::copy_slice(const T* rows, std::int64_t first, std::int64_t last,
                           const ConvBlock& block, T* to) const {
  const std::int64_t before = block.begin[1] * g_.stride[1] - g_.padding[1];
  const std::int64_t places = block.size[1] + more_[1];
  for (std::int64_t phase = 0; phase < phases_[1]; ++phase) {
    const std::int64_t shift = before + phase - first;  // from a place to a row that is given
    const Valid given = valid_outputs(places, last - first, g_.stride[1], shift);
    const T* from =
        given.begin == given.end ? nullptr : rows + (given.begin * g_.stride[1] + shift) * g_.in[2];
    for (std::int64_t p = 0; p < phases_[2]; ++p)
      copy_rows(from, given, places, p, block, to + phase * phase_[1] + p * phase_[2]);
  }
}

// One remainder of rows and columns of a slice. Places outside of `given` are zeros; the first one
// inside is the row `from`.
template <class T>
void TapLayout::copy_rows(const T* from, Valid given, std::int64_t places, std::int64_t phase,
                          const ConvBlock& block, T* to) const {
  const std::int64_t width = block.size[2] + more_[2], stride = g_.stride[2], step = step_[2];
  const std::int64_t shift = block.begin[2] * stride + phase - g_.padding[2];
  const Valid columns = valid_outputs(width, g_.in[2], stride, shift);
  const std::int64_t row = g_.stride[1] * g_.in[2];
  if (from != nullptr) from += columns.begin * stride + shift;
  if (step == 1 && from != nullptr) {
    simd::kernels().of<T>().take_apart(from, row, stride,
                                       to + given.begin * step_[1] + columns.begin, step_[1],
                                       given.end - given.begin, columns.end - columns.begin);
  }
  for (std::int64_t place = 0; place < places; ++place) {
    T* at = to + place * step_[1];
    const bool is_given = place >= given.begin && place < given.end;
    const Valid here = is_given ? columns : Valid{width, width};
    for (std::int64_t i = 0; i < here.begin; ++i) at[i * step] = T{0};
    for (std::int64_t i = here.end; i < width; ++i) at[i * step] = T{0};
    if (step == 1 || !is_given) continue;
    const T* x = from + (place - given.begin) * row;
    for (std::int64_t i = here.begin; i < here.end; ++i)
      at[i * step] = x[(i - here.begin) * stride];
  }
}

template <class T>
void TapLayout::put(const ConvBlock& block, const T* result, std::int64_t channels,
                    const Axes& stride, const Axes& in, T* x) const {
  const std::int64_t apart = channels * result_size();
  const std::int64_t width =
      std::min(in[2] - block.begin[2] * stride[2], block.size[2] * stride[2]);
  // Slices and rows of the map that are in the block, of each remainder.
  const auto count = [&](std::size_t axis, std::int64_t r) {
    return std::min(block.size[axis], divide_up(in[axis] - r, stride[axis]) - block.begin[axis]);
  };
  for (std::int64_t i = 0; i < channels * block.items; ++i) {
    const std::int64_t c = i / block.items, item = i % block.items;
    T* map = x + (item * g_.groups * g_.c_out + c) * product(in);
    for (std::int64_t cell = 0; cell < stride[0] * stride[1]; ++cell) {
      const std::int64_t rd = cell / stride[1], rh = cell % stride[1];
      for (std::int64_t d = 0; d < count(0, rd); ++d) {
        const std::int64_t line = mixed_ > 1 ? d : item * block.size[0] + d;
        const T* from = result + cell * stride[2] * apart + c * result_size() + line * line_size_ +
                        (mixed_ > 1 ? item : 0);
        const std::int64_t slice = (block.begin[0] + d) * stride[0] + rd;
        const std::int64_t row = block.begin[1] * stride[1] + rh;
        T* to = map + (slice * in[1] + row) * in[2] + block.begin[2] * stride[2];
        if (mixed_ == 1) {
          simd::kernels().of<T>().put_together(from, apart, step_[1], stride[2], to,
                                               stride[1] * in[2], count(1, rh), width);
          continue;
        }
        for (std::int64_t h = 0; h < count(1, rh); ++h) {
          for (std::int64_t w = 0; w < width; ++w)
            to[h * stride[1] * in[2] + w] =
                from[w % stride[2] * apart + h * step_[1] + w / stride[2] * step_[2]];
        }
      }
    }
  }
}

#define FOVEA_INSTANTIATE(T)                                                             \
  template void TapLayout::copy<T>(const ConvSource<T>&, const ConvBlock&, std::int64_t, \
                                   std::int64_t, T*, T*) const;                          \
  template void TapLayout::put<T>(const ConvBlock&, const T*, std::int64_t, const Axes&, \
                                  const Axes&, T*) const;
FOVEA_INSTANTIATE(float)
FOVEA_INSTANTIATE(double)
#undef FOVEA_INSTANTIATE

}  // namespace fovea::cpu
