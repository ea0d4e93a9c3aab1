#include "backend/cpu/conv/onednn_conv.h"

#include "backend/cpu/products/onednn_primitive.h"
#include "base/recent_table.h"

#include <optional>
#include <string_view>

namespace fovea::cpu::onednn {
namespace {

using dnnl::memory;

struct Hash {
  std::size_t operator()(const ConvPart& part) const {
    const ConvGeometry& g = part.g;
    std::vector<std::int64_t> numbers{static_cast<std::int64_t>(part.pass),
                                      static_cast<std::int64_t>(part.stored),
                                      part.has_bias,
                                      part.slab.in,
                                      part.slab.out,
                                      part.slab.padding,
                                      part.x_item,
                                      part.y_item,
                                      part.x_channel,
                                      part.y_channel,
                                      part.w_row,
                                      g.batch,
                                      g.groups,
                                      g.c_in,
                                      g.c_out};
    for (const Axes& axes : {g.in, g.out, g.kernel, g.stride, g.padding, g.dilation})
      numbers.insert(numbers.end(), axes.begin(), axes.end());
    return HashOfNumbers{}(numbers);
  }
};

// oneDNN has kernels for two and three spatial axes.
memory::dims spatial(const ConvGeometry& g, const Axes& axes, std::int64_t less = 0) {
  memory::dims dims;
  for (std::size_t i = g.first_axis(); i < 3; ++i) dims.push_back(axes[i] - less);
  return dims;
}

// Row-major with given distances along the leading axes.
memory::desc row_major(const memory::dims& sizes, const memory::dims& leading, DType dtype) {
  memory::dims strides(sizes.size(), 1);
  for (std::size_t i = sizes.size() - 1; i-- > 0;) strides[i] = strides[i + 1] * sizes[i + 1];
  std::copy(leading.begin(), leading.end(), strides.begin());
  return {sizes, type_of(dtype), strides};
}

memory::desc any(const memory::desc& plain, memory::data_type type) {
  return {plain.dims(), type, memory::format_tag::any};
}

// How the weight is stored in its own layout.
memory::data_type packed_type(const ConvPart& part) {
  return type_of(part.pass == ConvPass::kBackwardWeight ? DType::kFloat32 : part.stored);
}

// The three tensors of a part, as they lie in memory, and the zeros around x.
struct Plain {
  memory::desc x, y, w;
  memory::dims before, after;

