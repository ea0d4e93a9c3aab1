#include "backend/composed/heads.h"

namespace fovea::composed {
namespace {

// The copy between one head of a projection and (batch, heads, tokens, dim).
CopyArgs copy_of(const HeadLayout& layout, std::int64_t batch, std::int64_t tokens) {
  CopyArgs copy;
  copy.shape = {batch, tokens, layout.dim};
  copy.src_strides = {layout.batch_stride, layout.token_stride, 1};
  const auto heads = static_cast<std::int64_t>(layout.head_offsets.size());
  copy.dst_strides = {heads * tokens * layout.dim, layout.dim, 1};
  return copy;
}

}  // namespace

Tensor take_heads(const Tensor& from, const HeadLayout& layout, std::int64_t batch,
                  std::int64_t tokens) {
  const auto count = static_cast<std::int64_t>(layout.head_offsets.size());
  const Tensor heads =
      Tensor::empty({batch, count, tokens, layout.dim}, from.dtype(), from.device());
  CopyArgs copy = copy_of(layout, batch, tokens);
  for (std::int64_t head = 0; head < count; ++head) {
    copy.src_offset = layout.head_offsets[static_cast<std::size_t>(head)];
    copy.dst_offset = head * tokens * layout.dim;
    backend(from).copy(copy, from, heads);
  }
  return wide(heads);
}

void put_heads(const Tensor& heads, const HeadLayout& layout, bool add, const Tensor& to) {
  const Tensor from = as(heads, to.dtype());
  const std::int64_t tokens = from.size(2);
  CopyArgs copy = copy_of(layout, from.size(0), tokens);
  std::swap(copy.src_strides, copy.dst_strides);
  copy.accumulate = add;
  for (std::int64_t head = 0; head < from.size(1); ++head) {
    copy.src_offset = head * tokens * layout.dim;
    copy.dst_offset = layout.head_offsets[static_cast<std::size_t>(head)];
    backend(to).copy(copy, from, to);
  }
}

Tensor head_product(const Tensor& a, bool trans_a, const Tensor& b, bool trans_b) {
  GemmArgs args{.trans_a = trans_a, .trans_b = trans_b};
  args.m = a.size(trans_a ? 3 : 2);
  args.k = a.size(trans_a ? 2 : 3);
  args.n = b.size(trans_b ? 2 : 3);
  args.lda = a.size(3);
  args.ldb = b.size(3);
  args.ldc = args.n;
  args.batch = a.size(0) * a.size(1);
  args.stride_a = a.size(2) * a.size(3);
  args.stride_b = b.size(2) * b.size(3);
  args.stride_c = args.m * args.n;
  Tensor c = Tensor::empty({a.size(0), a.size(1), args.m, args.n}, a.dtype(), a.device());
  backend(a).gemm(args, a, b, {}, c);
  return c;
}

}  // namespace fovea::composed
