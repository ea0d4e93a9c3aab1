#include "attention/rotary.h"

#include <fmt/format.h>

#include <cmath>

#include "base/error.h"
#include "ops/elementwise.h"
#include "tensor/host.h"

namespace fovea::attention {
namespace {

// In float64 up to here, since the angles of far tokens are large.
ops::RotaryTables tables_of(const std::vector<double>& angles, const Shape& shape, DType dtype,
                            const Device& device) {
  const auto table = [&](double (*f)(double)) {
    std::vector<double> values(angles.size());
    for (std::size_t i = 0; i < angles.size(); ++i) values[i] = f(angles[i]);
    return from_doubles(values, shape, dtype, device);
  };
  return {table([](double angle) { return std::cos(angle); }),
          table([](double angle) { return std::sin(angle); })};
}

}  // namespace

ops::RotaryTables sequence_rotary(std::int64_t n, std::int64_t head_dim, double base, DType dtype,
                                  const Device& device, std::int64_t first) {
  const Shape shape{n, head_dim / 2};
  std::vector<double> angles;
  for (std::int64_t position = first; position < first + n; ++position) {
    for (std::int64_t pair = 0; pair < shape[1]; ++pair) {
      const double rate =
          std::pow(base, -2.0 * static_cast<double>(pair) / static_cast<double>(head_dim));
      angles.push_back(static_cast<double>(position) * rate);
    }
  }
  return tables_of(angles, shape, dtype, device);
}

std::vector<double> grid_rates(const char* place, std::int64_t head_dim) {
  FOVEA_CHECK(head_dim % 4 == 0 && head_dim > 0, ConfigError,
              fmt::format("{}: heads of {} channels; rotary positions on a grid need a multiple "
                          "of 4",
                          place, head_dim));
  const std::int64_t count = head_dim / 4;
  std::vector<double> rates;
  for (std::int64_t r = 0; r < count; ++r) {
    const double share = count == 1 ? 0 : static_cast<double>(r) / static_cast<double>(count - 1);
    rates.push_back(std::pow(Rotary::kBase, -share));
  }
  return rates;
}

ops::RotaryTables grid_rotary(const std::vector<double>& rates, std::int64_t prefix_tokens,
                              std::int64_t grid_h, std::int64_t grid_w, DType dtype,
                              const Device& device) {
  const auto count = static_cast<std::int64_t>(rates.size());
  std::vector<double> angles(static_cast<std::size_t>(prefix_tokens * 2 * count), 0.0);
  for (std::int64_t row = 0; row < grid_h; ++row) {
    for (std::int64_t column = 0; column < grid_w; ++column) {
      for (const double rate : rates) angles.push_back(static_cast<double>(row) * rate);
      for (const double rate : rates) angles.push_back(static_cast<double>(column) * rate);
    }
  }
  return tables_of(angles, {prefix_tokens + grid_h * grid_w, 2 * count}, dtype, device);
}

Rotary::Rotary(std::optional<double> base, std::int64_t head_dim)
    : kind_(base ? RotaryKind::kSequence : RotaryKind::kNone),
      base_(base.value_or(kBase)),
      head_dim_(head_dim) {
  FOVEA_CHECK(!base || head_dim % 2 == 0, ConfigError,
              fmt::format("attention.rope_base: heads of {} channels are no pairs", head_dim));
}

Rotary::Rotary(RotaryKind kind, std::int64_t head_dim)
    : Rotary(kind == RotaryKind::kSequence ? std::optional(kBase) : std::nullopt, head_dim) {
  kind_ = kind;
  if (kind == RotaryKind::kGrid) rates_ = grid_rates("attention.rope", head_dim);
}

ops::RotaryTables Rotary::tables(std::int64_t n, const Tensor& like, const Context& context) {
  if (context.rope_cos.defined()) return {context.rope_cos, context.rope_sin};
  if (kind_ == RotaryKind::kNone) return {};
  const bool grid = kind_ == RotaryKind::kGrid;
  FOVEA_CHECK(!grid || n == context.prefix_tokens + context.grid_h * context.grid_w, ShapeError,
              fmt::format("rotary: {} tokens, {} of them before a grid of {} x {}", n,
                          context.prefix_tokens, context.grid_h, context.grid_w));
  const DType dtype = compute_dtype(like.dtype());
  const Device device = like.device();
  return tables_.of({n, context.prefix_tokens, context.grid_w, dtype, device}, [&] {
    return grid ? grid_rotary(rates_, context.prefix_tokens, context.grid_h, context.grid_w, dtype,
                              device)
                : sequence_rotary(n, head_dim_, base_, dtype, device);
  });
}

Tensor Rotary::operator()(const Tensor& x, const Context& context) {
  return applies(context) ? ops::rotate(x, tables(x.size(1), x, context)) : x;
}

}  // namespace fovea::attention
