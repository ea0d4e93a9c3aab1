// Updates in place, sums over lists of tensors.
#include <algorithm>
#include <array>
#include <cmath>
#include <tuple>

#include "backend/gpu/launch.h"

namespace fovea::gpu {

void GpuBackend::axpy(double alpha, const Tensor& x, const Tensor& y) const {
  launch_items(Kernel::axpy, y.dtype(), y.numel(), Index{y.numel()}, Real{alpha, y.dtype()}, x, y);
}

namespace {

// The next of a list of tensors that one launch takes: at most `most`, of one dtype.
struct Taken {
  List list{};
  std::size_t count = 0;
  Index pieces = 0;
};

template <class TensorAt>
Taken take(std::size_t size, const TensorAt& at, std::size_t from, std::size_t most, Index piece) {
  Taken taken;
  for (; from + taken.count < size && taken.count < most; ++taken.count) {
    const Tensor& x = at(from + taken.count);
    if (x.dtype() != at(from).dtype()) break;
    taken.list.sizes[taken.count] = x.numel();
    taken.pieces += (x.numel() + piece - 1) / piece;
    taken.list.first_piece[taken.count + 1] = taken.pieces;
  }
  std::fill(taken.list.first_piece + taken.count, taken.list.first_piece + LIST_TENSORS + 1,
            taken.pieces);
  return taken;
}

// Calls launch(dtype, pieces, list, tensors...) for all of a list, members_of(item) being the
// tensors of an item, which have one size.
template <class Item, class Members, class Launch>
void for_updates(const std::vector<Item>& of, const Members& members_of, const Launch& launch) {
  constexpr std::size_t kEach = std::tuple_size_v<decltype(members_of(of[0]))>;
  const auto size_of = [&](std::size_t i) -> const Tensor& { return *members_of(of[i])[0]; };
  for (std::size_t i = 0; i < of.size();) {
    const Taken taken = take(of.size(), size_of, i, UPDATE_TENSORS, UPDATE_PIECE);
    std::array<Tensor, UPDATE_TENSORS * kEach> tensors;
    for (std::size_t k = 0; k < taken.count; ++k) {
      const auto members = members_of(of[i + k]);
      for (std::size_t m = 0; m < kEach; ++m) tensors[k * kEach + m] = *members[m];
    }
    std::apply(
        [&](const auto&... x) { launch(size_of(i).dtype(), taken.pieces, taken.list, x...); },
        tensors);
    i += taken.count;
  }
}

}  // namespace

void GpuBackend::adam(const AdamArgs& args, const std::vector<AdamTensors>& of) const {
  const auto step = static_cast<double>(args.step);
  const double rate = args.lr / (1 - std::pow(args.beta1, step));
  const double root = 1 / std::sqrt(1 - std::pow(args.beta2, step));
  const auto members = [](const AdamTensors& x) {
    return std::array{&x.grad, &x.param, &x.m, &x.v};
  };
  for_updates(
      of, members, [&](DType dtype, std::int64_t pieces, const List& list, const auto&... x) {
        launch(Kernel::adam, dtype, pieces, list, args.scale, Real{args.beta1, dtype},
               Real{1 - args.beta1, dtype}, Real{args.beta2, dtype}, Real{1 - args.beta2, dtype},
               Real{rate, dtype}, Real{root, dtype}, Real{args.eps, dtype},
               Real{args.kept(), dtype}, Real{args.in_gradient(), dtype}, x...);
      });
}

void GpuBackend::sgd(const SgdArgs& args, const std::vector<SgdTensors>& of) const {
  const auto members = [](const SgdTensors& x) {
    return std::array{&x.grad, &x.param, &x.momentum};
  };
  for_updates(
      of, members, [&](DType dtype, std::int64_t pieces, const List& list, const auto&... x) {
        launch(Kernel::sgd, dtype, pieces, list, args.scale, Real{args.lr, dtype},
               Real{args.momentum, dtype}, Real{1 - args.dampening, dtype},
               Real{args.weight_decay, dtype}, Int32{args.nesterov}, Int32{args.first}, x...);
      });
}

void GpuBackend::ema(double decay, const std::vector<Averaged>& of) const {
  const auto members = [](const Averaged& x) { return std::array{&x.x, &x.average}; };
  for_updates(
      of, members, [&](DType dtype, std::int64_t pieces, const List& list, const auto&... x) {
        launch(Kernel::ema, dtype, pieces, list, Real{decay, dtype}, Real{1 - decay, dtype}, x...);
      });
}

void GpuBackend::sum_list(bool squares, const std::vector<Tensor>& xs, const Tensor& y) const {
  const DType wide = widest();
  const auto at = [&](std::size_t i) -> const Tensor& { return xs[i]; };
  std::int64_t pieces = 0;
  for (const Tensor& x : xs) pieces += (x.numel() + LIST_PIECE - 1) / LIST_PIECE;
  const Tensor partial = Tensor::empty({pieces}, wide, y.device());
  Index first = 0;
  for (std::size_t i = 0; i < xs.size();) {
    const Taken taken = take(xs.size(), at, i, LIST_TENSORS, LIST_PIECE);
    std::array<Tensor, LIST_TENSORS> tensors;
    std::copy_n(xs.begin() + static_cast<std::ptrdiff_t>(i), taken.count, tensors.begin());
    const Index now = taken.pieces;
    std::apply(
        [&](const auto&... x) {
          launch(Kernel::list_pieces, xs[i].dtype(), now, taken.list, Int32{squares},
                 now == 0 ? partial : partial.rows(first, first + now), x...);
        },
        tensors);
    first += now;
    i += taken.count;
  }
  launch(Kernel::list_total, wide, 1, Index{pieces}, Int32{squares}, partial, y);
}

void GpuBackend::sum_squares(const std::vector<Tensor>& xs, const Tensor& sum) const {
  sum_list(true, xs, sum);
}

void GpuBackend::all_finite(const std::vector<Tensor>& xs, const Tensor& finite) const {
  sum_list(false, xs, finite);
}

}  // namespace fovea::gpu
