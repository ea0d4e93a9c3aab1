#include "backend/cpu/conv/conv_blocked.h"

#include <algorithm>
#include <bit>

#include "backend/cpu/conv/conv_source.h"
#include "backend/cpu/pieces.h"
#include "backend/cpu/products/onednn.h"
#include "backend/cpu/simd/simd.h"

namespace fovea::cpu {
namespace {

using onednn::Convolution;
using onednn::convolution;
using onednn::ConvPart;
using onednn::ConvPass;

// How a convolution is cut: chunks of calls, each of a few items or, where items are few, of some
// slices of one; and blocks of channels (of the output, or of the input for its gradient) where
// there are few calls.
class Cut {
 public:
  /// `x_made`: the slices of x are made for each call, and lie next to each other.
  Cut(const ConvGeometry& g, ConvPass pass, DType stored, bool x_made = false)
      : g_(g),
        pass_(pass),
        stored_(stored),
        x_made_(x_made),
        axis_(g.first_axis()),
        pieces_(conv_pieces(g, pass == ConvPass::kBackwardWeight ? weight_size() : 0)) {
    constexpr std::int64_t kCacheBytes = 3 << 18;  // of x and y, of which there are two copies
    const std::int64_t most = std::max<std::int64_t>(1, g.batch / kFewConvPieces);
    items_ = std::clamp<std::int64_t>(kCacheBytes / item_bytes(), 1, most);
    // Large convolutions have fewer items a call, as long as these weigh more than the weight,
    // which every call reads.
    const std::int64_t least = divide_up(weight_bytes(), item_bytes());
    items_ = std::min(items_, std::max(std::max<std::int64_t>(1, g.batch / pieces_), least));
    items_ = static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(items_)));
    share_out(most_slabs());
    if (slabs_ > 1 && !fast()) share_out(1);
  }

  /// False if oneDNN would be slow.
  bool fast() const {
    for (const std::int64_t call : {std::int64_t{0}, slabs_ / 2, calls() - 1})
      for (const std::int64_t block : {std::int64_t{0}, blocks() - 1})
        if (!convolution(part(call, block)).fast()) return false;
    return true;
  }

  std::int64_t w_row() const { return g_.c_in * g_.taps(); }
  std::int64_t calls() const { return divide_up(g_.batch, items_) * slabs_; }
  /// Calls of one chunk: 1 but for the gradient of the weight.
  std::int64_t chunk() const { return chunk_; }
  std::int64_t chunks() const { return divide_up(calls(), chunk_); }
  std::int64_t blocks() const { return divide_up(cut_channels(), channels_); }
  std::int64_t first_channel(std::int64_t block) const { return block * channels_; }

  /// Where the first element of a call lies in x, in y.
  std::int64_t x_at(std::int64_t call) const {
    return first_item(call) * x_item() + slices(call).x_begin * x_slice();
  }
  std::int64_t y_at(std::int64_t call) const {
    return first_item(call) * y_item() + slices(call).y_begin * y_slice();
  }
  /// The items and slices of x of a call; made ones lie at `made`.
  template <class S>
  const S* x_of(const ConvSource<S>& source, std::int64_t call, S* made) const {
    const Slices of = slices(call);
    return source.items(first_item(call), items(call), of.x_begin * x_slice(),
                        (of.x_end - of.x_begin) * x_slice(), made);
  }

  /// Bytes that suffice for any call: for an x that is made, and for the convolution's scratch.
  std::int64_t made_bytes() const {
    if (!x_made_) return 0;
    std::int64_t slices_of_x = 0;
    for (std::int64_t slab = 0; slab < slabs_; ++slab)
      slices_of_x = std::max(slices_of_x, part(slab, 0).slab.in);
    const std::int64_t bytes = items_ * x_channels() * slices_of_x * x_slice() * size_of(stored_);
    return divide_up(bytes, 64) * 64;
  }
  std::int64_t scratch_bytes(bool has_bias = false) const {
    std::int64_t bytes = 0;
    for (std::int64_t slab = 0; slab < slabs_; ++slab)
      bytes = std::max(bytes, convolution(part(slab, 0, has_bias)).scratch_bytes());
    return bytes;
  }

