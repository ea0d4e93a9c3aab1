// Softmax attention with one map a head, or two maps over one value stream. A block of queries at a
// time sees all keys, so memory grows with the number of keys, not with its square; the backward
// pass computes the map again from the saved log-sum-exp.
#include <cmath>
#include <limits>

#include "backend/cpu/blas.h"
#include "backend/cpu/cpu_backend.h"
#include "backend/cpu/simd/simd.h"

namespace fovea::cpu {
namespace {

constexpr std::int64_t kQueryBlock = 64;

template <class T>
constexpr T kNever = -std::numeric_limits<T>::infinity();

// One stream (q, k) of one item and head, with what its maps need.
template <class T>
struct Stream {
  const T* q;
  const T* k;
  std::int64_t ldq, ldk, dim;
};

// The geometry that all heads share.
template <class T>
struct Problem {
  const AttentionArgs& args;
  const simd::Kernels<T>& kernels;
  const std::uint8_t* mask;  // (batch, keys) or null

  std::int64_t keys() const { return args.keys; }

  Stream<T> stream(const HeadLayout& q, const HeadLayout& k, const T* pq, const T* pk,
                   std::int64_t item, std::size_t head) const {
    return {pq + item * q.batch_stride + q.head_offsets[head],
            pk + item * k.batch_stride + k.head_offsets[head], q.token_stride, k.token_stride,
            q.dim};
  }

  // scores (rows, keys) of queries first.. of one stream; disallowed keys are -inf.
  void scores(const Stream<T>& s, std::int64_t item, std::int64_t first, std::int64_t rows,
              T* to) const {
    blas_gemm<T>(false, true, rows, keys(), s.dim, static_cast<T>(args.scale), s.q + first * s.ldq,
                 s.ldq, s.k, s.ldk, T{0}, to, keys());
    const std::uint8_t* allowed = mask == nullptr ? nullptr : mask + item * keys();
    if (allowed == nullptr && !args.causal) return;
    for (std::int64_t r = 0; r < rows; ++r) {
      const std::int64_t seen =
          args.causal
              ? std::max<std::int64_t>(0, std::min(keys(), first + r + 1 + keys() - args.queries))
              : keys();
      T* row = to + r * keys();
      if (allowed != nullptr) {
        for (std::int64_t j = 0; j < seen; ++j) row[j] = allowed[j] ? row[j] : kNever<T>;
      }
      std::fill(row + seen, row + keys(), kNever<T>);
    }
  }

  // Scores -> probabilities in place; lse per row.
  void softmax(T* map, std::int64_t rows, T* lse) const {
    for (std::int64_t r = 0; r < rows; ++r) {
      T* row = map + r * keys();
      const T top = kernels.max(row, keys());
      if (top == kNever<T>) {
        std::fill_n(row, keys(), T{0});
        lse[r] = kNever<T>;
        continue;
      }
      const T sum = kernels.exp_sum(row, top, row, keys());
      kernels.unary(UnaryOp::kAffine, 1.0 / static_cast<double>(sum), 0, row, row, keys());
      lse[r] = top + std::log(sum);
    }
  }

  // Scores -> probabilities in place from saved lse.
  void from_lse(T* map, std::int64_t rows, const T* lse) const {
    for (std::int64_t r = 0; r < rows; ++r) {
      T* row = map + r * keys();
      if (lse[r] == kNever<T>) {
        std::fill_n(row, keys(), T{0});
      } else {
        kernels.exp_sum(row, lse[r], row, keys());
      }
    }
  }

