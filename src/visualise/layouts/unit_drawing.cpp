#include "visualise/layouts/unit_drawing.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "base/error.h"
#include "visualise/drawing/montage.h"
#include "visualise/layouts/label_overlay.h"

namespace fovea::visualise {
namespace {

constexpr double kPale = 0.75;  // share of white in the colours of other units

Colour paler(Colour c) {
  const auto mix = [](std::uint8_t v) {
    return static_cast<std::uint8_t>((1 - kPale) * v + kPale * 255 + 0.5);
  };
  return {mix(c.r), mix(c.g), mix(c.b)};
}

std::int64_t place_of(const UnitDrawing& d, std::int64_t z, std::int64_t y, std::int64_t x) {
  return (z * d.grid[1] + y) * d.grid[2] + x;
}

void check(const UnitDrawing& d) {
  const auto [depth, height, width] = d.grid;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    FOVEA_CHECK(d.token[axis] >= 0 && d.token[axis] < d.grid[axis], ShapeError,
                fmt::format("token {}, {}, {}: lies outside {} x {} x {} tokens", d.token[0],
                            d.token[1], d.token[2], depth, height, width));
  }
  FOVEA_CHECK(!d.rows.empty(), ShapeError, "unit drawing: no units to draw");
  for (const UnitRow& row : d.rows) {
    FOVEA_CHECK(row.units.n() == depth * height * width, ShapeError,
                fmt::format("unit drawing: {} has units of {} tokens for {} x {} x {}", row.name,
                            row.units.n(), depth, height, width));
  }
}

Canvas slice_of(const UnitDrawing& d, const std::vector<std::int64_t>& numbers, std::int64_t z,
                std::int64_t cell) {
  const std::int64_t chosen =
      numbers[static_cast<std::size_t>(place_of(d, d.token[0], d.token[1], d.token[2]))];
  Canvas picture(d.grid[2] * cell + 1, d.grid[1] * cell + 1, kGridLine);
  for (std::int64_t y = 0; y < d.grid[1]; ++y) {
    for (std::int64_t x = 0; x < d.grid[2]; ++x) {
      const std::int64_t number = numbers[static_cast<std::size_t>(place_of(d, z, y, x))];
      const Colour full = class_colour(number + 1);
      picture.fill_rectangle(x * cell + 1, y * cell + 1, cell - 1, cell - 1,
                             number == chosen ? full : paler(full));
      if (number == chosen) picture.frame(x * cell, y * cell, cell + 1, cell + 1, kInk);
    }
  }
  if (z == d.token[0]) {
    const std::int64_t dot = std::max<std::int64_t>(1, cell / 3), inset = (cell - dot) / 2;
    picture.fill_rectangle(d.token[2] * cell + inset, d.token[1] * cell + inset, dot, dot, kWhite);
  }
  return picture;
}

}  // namespace

std::vector<std::int64_t> unit_numbers(const ops::Units& units) {
  const auto tokens = units.tokens().host_values<std::int64_t>();
  std::vector<std::int64_t> regions(static_cast<std::size_t>(std::ssize(tokens)), 0);
  if (units.regions().defined()) {
    const auto given = units.regions().host_values<std::int64_t>();
    regions.assign(given.begin(), given.end());
  }
  using Group = std::pair<std::int64_t, std::int64_t>;  // unit, region
  std::vector<Group> groups(static_cast<std::size_t>(units.n()));
  for (std::size_t place = 0; place < regions.size(); ++place) {
    if (tokens[place] < 0) continue;
    groups[static_cast<std::size_t>(tokens[place])] = {
        static_cast<std::int64_t>(place) / units.members(), regions[place]};
  }
  std::map<Group, std::int64_t> known;
  std::vector<std::int64_t> numbers;
  for (const Group& group : groups)
    numbers.push_back(known.emplace(group, std::ssize(known)).first->second);
  return numbers;
}

Canvas render(const UnitDrawing& d) {
  check(d);
  const std::int64_t cell = d.cell > 0 ? d.cell : std::clamp<std::int64_t>(120 / d.grid[2], 5, 24);
  Montage montage;
  montage.title = d.title;
  montage.factor = 1;
  for (std::int64_t z = 0; z < d.grid[0]; ++z)
    montage.column_labels.push_back(fmt::format("slice {}", z));
  for (const UnitRow& row : d.rows) {
    montage.row_labels.push_back(row.name);
    const std::vector<std::int64_t> numbers = unit_numbers(row.units);
    std::vector<Canvas>& pictures = montage.rows.emplace_back();
    for (std::int64_t z = 0; z < d.grid[0]; ++z) pictures.push_back(slice_of(d, numbers, z, cell));
  }
  return render(montage);
}

}  // namespace fovea::visualise