  explicit Plain(const ConvPart& part) {
    const ConvGeometry& g = part.g;
    const std::size_t first = g.first_axis();
    const auto with = [&](memory::dims channels, const Axes& axes, std::int64_t slices) {
      memory::dims sizes = spatial(g, axes);
      sizes[0] = slices;
      channels.insert(channels.end(), sizes.begin(), sizes.end());
      return channels;
    };
    x = row_major(with({g.batch, g.groups * g.c_in}, g.in, part.slab.in),
                  {part.x_item, part.x_channel}, part.stored);
    y = row_major(with({g.batch, g.groups * g.c_out}, g.out, part.slab.out),
                  {part.y_item, part.y_channel}, part.stored);
    const memory::dims channels =
        g.groups == 1 ? memory::dims{g.c_out, g.c_in} : memory::dims{g.groups, g.c_out, g.c_in};
    w = row_major(with(channels, g.kernel, g.kernel[first]),
                  {(g.groups == 1 ? 1 : g.c_out) * part.w_row}, DType::kFloat32);
    before = after = spatial(g, g.padding);
    before[0] = part.slab.padding;
    after[0] = std::max<std::int64_t>(0, (part.slab.out - 1) * g.stride[first] + g.reach(first) -
                                             part.slab.in - part.slab.padding);
  }
};

// One item with all slices: all parts share its layout of the weight.
ConvPart whole_item(const ConvPart& part) {
  const std::size_t first = part.g.first_axis();
  ConvPart one = part;
  one.g.batch = 1;
  one.slab = {part.g.in[first], part.g.out[first], part.g.padding[first]};
  one.x_channel = part.g.in_size();
  one.y_channel = part.g.out_size();
  return one;
}

// Calls use(primitive description) with the one of the pass; w may have a layout or be any.
template <class Use>
auto describe(const ConvPart& part, const Plain& plain, const memory::desc& w, const Use& use) {
  using dnnl::algorithm;
  const ConvGeometry& g = part.g;
  const auto& engine = thread().engine;
  const memory::dims strides = spatial(g, g.stride);
  const memory::dims dilation = spatial(g, g.dilation, 1);
  const memory::desc x = any(plain.x, type_of(part.stored));
  const memory::desc y = any(plain.y, type_of(part.stored));
  const memory::desc bias{{g.groups * g.c_out}, memory::data_type::f32, memory::format_tag::a};
  const auto direct = algorithm::convolution_direct;
  using Forward = dnnl::convolution_forward;
  const auto training = dnnl::prop_kind::forward_training;
  // A gradient of the weight is wider than the weight of the forward pass it belongs to.
  const memory::desc fw = part.pass == ConvPass::kForward ? w : any(plain.w, type_of(part.stored));
  const Forward::desc forward =
      part.has_bias
          ? Forward::desc(training, direct, x, fw, bias, y, strides, dilation, plain.before,
                          plain.after)
          : Forward::desc(training, direct, x, fw, y, strides, dilation, plain.before, plain.after);
  const Forward::primitive_desc hint(forward, plain_attributes(), engine);
  if (part.pass == ConvPass::kForward) return use(hint);
  if (part.pass == ConvPass::kBackwardData) {
    using Backward = dnnl::convolution_backward_data;
    return use(Backward::primitive_desc(
        Backward::desc(direct, x, w, y, strides, dilation, plain.before, plain.after),
        plain_attributes(), engine, hint));
  }
  using Backward = dnnl::convolution_backward_weights;
  return use(Backward::primitive_desc(
      Backward::desc(direct, x, w, y, strides, dilation, plain.before, plain.after),
      plain_attributes(), engine, hint));
}

struct Layouts {
  memory::desc x, y, w;
};

Layouts layouts(const dnnl::convolution_forward::primitive_desc& d) {
  return {d.src_desc(), d.dst_desc(), d.weights_desc()};
}
Layouts layouts(const dnnl::convolution_backward_data::primitive_desc& d) {
  return {d.diff_src_desc(), d.diff_dst_desc(), d.weights_desc()};
}
Layouts layouts(const dnnl::convolution_backward_weights::primitive_desc& d) {
  return {d.src_desc(), d.diff_dst_desc(), d.diff_weights_desc()};
}

Primitive make_primitive(const ConvPart& part, const Plain& plain, const memory::desc& w) {
  return describe(part, plain, w, [&](const auto& d) -> Primitive {
    const Layouts at = layouts(d);
    switch (part.pass) {
      case ConvPass::kBackwardData:
        return {d,
                {{DNNL_ARG_DIFF_SRC, at.x}, {DNNL_ARG_WEIGHTS, at.w}, {DNNL_ARG_DIFF_DST, at.y}}};
      case ConvPass::kBackwardWeight:
        return {d,
                {{DNNL_ARG_SRC, at.x}, {DNNL_ARG_DIFF_WEIGHTS, at.w}, {DNNL_ARG_DIFF_DST, at.y}}};
      default:
        break;
    }
    if (!part.has_bias)
      return {d, {{DNNL_ARG_SRC, at.x}, {DNNL_ARG_WEIGHTS, at.w}, {DNNL_ARG_DST, at.y}}};
    const memory::desc bias{{at.y.dims()[1]}, memory::data_type::f32, memory::format_tag::a};
    return {d,
            {{DNNL_ARG_SRC, at.x},
             {DNNL_ARG_WEIGHTS, at.w},
             {DNNL_ARG_DST, at.y},
             {DNNL_ARG_BIAS, bias}}};
  });
}

// oneDNN's kernels that gather patches or follow the definition are slower than conv.cpp.
bool is_fast(std::string_view name) {
  return name.find("ref") == name.npos && name.find("gemm") == name.npos;
}

std::int64_t bytes_of(const memory::desc& desc) {
  constexpr std::int64_t kLine = 64;
  return (static_cast<std::int64_t>(desc.get_size()) + kLine - 1) / kLine * kLine;
}

std::optional<Primitive> reorder(const memory::desc& from, const memory::desc& to) {
  if (from == to) return std::nullopt;
  const auto& engine = thread().engine;
  const dnnl::reorder::primitive_desc d(engine, from, engine, to, plain_attributes());
  return Primitive(d, {{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, to}});
}

}  // namespace

struct Convolution::Made {
  ConvPart part;
  bool fast = false;
  std::optional<Primitive> conv;
  std::optional<Primitive> load_x, load_y, store_x, store_y;  // none: the layout is row-major
  std::optional<Primitive> pack_w, unpack_w;
  std::int64_t x_bytes = 0, y_bytes = 0, w_bytes = 0;
};

Convolution::Convolution(const ConvPart& part) : made_(std::make_unique<Made>()) {
  Made& m = *made_;
  m.part = part;
  const Plain one(whole_item(part));
  const Plain plain(part);
  const memory::desc w = describe(part, one, any(one.w, packed_type(part)),
                                  [&](const auto& d) { return layouts(d).w; });
  const Layouts at = describe(part, plain, w, [&](const auto& d) {
    m.fast = is_fast(d.impl_info_str());
    return layouts(d);
  });
  if (!m.fast) return;
  m.conv = make_primitive(part, plain, w);
  if (part.pass == ConvPass::kBackwardData) {
    m.store_x = reorder(at.x, plain.x);
  } else {
    m.load_x = reorder(plain.x, at.x);
  }
  if (part.pass == ConvPass::kForward) {
    m.store_y = reorder(at.y, plain.y);
  } else {
    m.load_y = reorder(plain.y, at.y);
  }
  if (part.pass == ConvPass::kBackwardWeight) {
    m.unpack_w = reorder(w, plain.w);
  } else {
    m.pack_w = reorder(plain.w, w);
  }
  m.x_bytes = m.load_x || m.store_x ? bytes_of(at.x) : 0;
  m.y_bytes = m.load_y || m.store_y ? bytes_of(at.y) : 0;
  m.w_bytes = bytes_of(w);
}

Convolution::~Convolution() = default;

bool Convolution::fast() const { return made_->fast; }
std::int64_t Convolution::weight_bytes() const { return made_->w_bytes; }
std::int64_t Convolution::scratch_bytes() const { return made_->x_bytes + made_->y_bytes; }

void Convolution::pack(const float* weight, void* packed) const {
  if (made_->pack_w) {
    made_->pack_w->run({weight, packed});
  } else {  // float32, row-major
    std::copy_n(weight, made_->part.g.c_out * made_->part.w_row * made_->part.g.groups,
                static_cast<float*>(packed));
  }
}

void Convolution::unpack(const float* packed, float* weight) const {
  if (made_->unpack_w) {
    made_->unpack_w->run({packed, weight});
  } else {
    std::copy_n(packed, made_->part.g.c_out * made_->part.w_row * made_->part.g.groups, weight);
  }
}

void Convolution::run(const void* x, const void* packed, const float* bias, const void* y,
                      std::byte* scratch) const {
  Made& m = *made_;
  const void* own_x = m.x_bytes > 0 ? scratch : x;
  const void* own_y = m.y_bytes > 0 ? scratch + m.x_bytes : y;
  if (m.load_x) m.load_x->run({x, own_x});
  if (m.load_y) m.load_y->run({y, own_y});
  if (bias != nullptr) {
    m.conv->run({own_x, packed, own_y, bias});
  } else {
    m.conv->run({own_x, packed, own_y});
  }
  if (m.store_x) m.store_x->run({own_x, x});
  if (m.store_y) m.store_y->run({own_y, y});
}

const Convolution& convolution(const ConvPart& part) {
  thread_local RecentTable<ConvPart, Convolution, Hash> made;
  return made.get(part, [&] { return make_checked([&] { return Convolution(part); }); });
}

}  // namespace fovea::cpu::onednn