  // dS (rows, keys) back to dq and dk of one stream.
  void scores_backward(const Stream<T>& s, std::int64_t first, std::int64_t rows, const T* ds,
                       T* dq, T* dk) const {
    const T scale = static_cast<T>(args.scale);
    if (dq != nullptr) {
      blas_gemm<T>(false, false, rows, s.dim, keys(), scale, ds, keys(), s.k, s.ldk, T{1},
                   dq + first * s.ldq, s.ldq);
    }
    if (dk != nullptr) {
      blas_gemm<T>(true, false, keys(), s.dim, rows, scale, ds, keys(), s.q + first * s.ldq, s.ldq,
                   T{1}, dk, s.ldk);
    }
  }
};

std::int64_t query_blocks(const AttentionArgs& args) {
  return (args.queries + kQueryBlock - 1) / kQueryBlock;
}

template <class T>
T* head_of(const Tensor& tensor, const HeadLayout& layout, std::int64_t item, std::size_t head) {
  if (!tensor.defined()) return nullptr;
  return tensor.data<T>() + item * layout.batch_stride + layout.head_offsets[head];
}

// Heads that share stored keys or values add to the same gradient, so they must take turns.
bool heads_share(const HeadLayout& layout) {
  for (std::size_t i = 1; i < layout.head_offsets.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      if (layout.head_offsets[i] == layout.head_offsets[j]) return true;
    }
  }
  return false;
}

// Calls body(item, head) for all pairs; heads of one item in turn if they share gradients.
template <class Body>
void for_heads(ThreadPool& pool, const AttentionArgs& args, bool in_turn, const Body& body) {
  if (in_turn) {
    pool.run(args.batch, [&](std::int64_t item) {
      for (std::int64_t head = 0; head < args.heads; ++head) body(item, head);
    });
    return;
  }
  pool.run(args.batch * args.heads, [&](std::int64_t i) { body(i / args.heads, i % args.heads); });
}

template <class T>
const std::uint8_t* mask_of(const Tensor& mask) {
  return mask.defined() ? mask.data<std::uint8_t>() : nullptr;
}

Tensor workspace(const AttentionArgs& args, std::int64_t maps, const Tensor& like) {
  return Tensor::empty({maps, std::min(kQueryBlock, args.queries), args.keys}, like.dtype(),
                       like.device());
}

}  // namespace

void CpuBackend::attention(const AttentionArgs& args, const Tensor& q, const Tensor& k,
                           const Tensor& v, const Tensor& mask, const Tensor& out,
                           const Tensor& lse) const {
  dispatch_float("attention", q.dtype(), [&]<class T>(T) {
    const Problem<T> problem{args, simd::kernels().of<T>(), mask_of<T>(mask)};
    const std::int64_t blocks = query_blocks(args);
    const std::int64_t width = args.heads * args.v.dim;
    pool_.run(args.batch * args.heads * blocks, [&](std::int64_t piece) {
      const std::int64_t pair = piece / blocks;
      const std::int64_t item = pair / args.heads;
      const std::int64_t head = pair % args.heads;
      const auto h = static_cast<std::size_t>(head);
      const std::int64_t first = piece % blocks * kQueryBlock;
      const std::int64_t rows = std::min(kQueryBlock, args.queries - first);
      const Tensor space = workspace(args, 1, q);
      T* map = space.data<T>();
      problem.scores(problem.stream(args.q, args.k, q.data<T>(), k.data<T>(), item, h), item, first,
                     rows, map);
      problem.softmax(map, rows, lse.data<T>() + pair * args.queries + first);
      blas_gemm<T>(false, false, rows, args.v.dim, args.keys, T{1}, map, args.keys,
                   head_of<T>(v, args.v, item, h), args.v.token_stride, T{0},
                   out.data<T>() + (item * args.queries + first) * width + head * args.v.dim,
                   width);
    });
  });
}

