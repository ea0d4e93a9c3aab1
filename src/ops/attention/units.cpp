#include "ops/attention/units.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/error.h"
#include "ops/indexing.h"
#include "ops/shape.h"

namespace fovea::ops {
namespace {

using Numbers = std::vector<std::int64_t>;

std::int64_t number_of(const Numbers& sizes) {
  std::int64_t result = 1;
  for (const std::int64_t size : sizes) result *= size;
  return result;
}

// One axis of a plan.
struct UnitAxis {
  std::int64_t n, unit, count, shift;
  bool dilated, padded_first;

  std::int64_t places() const { return unit * count; }
  // The place of a member in the rolled grid.
  std::int64_t place(std::int64_t of, std::int64_t member) const {
    return dilated ? of + member * count : of * unit + member;
  }
  // The place in the grid before rolling, or -1: padding.
  std::int64_t token(std::int64_t place) const {
    if (!padded_first && place >= n) return -1;
    const std::int64_t before = (place + shift) % (padded_first ? places() : n);
    return before < n ? before : -1;
  }
  std::int64_t region(std::int64_t place) const {
    if (shift == 0 || place < places() - unit) return 0;
    return place < places() - shift ? 1 : 2;
  }
};

std::vector<UnitAxis> axes_of(const UnitPlan& plan) {
  const std::size_t rank = plan.grid.size();
  const auto fits = [&](const Numbers& sizes) { return sizes.empty() || sizes.size() == rank; };
  FOVEA_CHECK(rank > 0 && plan.unit.size() == rank && fits(plan.count) && fits(plan.shift),
              ShapeError,
              fmt::format("units: grid {}, unit {}, count {} and shift {} differ in their axes",
                          plan.grid, plan.unit, plan.count, plan.shift));
  std::vector<UnitAxis> axes;
  for (std::size_t i = 0; i < rank; ++i) {
    const std::int64_t n = plan.grid[i], unit = plan.unit[i];
    FOVEA_CHECK(n > 0 && unit > 0, ShapeError,
                fmt::format("units: grid {} and unit {}; expected sizes of at least 1", plan.grid,
                            plan.unit));
    const std::int64_t count = plan.count.empty() ? (n + unit - 1) / unit : plan.count[i];
    const std::int64_t shift = plan.shift.empty() ? 0 : plan.shift[i];
    FOVEA_CHECK(unit * count >= n && shift >= 0 && shift < unit && shift <= n, ShapeError,
                fmt::format("units: axis {} of {} tokens has {} units of {} members, shifted by "
                            "{}; expected units that cover it and a smaller shift",
                            i, n, count, unit, shift));
    axes.push_back({n, unit, count, shift, plan.dilated, plan.padded_first});
  }
  return axes;
}

// Calls body(coordinates) for all of a box, row by row.
template <class Body>
void for_box(const Numbers& sizes, const Body& body) {
  Numbers at(sizes.size(), 0);
  for (std::int64_t left = number_of(sizes); left > 0; --left) {
    body(at);
    for (std::size_t axis = sizes.size(); axis-- > 0;) {
      if (++at[axis] < sizes[axis]) break;
      at[axis] = 0;
    }
  }
}

}  // namespace

Units::Units(std::int64_t n, std::int64_t members, const std::vector<std::int64_t>& tokens,
             const std::vector<std::int64_t>& regions, const Device& device)
    : n_(n) {
  const std::int64_t places = std::ssize(tokens);
  FOVEA_CHECK(
      members > 0 && places % members == 0 && (regions.empty() || std::ssize(regions) == places),
      ShapeError,
      fmt::format("units: {} places and {} regions for units of {}; expected whole units", places,
                  regions.size(), members));
  std::vector<bool> seen(static_cast<std::size_t>(n), false);
  std::int64_t found = 0;
  for (const std::int64_t token : tokens) {
    FOVEA_CHECK(token >= -1 && token < n, ShapeError,
                fmt::format("units: token {} of {}; -1 is padding", token, n));
    if (token < 0) continue;
    const auto i = static_cast<std::size_t>(token);
    FOVEA_CHECK(!seen[i], ShapeError, fmt::format("units: token {} is in two places", token));
    seen[i] = true;
    ++found;
  }
  FOVEA_CHECK(found == n, ShapeError,
              fmt::format("units: {} of {} tokens are in a unit; expected all", found, n));
  tokens_ = Tensor::from(tokens, {places / members, members}, device);
  const bool mixed = std::any_of(regions.begin(), regions.end(),
                                 [&](std::int64_t region) { return region != regions.front(); });
  if (mixed) regions_ = Tensor::from(regions, tokens_.shape(), device);
}

Units::Units(const UnitPlan& plan, const Device& device) {
  const std::vector<UnitAxis> axes = axes_of(plan);
  Numbers counts;
  for (const UnitAxis& axis : axes) counts.push_back(axis.count);
  Numbers tokens, regions;
  for_box(counts, [&](const Numbers& unit) {
    for_box(plan.unit, [&](const Numbers& member) {
      std::int64_t token = 0, region = 0;
      for (std::size_t i = 0; i < axes.size(); ++i) {
        const std::int64_t place = axes[i].place(unit[i], member[i]);
        const std::int64_t at = axes[i].token(place);
        token = token < 0 || at < 0 ? -1 : token * axes[i].n + at;
        region = region * 3 + axes[i].region(place);
      }
      tokens.push_back(token);
      regions.push_back(region);
    });
  });
  *this = Units(number_of(plan.grid), number_of(plan.unit), tokens, regions, device);
}

RelativePositions::RelativePositions(const std::vector<std::int64_t>& unit, const Device& device) {
  for (const std::int64_t size : unit) rows_ *= 2 * size - 1;
  Numbers index;
  for_box(unit, [&](const Numbers& query) {
    for_box(unit, [&](const Numbers& key) {
      std::int64_t row = 0;
      for (std::size_t i = 0; i < unit.size(); ++i)
        row = row * (2 * unit[i] - 1) + query[i] - key[i] + unit[i] - 1;
      index.push_back(row);
    });
  });
  const std::int64_t members = number_of(unit);
  index_ = Tensor::from(index, {members, members}, device);
}

Tensor RelativePositions::bias(const Tensor& table) const {
  return permute(embedding(table, index_), {2, 0, 1});
}

}  // namespace fovea::ops
