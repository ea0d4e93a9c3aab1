#include "visualise/plots/plot_names.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace fovea::visualise {
namespace {

constexpr double kNameSize = 11;
constexpr double kAway = 4.2;  // of a name from the dot of its point
constexpr Colour kLeader{150, 150, 150};

double shared_area(const Rect& a, const Rect& b) {
  const double w = std::min(a.right(), b.right()) - std::max(a.x, b.x);
  const double h = std::min(a.bottom(), b.bottom()) - std::max(a.y, b.y);
  return std::max(0.0, w) * std::max(0.0, h);
}

struct NamePlace {
  Rect box;
  double cost = 0;  // as much as covering so many square units
  bool leader = false;
};

// Where a name of that width may stand, the best first: around its point, then to its right and
// left in rows above and below.
std::vector<NamePlace> places_for(const NamedPoint& point, double width) {
  const Point p = point.at;
  const double away = point.radius + kAway;  // from the middle
  const double h = 1.15 * kNameSize, near = 0.6 * away;
  const double left = p.x - width, middle = p.x - width / 2;
  std::vector<NamePlace> places;
  for (const Point corner : {Point{p.x + away, p.y - h / 2}, Point{left - away, p.y - h / 2},
                             Point{middle, p.y - away - h}, Point{middle, p.y + away},
                             Point{p.x + near, p.y - near - h}, Point{p.x + near, p.y + near},
                             Point{left - near, p.y - near - h}, Point{left - near, p.y + near}})
    places.push_back({{corner.x, corner.y, width, h}});
  const double far = 3 * away;
  for (int row = 1; row <= 5; ++row) {
    for (const double y : {p.y - row * h - h / 2, p.y + row * h - h / 2}) {
      places.push_back({{p.x + far, y, width, h}, 20.0 + 10 * row, true});
      places.push_back({{left - far, y, width, h}, 25.0 + 10 * row, true});
    }
  }
  return places;
}

// From a point to the side of a name that faces it.
std::vector<Point> leader_of(Point from, const Rect& name) {
  return {from, {name.x > from.x ? name.x - 2 : name.right() + 2, name.centre_y()}};
}

// How many of the points 1 unit apart on a line lie in the box.
double length_inside(const std::vector<Point>& line, const Rect& box) {
  const double dx = line[1].x - line[0].x, dy = line[1].y - line[0].y;
  const int steps = static_cast<int>(std::hypot(dx, dy)) + 1;
  double inside = 0;
  for (int k = 0; k <= steps; ++k) {
    const double x = line[0].x + dx * k / steps, y = line[0].y + dy * k / steps;
    if (x > box.x && x < box.right() && y > box.y && y < box.bottom()) ++inside;
  }
  return inside;
}

}  // namespace

void draw_names(const std::vector<NamedPoint>& points, const Rect& inner, const Rect& taken,
                Painter& painter) {
  std::vector<Rect> in_use;
  for (const NamedPoint& point : points) {
    const double half = point.radius + 1.2;
    in_use.push_back({point.at.x - half, point.at.y - half, 2 * half, 2 * half});
  }
  in_use.push_back(taken);
  // From the top, so that names of a cluster lie in the order of its points.
  std::vector<std::size_t> order(points.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return points[a].at.y < points[b].at.y; });
  for (const std::size_t i : order) {
    const NamedPoint& point = points[i];
    if (point.name.empty()) continue;
    NamePlace best;
    double least = std::numeric_limits<double>::infinity();
    for (const NamePlace& place : places_for(point, text_width(point.name, kNameSize))) {
      const Rect& box = place.box;
      // Names must not cross an axis.
      double cost = place.cost + 3 * (box.w * box.h - shared_area(box, inner));
      for (std::size_t k = 0; k < in_use.size(); ++k) {
        cost += shared_area(box, in_use[k]);
        if (place.leader && k != i) cost += 10 * length_inside(leader_of(point.at, box), in_use[k]);
      }
      if (cost >= least) continue;
      least = cost;
      best = place;
    }
    in_use.push_back(best.box);
    if (best.leader) painter.line(leader_of(point.at, best.box), {kLeader, 0.8, {}});
    painter.text({best.box.x, best.box.centre_y()}, point.name,
                 {kNameSize, kInk, Align::kLeft, false});
  }
}

}  // namespace fovea::visualise