void CpuBackend::attention_backward(const AttentionArgs& args, const Tensor& q, const Tensor& k,
                                    const Tensor& v, const Tensor& mask, const Tensor& out,
                                    const Tensor& lse, const Tensor& dout, const Tensor& dq,
                                    const Tensor& dk, const Tensor& dv) const {
  dispatch_float("attention_backward", q.dtype(), [&]<class T>(T) {
    const Problem<T> problem{args, simd::kernels().of<T>(), mask_of<T>(mask)};
    const std::int64_t width = args.heads * args.v.dim;
    const std::int64_t keys = args.keys;
    for_heads(
        pool_, args, heads_share(args.k) || heads_share(args.v),
        [&](std::int64_t item, std::int64_t head) {
          const auto h = static_cast<std::size_t>(head);
          const Stream<T> s = problem.stream(args.q, args.k, q.data<T>(), k.data<T>(), item, h);
          const Tensor space = workspace(args, 2, q);
          T* map = space.data<T>();
          T* dmap = map + space.numel() / 2;
          for (std::int64_t first = 0; first < args.queries; first += kQueryBlock) {
            const std::int64_t rows = std::min(kQueryBlock, args.queries - first);
            const std::int64_t place = (item * args.queries + first) * width + head * args.v.dim;
            const T* dy = dout.data<T>() + place;
            problem.scores(s, item, first, rows, map);
            problem.from_lse(map, rows,
                             lse.data<T>() + (item * args.heads + head) * args.queries + first);
            if (T* to = head_of<T>(dv, args.v, item, h)) {
              blas_gemm<T>(true, false, keys, args.v.dim, rows, T{1}, map, keys, dy, width, T{1},
                           to, args.v.token_stride);
            }
            if (!dq.defined() && !dk.defined()) continue;
            blas_gemm<T>(false, true, rows, keys, args.v.dim, T{1}, dy, width,
                         head_of<T>(v, args.v, item, h), args.v.token_stride, T{0}, dmap, keys);
            for (std::int64_t r = 0; r < rows; ++r) {
              // rowsum(dP * P) = dO . O, without another pass over the keys.
              const T shift = problem.kernels.dot(dy + r * width, out.data<T>() + place + r * width,
                                                  args.v.dim);
              problem.kernels.softmax_backward(T{1}, map + r * keys, dmap + r * keys, shift,
                                               dmap + r * keys, keys);
            }
            problem.scores_backward(s, first, rows, dmap, head_of<T>(dq, args.q, item, h),
                                    head_of<T>(dk, args.k, item, h));
          }
        });
  });
}

void CpuBackend::two_map_attention(const AttentionArgs& args, const Tensor& q, const Tensor& k,
                                   const Tensor& v, const Tensor& c1, const Tensor& c2,
                                   const Tensor& mask, const Tensor& out, const Tensor& lse) const {
  dispatch_float("two_map_attention", q.dtype(), [&]<class T>(T) {
    const Problem<T> problem{args, simd::kernels().of<T>(), mask_of<T>(mask)};
    const std::int64_t blocks = query_blocks(args);
    const std::int64_t width = args.heads * args.v.dim;
    pool_.run(args.batch * args.heads * blocks, [&](std::int64_t piece) {
      const std::int64_t pair = piece / blocks;
      const std::int64_t item = pair / args.heads;
      const std::int64_t head = pair % args.heads;
      const auto h = static_cast<std::size_t>(head);
      const std::int64_t first = piece % blocks * kQueryBlock;
      const std::int64_t rows = std::min(kQueryBlock, args.queries - first);
      const Tensor space = workspace(args, 2, q);
      T* map1 = space.data<T>();
      T* map2 = map1 + space.numel() / 2;
      T* lse1 = lse.data<T>() + pair * args.queries + first;
      problem.scores(problem.stream(args.q, args.k, q.data<T>(), k.data<T>(), item, h), item, first,
                     rows, map1);
      problem.softmax(map1, rows, lse1);
      problem.scores(problem.stream(args.q2, args.k2, q.data<T>(), k.data<T>(), item, h), item,
                     first, rows, map2);
      problem.softmax(map2, rows, lse1 + args.batch * args.heads * args.queries);
      for (std::int64_t r = 0; r < rows; ++r) {
        const std::int64_t place = (item * args.queries + first + r) * args.heads + head;
        problem.kernels.combine(c1.data<T>()[place], map1 + r * args.keys, c2.data<T>()[place],
                                map2 + r * args.keys, map1 + r * args.keys, args.keys);
      }
      blas_gemm<T>(false, false, rows, args.v.dim, args.keys, T{1}, map1, args.keys,
                   head_of<T>(v, args.v, item, h), args.v.token_stride, T{0},
                   out.data<T>() + (item * args.queries + first) * width + head * args.v.dim,
                   width);
    });
  });
}

