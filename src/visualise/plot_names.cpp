#include "visualise/plot_names.h"

#include <algorithm>
#include <limits>

namespace fovea::visualise {
namespace {

constexpr double kNameSize = 11;
constexpr double kAway = 7;  // of a name from the middle of its point
constexpr Colour kLeader{150, 150, 150};

double shared_area(const Rect& a, const Rect& b) {
  const double w = std::min(a.right(), b.right()) - std::max(a.x, b.x);
  const double h = std::min(a.bottom(), b.bottom()) - std::max(a.y, b.y);
  return std::max(0.0, w) * std::max(0.0, h);
}

// Where a name of that width may stand at a distance from its point, the best first.
std::vector<Rect> places_beside(Point p, double width, double away) {
  const double h = 1.15 * kNameSize, near = 0.6 * away;
  const double left = p.x - width, middle = p.x - width / 2;
  return {{p.x + away, p.y - h / 2, width, h},     {left - away, p.y - h / 2, width, h},
          {middle, p.y - away - h, width, h},      {middle, p.y + away, width, h},
          {p.x + near, p.y - near - h, width, h},  {p.x + near, p.y + near, width, h},
          {left - near, p.y - near - h, width, h}, {left - near, p.y + near, width, h}};
}

// From a point to the nearest one of a name that is not beside it.
void draw_leader(Point from, const Rect& name, Painter& painter) {
  const Point to{std::clamp(from.x, name.x - 1, name.right() + 1),
                 std::clamp(from.y, name.y, name.bottom())};
  painter.line(std::vector<Point>{from, to}, {kLeader, 0.8, {}});
}

}  // namespace

void draw_names(const std::vector<NamedPoint>& points, const Rect& inner, const Rect& taken,
                Painter& painter) {
  constexpr double kDot = 4;
  std::vector<Rect> in_use{taken};
  for (const NamedPoint& point : points)
    in_use.push_back({point.at.x - kDot, point.at.y - kDot, 2 * kDot, 2 * kDot});
  for (const NamedPoint& point : points) {
    const double width = text_width(point.name, kNameSize);
    Rect best;
    double least = std::numeric_limits<double>::infinity(), distance = 0;
    for (const double away : {kAway, 2.5 * kAway, 4.0 * kAway, 5.5 * kAway}) {
      for (const Rect& place : places_beside(point.at, width, away)) {
        double cost = 4 * (away - kAway);  // as much as covering so many square units
        cost += 3 * (place.w * place.h - shared_area(place, inner));  // crossing an axis
        for (const Rect& other : in_use) cost += shared_area(place, other);
        if (cost >= least) continue;
        least = cost;
        best = place;
        distance = away;
      }
    }
    in_use.push_back(best);
    if (distance > kAway) draw_leader(point.at, best, painter);
    painter.text({best.x, best.centre_y()}, point.name, {kNameSize, kInk, Align::kLeft, false});
  }
}

}  // namespace fovea::visualise
