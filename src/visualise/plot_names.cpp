#include "visualise/plot_names.h"

#include <algorithm>
#include <limits>

namespace fovea::visualise {
namespace {

constexpr double kNameSize = 11;
constexpr double kAway = 7;  // of a name from the middle of its point

double shared_area(const Rect& a, const Rect& b) {
  const double w = std::min(a.right(), b.right()) - std::max(a.x, b.x);
  const double h = std::min(a.bottom(), b.bottom()) - std::max(a.y, b.y);
  return std::max(0.0, w) * std::max(0.0, h);
}

// Where a name of that width may stand, the best first.
std::vector<Rect> places_beside(Point p, double width) {
  const double h = 1.15 * kNameSize, near = 0.6 * kAway;
  const double left = p.x - width, middle = p.x - width / 2;
  return {{p.x + kAway, p.y - h / 2, width, h},    {left - kAway, p.y - h / 2, width, h},
          {middle, p.y - kAway - h, width, h},     {middle, p.y + kAway, width, h},
          {p.x + near, p.y - near - h, width, h},  {p.x + near, p.y + near, width, h},
          {left - near, p.y - near - h, width, h}, {left - near, p.y + near, width, h}};
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
    double least = std::numeric_limits<double>::infinity();
    for (const Rect& place : places_beside(point.at, width)) {
      double covered = 3 * (place.w * place.h - shared_area(place, inner));  // crossing an axis
      for (const Rect& other : in_use) covered += shared_area(place, other);
      if (covered >= least) continue;
      least = covered;
      best = place;
    }
    in_use.push_back(best);
    painter.text({best.x, best.centre_y()}, point.name, {kNameSize, kInk, Align::kLeft, false});
  }
}

}  // namespace fovea::visualise