  ConvPart part(std::int64_t call, std::int64_t block, bool has_bias = false) const {
    const Slices of = slices(call);
    const std::int64_t channels = std::min(channels_, cut_channels() - first_channel(block));
    ConvPart part;
    part.pass = pass_;
    part.stored = stored_;
    part.g = g_;
    part.g.batch = items(call);
    (pass_ == ConvPass::kBackwardData ? part.g.c_in : part.g.c_out) = channels;
    part.slab = {of.x_end - of.x_begin, of.y_end - of.y_begin,
                 g_.padding[axis_] + of.x_begin - of.y_begin * g_.stride[axis_]};
    part.x_channel = x_made_ ? part.slab.in * x_slice() : g_.in_size();
    part.x_item = x_channels() * part.x_channel;
    part.y_channel = g_.out_size();
    part.y_item = y_item();
    part.w_row = w_row();
    part.has_bias = has_bias;
    return part;
  }

 private:
  // Slices of x and of y that belong together.
  struct Slices {
    std::int64_t x_begin, x_end, y_begin, y_end;
  };

  std::int64_t x_channels() const { return g_.groups * g_.c_in; }
  std::int64_t x_slice() const { return g_.in_size() / g_.in[axis_]; }
  std::int64_t y_slice() const { return g_.out_size() / g_.out[axis_]; }
  std::int64_t x_item() const { return x_channels() * g_.in_size(); }
  std::int64_t y_item() const { return g_.groups * g_.c_out * g_.out_size(); }
  std::int64_t weight_size() const { return g_.groups * g_.c_out * w_row(); }
  std::int64_t weight_bytes() const { return size_of(stored_) * weight_size(); }
  std::int64_t item_bytes() const { return size_of(stored_) * (x_item() + y_item()); }
  std::int64_t first_item(std::int64_t call) const { return call / slabs_ * items_; }
  std::int64_t items(std::int64_t call) const {
    return std::min(items_, g_.batch - first_item(call));
  }
  std::int64_t cut_channels() const {
    return pass_ == ConvPass::kBackwardData ? g_.c_in : g_.c_out;
  }
  std::int64_t cut_slices() const {
    return (pass_ == ConvPass::kBackwardData ? g_.in : g_.out)[axis_];
  }

  // Each slab reads its neighbours' slices and the whole weight again, so it has at least as many
  // bytes of its own. With windows that leave gaps, or lie in the padding, a slab of one side could
  // have no slice of the other.
  std::int64_t most_slabs() const {
    constexpr std::int64_t kLeastBytes = 1 << 16;
    const std::int64_t reach = g_.reach(axis_);
    if (calls() >= kFewConvPieces / 2 || g_.stride[axis_] > reach || g_.padding[axis_] >= reach)
      return 1;
    const std::int64_t least = std::max<std::int64_t>(1, 2 * (reach - 1));
    const std::int64_t most =
        std::min(cut_slices() / least, item_bytes() / std::max(kLeastBytes, weight_bytes()));
    return std::clamp<std::int64_t>(most, 1, divide_up(kFewConvPieces, calls()));
  }

  void share_out(std::int64_t slabs) {
    constexpr std::int64_t kLeastChannels = 32;  // each block converts x to its layout again
    slabs_ = slabs;
    if (pass_ == ConvPass::kBackwardWeight) chunk_ = Chunks(calls(), weight_size(), pieces_).chunk;
    channels_ = cut_channels();
    if (g_.groups > 1 || chunks() >= kFewConvPieces / 2) return;
    const std::int64_t blocks = std::min(kFewConvPieces / chunks(), channels_ / kLeastChannels);
    if (blocks > 1) channels_ = divide_up(divide_up(channels_, blocks), 16) * 16;
  }