void CpuBackend::two_map_attention_backward(const AttentionArgs& args, const Tensor& q,
                                            const Tensor& k, const Tensor& v, const Tensor& c1,
                                            const Tensor& c2, const Tensor& mask, const Tensor& lse,
                                            const Tensor& dout, const Tensor& dq, const Tensor& dk,
                                            const Tensor& dv, const Tensor& dc1,
                                            const Tensor& dc2) const {
  dispatch_float("two_map_attention_backward", q.dtype(), [&]<class T>(T) {
    const Problem<T> problem{args, simd::kernels().of<T>(), mask_of<T>(mask)};
    const auto& kernels = problem.kernels;
    const std::int64_t width = args.heads * args.v.dim;
    const std::int64_t keys = args.keys;
    const bool in_turn = heads_share(args.k) || heads_share(args.k2) || heads_share(args.v);
    for_heads(pool_, args, in_turn, [&](std::int64_t item, std::int64_t head) {
      const auto h = static_cast<std::size_t>(head);
      const Stream<T> streams[2] = {
          problem.stream(args.q, args.k, q.data<T>(), k.data<T>(), item, h),
          problem.stream(args.q2, args.k2, q.data<T>(), k.data<T>(), item, h)};
      const HeadLayout* q_layouts[2] = {&args.q, &args.q2};
      const HeadLayout* k_layouts[2] = {&args.k, &args.k2};
      const Tensor* coefficients[2] = {&c1, &c2};
      const Tensor* coefficient_gradients[2] = {&dc1, &dc2};
      const Tensor space = workspace(args, 4, q);
      const std::int64_t size = space.numel() / 4;
      T* maps[2] = {space.data<T>(), space.data<T>() + size};
      T* fused = space.data<T>() + 2 * size;
      T* dfused = space.data<T>() + 3 * size;
      for (std::int64_t first = 0; first < args.queries; first += kQueryBlock) {
        const std::int64_t rows = std::min(kQueryBlock, args.queries - first);
        const T* dy = dout.data<T>() + (item * args.queries + first) * width + head * args.v.dim;
        const auto place = [&](std::int64_t r) {
          return (item * args.queries + first + r) * args.heads + head;
        };
        for (int i = 0; i < 2; ++i) {
          problem.scores(streams[i], item, first, rows, maps[i]);
          const std::int64_t row =
              ((i * args.batch + item) * args.heads + head) * args.queries + first;
          problem.from_lse(maps[i], rows, lse.data<T>() + row);
        }
        if (T* to = head_of<T>(dv, args.v, item, h)) {
          for (std::int64_t r = 0; r < rows; ++r) {
            kernels.combine(c1.data<T>()[place(r)], maps[0] + r * keys, c2.data<T>()[place(r)],
                            maps[1] + r * keys, fused + r * keys, keys);
          }
          blas_gemm<T>(true, false, keys, args.v.dim, rows, T{1}, fused, keys, dy, width, T{1}, to,
                       args.v.token_stride);
        }
        blas_gemm<T>(false, true, rows, keys, args.v.dim, T{1}, dy, width,
                     head_of<T>(v, args.v, item, h), args.v.token_stride, T{0}, dfused, keys);
        for (int i = 0; i < 2; ++i) {
          // dS = c P (dA - sum_j P dA), and that sum is the gradient of c. dgsa 2.2 (backward).
          for (std::int64_t r = 0; r < rows; ++r) {
            T* map = maps[i] + r * keys;
            const T dc = kernels.dot(map, dfused + r * keys, keys);
            if (coefficient_gradients[i]->defined())
              coefficient_gradients[i]->data<T>()[place(r)] = dc;
            kernels.softmax_backward(coefficients[i]->data<T>()[place(r)], map, dfused + r * keys,
                                     dc, map, keys);
          }
          problem.scores_backward(streams[i], first, rows, maps[i],
                                  head_of<T>(dq, *q_layouts[i], item, h),
                                  head_of<T>(dk, *k_layouts[i], item, h));
        }
      }
    });
  });
}

}  // namespace fovea::cpu
