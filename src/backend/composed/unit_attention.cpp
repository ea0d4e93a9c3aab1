// Default bodies: softmax attention inside units of tokens, through the maps of all units.
#include <limits>

#include "backend/composed/heads.h"

namespace fovea {

using namespace composed;

namespace {

// The table of an item's tokens, extended by one token for padding.
class UnitPlaces {
 public:
  UnitPlaces(const UnitAttentionArgs& args, const UnitAttentionInputs& in)
      : args_(args),
        padding_(compare(BinaryOp::kLess, in.table, 0)),
        index_(composed::where(compare(BinaryOp::kGreaterEqual, in.table, 0), in.table,
                               static_cast<double>(args.tokens))) {}

  /// (units, members) uint8.
  const Tensor& padding() const { return padding_; }

  /// heads (batch, heads, tokens, dim) at all places: (batch, heads * units, members, dim).
  /// `padding`: (batch, heads, 1, dim), or zeros.
  Tensor take(const Tensor& heads, const Tensor& padding = {}) const {
    const std::int64_t dim = heads.size(3);
    const Tensor all = filled(extended(dim), 0, heads.dtype(), heads.device());
    backend(heads).copy(copy_of(dim, 0, args_.tokens, false), heads, all);
    if (padding.defined()) backend(heads).copy(copy_of(dim, args_.tokens, 1, false), padding, all);
    const Tensor taken = Tensor::empty({args_.batch, args_.heads * args_.units, args_.members, dim},
                                       heads.dtype(), heads.device());
    backend(heads).gather(1, all, index(dim), taken.alias(places(dim)));
    return taken;
  }

  /// The reverse; what stands at padding is summed in `padding`, (batch, heads, 1, dim).
  struct Put {
    Tensor heads, padding;
  };
  Put put(const Tensor& x) const {
    const std::int64_t dim = x.size(3);
    const Tensor all = filled(extended(dim), 0, x.dtype(), x.device());
    backend(x).scatter_add(1, x.alias(places(dim)), index(dim), all);
    const Put to{
        Tensor::empty({args_.batch, args_.heads, args_.tokens, dim}, x.dtype(), x.device()),
        Tensor::empty({args_.batch, args_.heads, 1, dim}, x.dtype(), x.device())};
    backend(x).copy(copy_of(dim, 0, args_.tokens, true), all, to.heads);
    backend(x).copy(copy_of(dim, args_.tokens, 1, true), all, to.padding);
    return to;
  }

 private:
  Shape extended(std::int64_t dim) const {
    return {args_.batch * args_.heads, args_.tokens + 1, dim};
  }
  Shape places(std::int64_t dim) const {
    return {args_.batch * args_.heads, args_.units * args_.members, dim};
  }

  // index_ for every head and channel.
  Tensor index(std::int64_t dim) const {
    Tensor all = Tensor::empty(places(dim), DType::kInt64, index_.device());
    CopyArgs copy;
    copy.shape = all.shape();
    copy.src_strides = {0, 1, 0};
    copy.dst_strides = all.shape().strides().to_vector();
    backend(index_).copy(copy, index_, all);
    return all;
  }

  // The copy between a tensor of `count` rows and the rows from `first` on of the extended one.
  CopyArgs copy_of(std::int64_t dim, std::int64_t first, std::int64_t count, bool back) const {
    CopyArgs copy;
    copy.shape = {args_.batch * args_.heads, count * dim};
    copy.src_strides = {count * dim, 1};
    copy.dst_strides = {(args_.tokens + 1) * dim, 1};
    copy.dst_offset = first * dim;
    if (back) {
      std::swap(copy.src_strides, copy.dst_strides);
      std::swap(copy.src_offset, copy.dst_offset);
    }
    return copy;
  }

  const UnitAttentionArgs& args_;
  Tensor padding_, index_;
};

// Where the padding's own heads are.
HeadLayout of_padding(const HeadLayout& layout) { return {0, 0, layout.head_offsets, layout.dim}; }

struct UnitMaps {
  UnitPlaces places;
  Tensor q, k, v, map, lse;