  Slices slices(std::int64_t call) const {
    if (slabs_ == 1) return {0, g_.in[axis_], 0, g_.out[axis_]};
    const std::int64_t slab = call % slabs_;
    const std::int64_t begin = slab * cut_slices() / slabs_;
    const std::int64_t end = (slab + 1) * cut_slices() / slabs_;
    const std::int64_t reach = g_.reach(axis_);
    const std::int64_t stride = g_.stride[axis_];
    const std::int64_t padding = g_.padding[axis_];
    if (pass_ == ConvPass::kBackwardData) {
      const std::int64_t first = std::max<std::int64_t>(0, begin + padding - (reach - 1));
      return {begin, end, divide_up(first, stride),
              std::min(g_.out[axis_], (end - 1 + padding) / stride + 1)};
    }
    return {std::max<std::int64_t>(0, begin * stride - padding),
            std::min(g_.in[axis_], (end - 1) * stride - padding + reach), begin, end};
  }

  ConvGeometry g_;
  ConvPass pass_;
  DType stored_;
  bool x_made_;
  std::size_t axis_;
  std::int64_t pieces_;
  std::int64_t items_ = 1, slabs_ = 1, chunk_ = 1, channels_ = 1;
};

Tensor scratch_bytes(std::int64_t bytes, const Tensor& like) {
  return scratch<std::uint8_t>(bytes, like);
}

std::byte* bytes_of(const Tensor& memory) {
  return reinterpret_cast<std::byte*>(memory.data<std::uint8_t>());
}

// The weight of every block in the layout of its convolution.
class PackedWeight {
 public:
  PackedWeight(ThreadPool& pool, const Cut& cut, const float* weight, std::int64_t block_distance,
               bool has_bias, const Tensor& like)
      : size_(convolution(cut.part(0, 0, has_bias)).weight_bytes()),
        memory_(scratch_bytes(size_ * cut.blocks(), like)) {
    pool.run(cut.blocks(), [&](std::int64_t block) {
      convolution(cut.part(0, block, has_bias))
          .pack(weight + cut.first_channel(block) * block_distance, (*this)[block]);
    });
  }
  std::byte* operator[](std::int64_t block) const { return bytes_of(memory_) + block * size_; }

 private:
  std::int64_t size_;  // of the first block; none is larger
  Tensor memory_;
};

bool usual_size(const ConvGeometry& g) {
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const std::int64_t room = g.in[axis] + 2 * g.padding[axis] - g.reach(axis);
    if (room < 0 || room / g.stride[axis] + 1 != g.out[axis]) return false;
  }
  return true;
}

}  // namespace

bool blocked_is_fast(const ConvGeometry& g, ConvPass pass, DType stored) {
  // A transposed convolution may have more rows of output than oneDNN would compute.
  return onednn::available() && usual_size(g) && Cut(g, pass, stored).fast();
}

template <class S>
void blocked_forward(ThreadPool& pool, const ConvGeometry& g, const Tensor& x, const Tensor& weight,
                     const Tensor& bias, const Tensor& y) {
  const Cut cut(g, ConvPass::kForward, kDTypeOf<S>);
  const std::int64_t blocks = cut.blocks();
  const bool has_bias = bias.defined();
  const PackedWeight packed(pool, cut, weight.data<float>(), cut.w_row(), has_bias, y);
  const std::int64_t bytes = cut.scratch_bytes(has_bias);
  reserve<std::uint8_t>(pool, bytes, y);
  pool.run(cut.calls() * blocks, [&](std::int64_t piece) {
    const std::int64_t call = piece / blocks;
    const std::int64_t block = piece % blocks;
    const std::int64_t first = cut.first_channel(block);
    const Tensor memory = scratch_bytes(bytes, y);
    convolution(cut.part(call, block, has_bias))
        .run(x.data<S>() + cut.x_at(call), packed[block],
             has_bias ? bias.data<float>() + first : nullptr,
             y.data<S>() + cut.y_at(call) + first * g.out_size(), bytes_of(memory));
  });
}

