// Host arrays: a Tensor as an xtensor view without a copy, and an xtensor expression as a new
// Tensor. xtensor is the language for mathematics on the host: metrics, statistics, pictures, a
// researcher's own analysis; kernels are not written in it.
//
//   const Tensor maps = file.tensors.at("vit/0-cat/attn/11");            // (heads, n, n)
//   const auto a = as_xtensor<const double, 3>(maps);
//   const xt::xtensor<double, 2> mean = xt::mean(a, {0});                // over heads
//   const Tensor doubled = from_xtensor(2 * mean, maps.device());
//
// The headers below take seconds to compile, so include this one in sources, not in headers. Views
// and expressions are lazy: give a result a type (xt::xtensor<double, 2>), not `auto`.
#pragma once

#include <algorithm>
#include <array>
#include <concepts>
#include <iterator>
#include <memory>
#include <span>
#include <type_traits>
#include <vector>
#include <xtensor/xadapt.hpp>
#include <xtensor/xmath.hpp>
#include <xtensor/xnoalias.hpp>
#include <xtensor/xtensor.hpp>
#include <xtensor/xview.hpp>

#include "tensor/tensor.h"

namespace fovea {

/// What xtensor computes with. (bfloat16 is only a way to store: ops::cast it first.)
template <class T>
concept ArrayElement = std::is_arithmetic_v<T>;

/// The memory of a view, and its owner.
template <ArrayElement T>
using ArrayMemory = xt::xbuffer_adaptor<T*, xt::smart_ownership, std::shared_ptr<const void>>;

/// A view of fixed rank, and one of a rank known at run time.
template <ArrayElement T, std::size_t rank>
using XTensorView = xt::xtensor_adaptor<ArrayMemory<T>, rank, xt::layout_type::row_major>;
template <ArrayElement T>
using XArrayView = xt::xarray_adaptor<ArrayMemory<T>, xt::layout_type::row_major>;

namespace detail {

/// Throws ShapeError unless dtype and rank (-1: any) are what the view is for.
void check_view(const Tensor& tensor, DType dtype, int rank);
/// Throws ShapeError unless there are as many values as the sizes say.
void check_view(std::size_t values, std::span<const std::int64_t> sizes);

template <class T>
ArrayMemory<T> array_memory(const Tensor& tensor) {
  using Value = std::remove_const_t<T>;
  const auto size = static_cast<std::size_t>(tensor.numel());
  if constexpr (std::is_const_v<T>) {
    auto values = std::make_shared<HostValues<Value>>(tensor.host_values<Value>());
    const T* first = values->data();
    return {first, size, std::shared_ptr<const void>(std::move(values))};
  } else {
    return {tensor.data<Value>(), size, std::make_shared<const Tensor>(tensor)};
  }
}

/// The type of a tensor that holds an expression's values: booleans are masks of 0 and 1, and all
/// wide integers (indices of xt::argmax, sums of counts) are int64.
template <class V>
struct Stored {
  using type = std::conditional_t<std::integral<V> && sizeof(V) == 8, std::int64_t, V>;
};
template <>
struct Stored<bool> {
  using type = std::uint8_t;
};

}  // namespace detail

/// The elements of a tensor, which the view keeps alive. as_xtensor<const T, rank> reads them, from
/// any device: in place on the host, else from a copy. as_xtensor<T, rank> also writes, to the
/// tensors of the host only: xt::noalias(view) = expression.
/// Throws ShapeError unless T is the dtype and `rank` the number of axes, BackendError where memory
/// that is not the host's would be written.
template <ArrayElement T, std::size_t rank>
XTensorView<T, rank> as_xtensor(const Tensor& tensor) {
  detail::check_view(tensor, kDTypeOf<std::remove_const_t<T>>, static_cast<int>(rank));
  std::array<std::size_t, rank> shape;
  std::copy(tensor.shape().begin(), tensor.shape().end(), shape.begin());
  return {detail::array_memory<T>(tensor), shape};
}

/// A view of values that someone else holds: as_xtensor(std::span(matrix), {rows, cols}). Throws
/// ShapeError unless there are as many.
template <ArrayElement T, std::size_t rank>
XTensorView<T, rank> as_xtensor(std::span<T> values, const std::int64_t (&sizes)[rank]) {
  detail::check_view(values.size(), sizes);
  std::array<std::size_t, rank> shape;
  std::copy(std::begin(sizes), std::end(sizes), shape.begin());
  return {ArrayMemory<T>(values.data(), values.size(), nullptr), shape};
}

/// A tensor of any number of axes; slower to compute with.
template <ArrayElement T>
XArrayView<T> as_xarray(const Tensor& tensor) {
  detail::check_view(tensor, kDTypeOf<std::remove_const_t<T>>, -1);
  const typename XArrayView<T>::shape_type shape(tensor.shape().begin(), tensor.shape().end());
  return {detail::array_memory<T>(tensor), shape};
}

/// The values of an expression in a new tensor of a host device: float, double, int64 (from any
/// 8-byte integer), int32 or uint8 (from bool).
template <class E>
Tensor from_xtensor(const xt::xexpression<E>& expression, const Device& device) {
  using T = typename detail::Stored<typename E::value_type>::type;
  const E& e = expression.derived_cast();
  Shape sizes;
  for (const auto size : e.shape()) sizes.push_back(static_cast<std::int64_t>(size));
  const Tensor result = Tensor::empty(sizes, kDTypeOf<T>, device);
  const auto count = static_cast<std::size_t>(result.numel());
  auto elements = xt::adapt(result.data<T>(), count, xt::no_ownership(), e.shape());
  xt::noalias(elements) = xt::cast<T>(e);
  return result;
}

}  // namespace fovea
