#include "metrics/masks/surface_elements.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>

#include "base/error.h"
#include "metrics/masks/cut_masks.h"

namespace fovea::metrics {
namespace {

using Normal = std::vector<double>;  // of an element, one number an axis; as long as it is large

/// One cell of each kind, by its corners inside (element_sizes()), and its elements. All other
/// cells are turned or mirrored ones, or have inside and outside exchanged, which changes no size.
struct Cell {
  unsigned inside;
  double unit;
  std::vector<Normal> elements;  // in that unit
};
const std::vector<Cell>& cells_of_plane() {
  static const std::vector<Cell> cells = {
      {1, 0.5, {{1, 1}}}, {3, 0.5, {{2, 0}}}, {6, 0.5, {{1, 1}, {1, 1}}}};
  return cells;
}
const std::vector<Cell>& cells_of_volume() {
  static const Normal corner = {1, 1, 1}, twice = {2, 2, 2}, face = {4, 0, 0}, edge = {2, 2, 0},
                      other_edge = {0, 2, 2};
  static const std::vector<Cell> cells = {{1, 0.125, {corner}},
                                          {3, 0.125, {edge, edge}},
                                          {6, 0.125, {corner, corner}},
                                          {7, 0.125, {corner, twice, face}},
                                          {15, 0.125, {face, face}},
                                          {22, 0.125, {corner, corner, corner}},
                                          {23, 0.125, {corner, corner, twice, twice}},
                                          {24, 0.125, {corner, corner}},
                                          {25, 0.125, {other_edge, other_edge, corner}},
                                          {27, 0.125, {other_edge, corner, {2, 0, 2}, {3, 3, 3}}},
                                          {30, 0.125, {corner, corner, twice, face}},
                                          {60, 0.125, {edge, edge, edge, edge}},
                                          {105, 0.125, {corner, corner, corner, corner}}};
  return cells;
}

// Axis a of the new cell is axis order[a] of the old one, from behind where mirrored has bit a.
unsigned turned(unsigned inside, const std::vector<std::size_t>& order, unsigned mirrored) {
  const std::size_t axes = order.size();
  const auto bit = [&](unsigned corner, std::size_t axis) {
    return corner >> (axes - 1 - axis) & 1u;
  };
  unsigned result = 0;
  for (unsigned corner = 0; corner < 1u << axes; ++corner) {
    if ((inside >> corner & 1u) == 0) continue;
    unsigned to = 0;
    for (std::size_t a = 0; a < axes; ++a)
      to = to << 1 | (bit(corner, order[a]) ^ (mirrored >> a & 1u));
    result |= 1u << to;
  }
  return result;
}

// Of elements with these normals, each axis of which is order[a] of the cell's.
double size_of(const Cell& cell, const std::vector<std::size_t>& order,
               const std::vector<double>& spacing) {
  double size = 0;
  for (const Normal& normal : cell.elements) {
    double squared = 0;
    for (std::size_t a = 0; a < order.size(); ++a) {
      double length = cell.unit * normal[order[a]];
      for (std::size_t other = 0; other < order.size(); ++other)
        if (other != a) length *= spacing[other];
      squared += length * length;
    }
    size += std::sqrt(squared);
  }
  return size;
}

// Where the surface passes between pixels: the cells of a grid that is larger by one.
struct Surface {
  std::vector<std::uint8_t> there;
  std::vector<double> sizes;
};

Surface surface_of(std::span<const std::uint8_t> mask, const Grid& grid, const Grid& cells,
                   const std::vector<double>& sizes) {
  const std::size_t axes = grid.size.size();
  Surface surface;
  std::vector<std::int64_t> at(axes, 0);
  for (std::int64_t cell = 0; cell < cells.pixels(); ++cell) {
    std::size_t inside = 0;
    for (unsigned corner = 0; corner < 1u << axes; ++corner) {
      std::int64_t pixel = 0;
      bool within = true;
      for (std::size_t a = 0; a < axes; ++a) {
        const std::int64_t x = at[a] - 1 + (corner >> (axes - 1 - a) & 1u);
        within = within && x >= 0 && x < grid.size[a];
        pixel = pixel * grid.size[a] + x;
      }
      if (within && mask[static_cast<std::size_t>(pixel)] != 0) inside |= std::size_t{1} << corner;
    }
    surface.there.push_back(inside != 0 && inside + 1 != sizes.size() ? 1 : 0);
    surface.sizes.push_back(sizes[inside]);
    for (std::size_t a = axes; a-- > 0;) {
      if (++at[a] < cells.size[a]) break;
      at[a] = 0;
    }
  }
  return surface;
}

struct Share {
  double part = 0, whole = 0;
};

void add_share(const Surface& of, const Surface& to, const Grid& cells, double tolerance,
               Share& share) {
  const std::vector<double> squared = squared_distances(to.there, cells);
  for (std::size_t i = 0; i < of.there.size(); ++i) {
    if (of.there[i] == 0) continue;
    share.whole += of.sizes[i];
    if (std::sqrt(squared[i]) <= tolerance) share.part += of.sizes[i];
  }
}

}  // namespace

std::vector<double> element_sizes(const std::vector<double>& spacing) {
  const std::size_t axes = spacing.size();
  const unsigned corners = 1u << axes;
  const std::size_t kinds = std::size_t{1} << corners;
  std::vector<double> sizes(kinds, 0);
  for (const Cell& cell : axes == 2 ? cells_of_plane() : cells_of_volume()) {
    std::vector<std::size_t> order(axes);
    std::iota(order.begin(), order.end(), std::size_t{0});
    do {
      const double size = size_of(cell, order, spacing);
      for (unsigned mirrored = 0; mirrored < corners; ++mirrored) {
        const std::size_t inside = turned(cell.inside, order, mirrored);
        sizes[inside] = sizes[kinds - 1 - inside] = size;
      }
    } while (std::next_permutation(order.begin(), order.end()));
  }
  return sizes;
}

double surface_dice(std::span<const std::uint8_t> a, std::span<const std::uint8_t> b,
                    const Grid& grid, double tolerance) {
  check_grid(a.size(), grid);
  check_grid(b.size(), grid);
  const std::size_t axes = grid.size.size();
  FOVEA_CHECK(axes == 2 || axes == 3, ShapeError,
              fmt::format("surface dice: grid of {} axes; expected a plane or a volume", axes));
  if (is_empty(a) || is_empty(b)) return std::numeric_limits<double>::quiet_NaN();
  const CutMasks cut = cut_masks(a, b, grid);
  Grid cells = cut.grid;
  std::vector<double> spacing;
  for (std::size_t axis = 0; axis < axes; ++axis) {
    ++cells.size[axis];
    spacing.push_back(grid.step(axis));
  }
  const std::vector<double> sizes = element_sizes(spacing);
  const Surface of_a = surface_of(cut.a, cut.grid, cells, sizes);
  const Surface of_b = surface_of(cut.b, cut.grid, cells, sizes);
  Share share;
  add_share(of_a, of_b, cells, tolerance, share);
  add_share(of_b, of_a, cells, tolerance, share);
  return share.part / share.whole;
}

}  // namespace fovea::metrics
