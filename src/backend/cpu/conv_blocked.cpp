#include "backend/cpu/conv_blocked.h"

#include <algorithm>
#include <bit>

#include "backend/cpu/conv_pieces.h"
#include "backend/cpu/conv_source.h"
#include "backend/cpu/onednn.h"
#include "backend/cpu/simd/simd.h"

namespace fovea::cpu {
namespace {

using onednn::Convolution;
using onednn::convolution;
using onednn::ConvPart;
using onednn::ConvPass;

// How a convolution is cut: chunks of calls of a few items each, and blocks of channels (of the
// output, or of the input for its gradient) where there are few chunks to share out.
class Cut {
 public:
  Cut(const ConvGeometry& g, ConvPass pass, DType stored) : g_(g), pass_(pass), stored_(stored) {
    constexpr std::int64_t kCacheBytes = 3 << 18;  // of x and y, which are there twice
    const std::int64_t most = std::max<std::int64_t>(1, g.batch / kPieces);
    items_ =
        std::clamp<std::int64_t>(kCacheBytes / size_of(stored) / (x_item() + y_item()), 1, most);
    items_ = static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(items_)));
    const Chunks chunks(calls(), g.groups * g.c_out * w_row());
    if (pass == ConvPass::kBackwardWeight) chunk_ = chunks.chunk;
    channels_ = cut_channels();
    if (g.groups > 1 || this->chunks() >= kPieces / 2) return;
    // One volume would be one thread's: then narrower blocks, though each brings x to its layout.
    const std::int64_t least_channels = this->chunks() == 1 ? 32 : 64;
    const std::int64_t blocks = std::min(kPieces / this->chunks(), channels_ / least_channels);
    if (blocks > 1) channels_ = divide_up(divide_up(channels_, blocks), 16) * 16;
  }

  std::int64_t x_item() const { return g_.groups * g_.c_in * g_.in_size(); }
  std::int64_t y_item() const { return g_.groups * g_.c_out * g_.out_size(); }
  std::int64_t w_row() const { return g_.c_in * g_.taps(); }
  std::int64_t calls() const { return divide_up(g_.batch, items_); }
  /// Calls of one chunk, which only the gradient of the weight has more than one of.
  std::int64_t chunk() const { return chunk_; }
  std::int64_t chunks() const { return divide_up(calls(), chunk_); }
  std::int64_t blocks() const { return divide_up(cut_channels(), channels_); }
  std::int64_t first_item(std::int64_t call) const { return call * items_; }
  std::int64_t first_channel(std::int64_t block) const { return block * channels_; }

  /// Scratch memory for the items of a call.
  template <class S>
  std::int64_t made_bytes(const ConvSource<S>& source) const {
    return source.made() ? items_ * x_item() * static_cast<std::int64_t>(sizeof(S)) : 0;
  }

  ConvPart part(std::int64_t call, std::int64_t block, bool has_bias = false) const {
    ConvPart part{.pass = pass_, .stored = stored_, .g = g_};
    part.g.batch = std::min(items_, g_.batch - first_item(call));
    const std::int64_t channels = std::min(channels_, cut_channels() - first_channel(block));
    (pass_ == ConvPass::kBackwardData ? part.g.c_in : part.g.c_out) = channels;
    part.x_item = x_item();
    part.y_item = y_item();
    part.w_row = w_row();
    part.has_bias = has_bias;
    return part;
  }

 private:
  std::int64_t cut_channels() const {
    return pass_ == ConvPass::kBackwardData ? g_.c_in : g_.c_out;
  }

  ConvGeometry g_;
  ConvPass pass_;
  DType stored_;
  std::int64_t items_ = 1, chunk_ = 1, channels_ = 1;
};

Tensor scratch_bytes(std::int64_t bytes, const Tensor& like) {
  return scratch<std::uint8_t>(bytes, like);
}

std::byte* bytes_of(const Tensor& memory) {
  return reinterpret_cast<std::byte*>(memory.data<std::uint8_t>());
}

// Scratch memory of the first call, which is a largest one, and of the last.
void reserve_calls(const ThreadPool& pool, const Cut& cut, std::int64_t made, bool has_bias,
                   const Tensor& like) {
  for (const std::int64_t call : {std::int64_t{0}, cut.calls() - 1}) {
    for (const std::int64_t block : {std::int64_t{0}, cut.blocks() - 1}) {
      const Convolution& part = convolution(cut.part(call, block, has_bias));
      reserve<std::uint8_t>(pool, part.scratch_bytes() + made, like);
    }
  }
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
  std::int64_t size_;  // the first block is a largest one
  Tensor memory_;
};

bool usual_size(const ConvGeometry& g) {
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const std::int64_t reach = g.dilation[axis] * (g.kernel[axis] - 1) + 1;
    const std::int64_t room = g.in[axis] + 2 * g.padding[axis] - reach;
    if (room < 0 || room / g.stride[axis] + 1 != g.out[axis]) return false;
  }
  return true;
}

}  // namespace