template <class S>
void blocked_backward_data(ThreadPool& pool, const ConvGeometry& g, const Tensor& weight,
                           const Tensor& dy, const Tensor& dx) {
  const Cut cut(g, ConvPass::kBackwardData, kDTypeOf<S>);
  const std::int64_t blocks = cut.blocks();
  const PackedWeight packed(pool, cut, weight.data<float>(), g.taps(), false, dx);
  const std::int64_t bytes = cut.scratch_bytes();
  reserve<std::uint8_t>(pool, bytes, dx);
  pool.run(cut.calls() * blocks, [&](std::int64_t piece) {
    const std::int64_t call = piece / blocks;
    const std::int64_t block = piece % blocks;
    const Tensor memory = scratch_bytes(bytes, dx);
    convolution(cut.part(call, block))
        .run(dx.data<S>() + cut.x_at(call) + cut.first_channel(block) * g.in_size(), packed[block],
             nullptr, dy.data<S>() + cut.y_at(call), bytes_of(memory));
  });
}

// A piece is a chunk of the calls, with a partial sum of its own, and a block of output channels.
template <class S>
void blocked_backward_weight(ThreadPool& pool, const ConvGeometry& g, const NormedMap& x,
                             const Tensor& dy, const Tensor& dweight) {
  const ConvSource<S> source(x);
  const Cut cut(g, ConvPass::kBackwardWeight, kDTypeOf<S>, source.made());
  const std::int64_t size = dweight.numel();
  const std::int64_t blocks = cut.blocks();
  const bool one = cut.chunks() == 1;
  const Tensor parts = one ? dweight : scratch<float>(cut.chunks() * size, dweight);
  const std::int64_t weights =
      convolution(cut.part(0, 0)).weight_bytes() / static_cast<std::int64_t>(sizeof(float));
  const std::int64_t made = cut.made_bytes();
  const std::int64_t bytes = made + cut.scratch_bytes();
  reserve<std::uint8_t>(pool, bytes, dweight);
  reserve<float>(pool, 2 * weights, dweight);
  pool.run(cut.chunks() * blocks, [&](std::int64_t piece) {
    const std::int64_t block = piece % blocks;
    const std::int64_t first = cut.first_channel(block);
    const std::int64_t begin = piece / blocks * cut.chunk();
    const Tensor sums = scratch<float>(2 * weights, dweight);
    float* sum = sums.data<float>();
    float* next = sum + weights;
    const Tensor memory = scratch_bytes(bytes, dweight);
    S* x_made = reinterpret_cast<S*>(bytes_of(memory));
    for (std::int64_t call = begin; call < std::min(cut.calls(), begin + cut.chunk()); ++call) {
      convolution(cut.part(call, block))
          .run(cut.x_of(source, call, x_made), call == begin ? sum : next, nullptr,
               dy.data<S>() + cut.y_at(call) + first * g.out_size(), bytes_of(memory) + made);
      if (call > begin) simd::kernels().f32.axpy(1.0F, next, sum, weights);
    }
    convolution(cut.part(begin, block))
        .unpack(sum, parts.data<float>() + piece / blocks * size + first * cut.w_row());
  });
  if (!one) sum_parts(pool, parts.data<float>(), cut.chunks(), size, dweight.data<float>());
}

#define FOVEA_INSTANTIATE(S)                                                                       \
  template void blocked_forward<S>(ThreadPool&, const ConvGeometry&, const Tensor&, const Tensor&, \
                                   const Tensor&, const Tensor&);                                  \
  template void blocked_backward_data<S>(ThreadPool&, const ConvGeometry&, const Tensor&,          \
                                         const Tensor&, const Tensor&);                            \
  template void blocked_backward_weight<S>(ThreadPool&, const ConvGeometry&, const NormedMap&,     \
                                           const Tensor&, const Tensor&);
FOVEA_INSTANTIATE(float)
FOVEA_INSTANTIATE(BFloat16)
#undef FOVEA_INSTANTIATE

}  // namespace fovea::cpu