  UnitMaps(const UnitAttentionArgs& args, const UnitAttentionInputs& in) : places(args, in) {
    const std::int64_t b = args.batch, h = args.heads, u = args.units, m = args.members;
    const auto padding = [&](const HeadLayout& layout) {
      return in.padding.defined() ? take_heads(in.padding, of_padding(layout), b, 1) : Tensor();
    };
    q = places.take(take_heads(in.q, args.q, b, args.tokens));
    k = places.take(take_heads(in.k, args.k, b, args.tokens), padding(args.k));
    v = places.take(take_heads(in.v, args.v, b, args.tokens), padding(args.v));
    Tensor scores = affine(head_product(q, false, k, true), args.scale).alias({b, h, u, m * m});
    if (in.bias.defined()) scores = add(scores, in.bias.alias({1, h, 1, m * m}));
    const auto mask = [&](const Tensor& where_not, double value) {
      const Tensor values = filled(where_not.shape(), value, scores.dtype(), scores.device());
      scores = add(scores, composed::where(where_not, values, 0.0).alias({1, 1, u, m * m}));
    };
    if (in.regions.defined()) {
      mask(binary(BinaryOp::kNotEqual, in.regions.alias({u, m, 1}), in.regions.alias({u, 1, m})),
           args.region_mask);
    }
    if (!args.padding_attends) {
      const Tensor keys = Tensor::empty({u, m, m}, DType::kUint8, in.table.device());
      CopyArgs copy;
      copy.shape = keys.shape();
      copy.src_strides = {m, 0, 1};
      copy.dst_strides = keys.shape().strides().to_vector();
      backend(in.table).copy(copy, places.padding(), keys);
      mask(keys, -std::numeric_limits<double>::infinity());
    }
    const SoftRows rows = soft_rows(false, scores.alias({b * h * u * m, m}), {});
    map = rows.p.alias({b, h * u, m, m});
    lse = rows.lse.alias({b, h, u, m});
  }
};

}  // namespace

void Backend::unit_attention(const UnitAttentionArgs& args, const UnitAttentionInputs& in,
                             const Tensor& out, const Tensor& lse) const {
  if (out.numel() == 0) return;
  const UnitMaps of(args, in);
  const Tensor result = of.places.put(head_product(of.map, false, of.v, false)).heads;
  write(permuted(result, {0, 2, 1, 3}), out);
  const Tensor none = filled(of.lse.shape(), 0, of.lse.dtype(), of.lse.device());
  write(composed::where(of.places.padding().alias({1, 1, args.units, args.members}), none, of.lse),
        lse);
}

void Backend::unit_attention_backward(const UnitAttentionArgs& args, const UnitAttentionInputs& in,
                                      const AttentionUpstream& upstream,
                                      const UnitAttentionGradients& to) const {
  if (to.bias.defined()) fill(to.bias, 0);
  if (to.padding.defined()) fill(to.padding, 0);
  if (upstream.dout.numel() == 0) return;
  const UnitMaps of(args, in);
  const std::int64_t b = args.batch, h = args.heads, square = args.members * args.members;
  const Tensor given = upstream.dout.alias({b, args.tokens, h, args.v.dim});
  const Tensor dout = of.places.take(wide(permuted(given, {0, 2, 1, 3})));
  const auto put = [&](const Tensor& x, const HeadLayout& layout, const Tensor& gradient) {
    const UnitPlaces::Put sums = of.places.put(x);
    if (gradient.defined()) put_heads(sums.heads, layout, false, gradient);
    return composed::reduce(ReduceOp::kSum, sums.padding, {1, h, 1, x.size(3)});
  };
  const Tensor dv = put(head_product(of.map, true, dout, false), args.v, to.v);
  const Tensor dmap = head_product(dout, false, of.v, true);
  const Tensor ds = mul(of.map, sub(dmap, over_rows(ReduceOp::kSum, mul(of.map, dmap))));
  if (to.bias.defined()) {
    write(composed::reduce(ReduceOp::kSum, ds.alias({b, h, args.units, square}), {1, h, 1, square}),
          to.bias);
  }
  put(affine(head_product(ds, false, of.k, false), args.scale), args.q, to.q);
  const Tensor dk = put(affine(head_product(ds, true, of.q, false), args.scale), args.k, to.k);
  if (!to.padding.defined()) return;
  put_heads(dk, of_padding(args.k), false, to.padding);
  put_heads(dv, of_padding(args.v), false, to.padding);
}

}  // namespace fovea