bool blocked_is_fast(const ConvGeometry& g, ConvPass pass, DType stored) {
  // A transposed convolution may have more rows of output than oneDNN would compute.
  if (!onednn::available() || !usual_size(g)) return false;
  const Cut cut(g, pass, stored);
  return convolution(cut.part(0, 0)).fast() &&
         convolution(cut.part(cut.calls() - 1, cut.blocks() - 1)).fast();
}

template <class S>
void blocked_forward(ThreadPool& pool, const ConvGeometry& g, const Tensor& x, const Tensor& weight,
                     const Tensor& bias, const Tensor& y) {
  const Cut cut(g, ConvPass::kForward, kDTypeOf<S>);
  const std::int64_t blocks = cut.blocks();
  const bool has_bias = bias.defined();
  const PackedWeight packed(pool, cut, weight.data<float>(), cut.w_row(), has_bias, y);
  reserve_calls(pool, cut, 0, has_bias, y);
  pool.run(cut.calls() * blocks, [&](std::int64_t piece) {
    const std::int64_t block = piece % blocks;
    const std::int64_t first = cut.first_channel(block);
    const std::int64_t item = cut.first_item(piece / blocks);
    const ConvPart sizes = cut.part(piece / blocks, block, has_bias);
    const Convolution& part = convolution(sizes);
    const Tensor memory = scratch_bytes(part.scratch_bytes(), y);
    part.run(x.data<S>() + item * cut.x_item(), packed[block],
             has_bias ? bias.data<float>() + first : nullptr,
             y.data<S>() + item * cut.y_item() + first * g.out_size(), bytes_of(memory));
  });
}

template <class S>
void blocked_backward_data(ThreadPool& pool, const ConvGeometry& g, const Tensor& weight,
                           const Tensor& dy, const Tensor& dx) {
  const Cut cut(g, ConvPass::kBackwardData, kDTypeOf<S>);
  const std::int64_t blocks = cut.blocks();
  const PackedWeight packed(pool, cut, weight.data<float>(), g.taps(), false, dx);
  reserve_calls(pool, cut, 0, false, dx);
  pool.run(cut.calls() * blocks, [&](std::int64_t piece) {
    const std::int64_t block = piece % blocks;
    const std::int64_t item = cut.first_item(piece / blocks);
    const Convolution& part = convolution(cut.part(piece / blocks, block));
    const Tensor memory = scratch_bytes(part.scratch_bytes(), dx);
    part.run(dx.data<S>() + item * cut.x_item() + cut.first_channel(block) * g.in_size(),
             packed[block], nullptr, dy.data<S>() + item * cut.y_item(), bytes_of(memory));
  });
}

// Pieces: a chunk of the calls, which has its own partial sum, and a block of output channels.
template <class S>
void blocked_backward_weight(ThreadPool& pool, const ConvGeometry& g, const NormedMap& x,
                             const Tensor& dy, const Tensor& dweight) {
  const Cut cut(g, ConvPass::kBackwardWeight, kDTypeOf<S>);
  const std::int64_t size = dweight.numel();
  const std::int64_t blocks = cut.blocks();
  const bool one = cut.chunks() == 1;
  const Tensor parts = one ? dweight : scratch<float>(cut.chunks() * size, dweight);
  const ConvSource<S> source(x);
  reserve_calls(pool, cut, cut.made_bytes(source), false, dweight);
  for (const std::int64_t block : {std::int64_t{0}, blocks - 1}) {
    const Convolution& part = convolution(cut.part(0, block));
    reserve<float>(pool, 2 * part.weight_bytes() / static_cast<std::int64_t>(sizeof(float)),
                   dweight);
  }
  pool.run(cut.chunks() * blocks, [&](std::int64_t piece) {
    const std::int64_t block = piece % blocks;
    const std::int64_t first = cut.first_channel(block);
    const std::int64_t begin = piece / blocks * cut.chunk();
    const Convolution& whole = convolution(cut.part(begin, block));
    const std::int64_t weights = whole.weight_bytes() / static_cast<std::int64_t>(sizeof(float));
    const Tensor sums = scratch<float>(2 * weights, dweight);
    float* sum = sums.data<float>();
    float* next = sum + weights;
    const Tensor memory = scratch_bytes(whole.scratch_bytes() + cut.made_bytes(source), dweight);
    S* made = reinterpret_cast<S*>(bytes_of(memory) + whole.scratch_bytes());
    for (std::int64_t call = begin; call < std::min(cut.calls(), begin + cut.chunk()); ++call) {
      const std::int64_t item = cut.first_item(call);
      const ConvPart sizes = cut.part(call, block);
      convolution(sizes).run(source.items(item, sizes.g.batch, made), call == begin ? sum : next,
                             nullptr, dy.data<S>() + item * cut.y_item() + first * g.out_size(),
                             bytes_of(memory));
      if (call > begin) simd::kernels().f32.axpy(1.0F, next, sum, weights);
    }
    whole.unpack(sum, parts.data<float>() + piece / blocks * size + first * cut.w_row());
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
