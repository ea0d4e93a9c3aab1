#include "data/sets/drawn_scene.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace fovea::data {
namespace {

struct Rgb {
  double r = 0, g = 0, b = 0;
};

Rgb mixed_colours(Rgb a, Rgb b, double share) {
  return {a.r + share * (b.r - a.r), a.g + share * (b.g - a.g), a.b + share * (b.b - a.b)};
}

Rgb darker(Rgb c, double by) { return mixed_colours(c, {0, 0, 0}, by); }
Rgb lighter(Rgb c, double by) { return mixed_colours(c, {1, 1, 1}, by); }

struct ScenePoint {
  double x = 0, y = 0;
};

// Where an object stands: its own coordinates go from -1 to 1, y downwards.
struct SceneFrame {
  ScenePoint middle;
  double radius = 1;
  ScenePoint at(double x, double y) const { return {middle.x + radius * x, middle.y + radius * y}; }
};

// Numbers in the order in which they are asked for.
class SceneDraws {
 public:
  explicit SceneDraws(const RandomStream& stream) : stream_(stream) {}
  double number(double low, double high) {
    return low + (high - low) * double{stream_.uniform(next_++)};
  }
  std::size_t choice(std::size_t count) {
    return static_cast<std::size_t>(stream_.below(static_cast<std::int64_t>(count), next_++));
  }

 private:
  RandomStream stream_;
  std::uint64_t next_ = 0;
};

// Four points of every pixel, so that edges are smooth; coordinates are shares of the side.
class SceneCanvas {
 public:
  explicit SceneCanvas(std::int64_t size)
      : size_(size), side_(2 * size), points_(static_cast<std::size_t>(side_ * side_)) {}

  template <class Paint>
  void fill(double left, double top, double right, double bottom, Paint paint) {
    const auto pixel = [&](double share) {
      return std::clamp<std::int64_t>(static_cast<std::int64_t>(std::floor(share * side())), 0,
                                      side_);
    };
    for (std::int64_t i = pixel(top); i < std::min(side_, pixel(bottom) + 1); ++i) {
      for (std::int64_t j = pixel(left); j < std::min(side_, pixel(right) + 1); ++j)
        paint(ScenePoint{(static_cast<double>(j) + 0.5) / side(),
                         (static_cast<double>(i) + 0.5) / side()},
              points_[static_cast<std::size_t>(i * side_ + j)]);
    }
  }

  void ellipse(ScenePoint middle, double rx, double ry, Rgb colour) {
    fill(middle.x - rx, middle.y - ry, middle.x + rx, middle.y + ry, [&](ScenePoint p, Rgb& to) {
      const double x = (p.x - middle.x) / rx, y = (p.y - middle.y) / ry;
      if (x * x + y * y <= 1) to = colour;
    });
  }

  // Even-odd.
  void polygon(const std::vector<ScenePoint>& corners, Rgb colour) {
    double left = 1, top = 1, right = 0, bottom = 0;
    for (const ScenePoint& c : corners) {
      left = std::min(left, c.x);
      right = std::max(right, c.x);
      top = std::min(top, c.y);
      bottom = std::max(bottom, c.y);
    }
    fill(left, top, right, bottom, [&](ScenePoint p, Rgb& to) {
      bool inside = false;
      for (std::size_t i = 0, k = corners.size() - 1; i < corners.size(); k = i++) {
        const ScenePoint &a = corners[i], &b = corners[k];
        if ((a.y > p.y) != (b.y > p.y) && p.x < a.x + (p.y - a.y) / (b.y - a.y) * (b.x - a.x))
          inside = !inside;
      }
      if (inside) to = colour;
    });
  }

  void box(const SceneFrame& f, double left, double top, double right, double bottom, Rgb colour) {
    polygon({f.at(left, top), f.at(right, top), f.at(right, bottom), f.at(left, bottom)}, colour);
  }

  Image picture() const {
    Image image{size_, size_, 3, {}};
    for (std::int64_t i = 0; i < size_; ++i) {
      for (std::int64_t j = 0; j < size_; ++j) {
        Rgb sum;
        for (const std::int64_t at :
             {2 * i * side_ + 2 * j, 2 * i * side_ + 2 * j + 1, (2 * i + 1) * side_ + 2 * j,
              (2 * i + 1) * side_ + 2 * j + 1}) {
          const Rgb& c = points_[static_cast<std::size_t>(at)];
          sum = {sum.r + c.r / 4, sum.g + c.g / 4, sum.b + c.b / 4};
        }
        for (const double v : {sum.r, sum.g, sum.b})
          image.pixels.push_back(static_cast<std::uint8_t>(std::clamp(v, 0.0, 1.0) * 255 + 0.5));
      }
    }
    return image;
  }

 private:
  double side() const { return static_cast<double>(side_); }

  std::int64_t size_, side_;
  std::vector<Rgb> points_;
};

constexpr std::array<Rgb, 7> kPaints = {{{0.84, 0.18, 0.16},
                                         {0.95, 0.62, 0.12},
                                         {0.98, 0.86, 0.25},
                                         {0.16, 0.42, 0.76},
                                         {0.55, 0.22, 0.62},
                                         {0.93, 0.93, 0.90},
                                         {0.20, 0.58, 0.52}}};
constexpr std::array<Rgb, 4> kSkies = {
    {{0.45, 0.68, 0.92}, {0.95, 0.66, 0.48}, {0.62, 0.76, 0.84}, {0.36, 0.44, 0.68}}};
constexpr std::array<Rgb, 4> kGrounds = {
    {{0.36, 0.62, 0.28}, {0.82, 0.72, 0.48}, {0.52, 0.66, 0.34}, {0.66, 0.56, 0.40}}};
constexpr double kHorizon = 0.58;

void draw_landscape(SceneCanvas& canvas, SceneDraws& draws) {
  const Rgb sky = kSkies[draws.choice(kSkies.size())];
  const Rgb ground = kGrounds[draws.choice(kGrounds.size())];
  canvas.fill(0, 0, 1, 1, [&](ScenePoint p, Rgb& to) { to = lighter(sky, 0.7 * p.y / kHorizon); });
  canvas.ellipse({draws.number(0.08, 0.92), draws.number(0.06, 0.25)}, 0.045, 0.045,
                 {1.0, 0.95, 0.72});
  for (std::size_t cloud = 0, count = 1 + draws.choice(3); cloud < count; ++cloud) {
    const ScenePoint at{draws.number(0, 1), draws.number(0.06, 0.36)};
    const double size = draws.number(0.03, 0.055);
    for (const double dx : {-1.3, 0.0, 1.2})
      canvas.ellipse({at.x + dx * size, at.y - (dx == 0.0 ? 0.4 * size : 0)}, 1.3 * size,
                     0.8 * size, lighter(sky, 0.85));
  }
  for (int hill = 0; hill < 3; ++hill) {
    const Rgb colour = mixed_colours(darker(ground, 0.35), sky, 0.55 - 0.2 * hill);
    canvas.ellipse({draws.number(0, 1), kHorizon + 0.1}, draws.number(0.25, 0.5),
                   draws.number(0.16, 0.3) - 0.03 * hill, colour);
  }
  canvas.fill(0, kHorizon, 1, 1, [&](ScenePoint p, Rgb& to) {
    to = darker(ground, 0.3 * (p.y - kHorizon) / (1 - kHorizon));
  });
  for (std::size_t bush = 0, count = 4 + draws.choice(5); bush < count; ++bush) {
    const double y = draws.number(kHorizon + 0.03, 0.97), size = 0.02 + 0.05 * (y - kHorizon);
    const ScenePoint at{draws.number(0, 1), y};
    const Rgb colour = bush % 3 == 0 ? Rgb{0.45, 0.43, 0.42} : Rgb{0.16, 0.40, 0.20};
    canvas.ellipse(at, 1.4 * size, size, darker(colour, draws.number(0, 0.3)));
    canvas.ellipse({at.x + size, at.y + 0.2 * size}, size, 0.8 * size, darker(colour, 0.15));
  }
}

void draw_house(SceneCanvas& c, const SceneFrame& f, Rgb paint, double) {
  const Rgb wall = lighter(paint, 0.55), roof = darker(paint, 0.2);
  c.box(f, 0.3, -0.85, 0.55, -0.2, darker(roof, 0.3));
  c.box(f, -0.8, -0.1, 0.8, 0.95, wall);
  c.polygon({f.at(-1, -0.05), f.at(0, -0.85), f.at(1, -0.05)}, roof);
  c.box(f, -0.15, 0.35, 0.2, 0.95, darker(paint, 0.5));
  for (const double x : {-0.62, 0.38}) c.box(f, x, 0.15, x + 0.28, 0.45, {0.75, 0.88, 0.95});
}

void draw_balloon(SceneCanvas& c, const SceneFrame& f, Rgb paint, double) {
  c.polygon({f.at(-0.5, 0.05), f.at(0.5, 0.05), f.at(0.16, 0.75), f.at(-0.16, 0.75)},
            lighter(paint, 0.35));
  c.ellipse(f.at(0, -0.3), 0.7 * f.radius, 0.7 * f.radius, paint);
  c.ellipse(f.at(0, -0.3), 0.42 * f.radius, 0.7 * f.radius, lighter(paint, 0.55));
  c.ellipse(f.at(0, -0.3), 0.16 * f.radius, 0.7 * f.radius, paint);
  c.box(f, -0.18, 0.72, 0.18, 1, {0.45, 0.30, 0.16});
}

void draw_boat(SceneCanvas& c, const SceneFrame& f, Rgb paint, double) {
  c.ellipse(f.at(0, 0.85), 1.5 * f.radius, 0.3 * f.radius, {0.33, 0.55, 0.76});
  c.box(f, -0.04, -1, 0.04, 0.5, {0.35, 0.25, 0.15});
  c.polygon({f.at(0.1, -0.95), f.at(0.1, 0.3), f.at(0.9, 0.3)}, {0.97, 0.97, 0.94});
  c.polygon({f.at(-0.1, -0.7), f.at(-0.1, 0.3), f.at(-0.7, 0.3)}, lighter(paint, 0.5));
  c.polygon({f.at(-1, 0.45), f.at(1, 0.45), f.at(0.65, 0.9), f.at(-0.65, 0.9)}, paint);
}

void draw_car(SceneCanvas& c, const SceneFrame& f, Rgb paint, double) {
  c.polygon({f.at(-0.65, 0.1), f.at(-0.4, -0.35), f.at(0.35, -0.35), f.at(0.65, 0.1)}, paint);
  c.polygon({f.at(-0.52, 0.08), f.at(-0.34, -0.25), f.at(-0.05, -0.25), f.at(-0.05, 0.08)},
            {0.78, 0.90, 0.96});
  c.polygon({f.at(0.05, 0.08), f.at(0.05, -0.25), f.at(0.3, -0.25), f.at(0.5, 0.08)},
            {0.78, 0.90, 0.96});
  c.box(f, -1, 0.08, 1, 0.5, paint);
  c.box(f, -1, 0.34, 1, 0.42, darker(paint, 0.35));
  for (const double x : {-0.55, 0.55}) {
    c.ellipse(f.at(x, 0.52), 0.24 * f.radius, 0.24 * f.radius, {0.12, 0.12, 0.13});
    c.ellipse(f.at(x, 0.52), 0.1 * f.radius, 0.1 * f.radius, {0.75, 0.75, 0.77});
  }
}

void draw_rocket(SceneCanvas& c, const SceneFrame& f, Rgb paint, double) {
  c.polygon({f.at(-0.16, 0.6), f.at(0.16, 0.6), f.at(0, 1.05)}, {1.0, 0.75, 0.2});
  c.polygon({f.at(-0.25, 0.15), f.at(-0.25, 0.62), f.at(-0.6, 0.75)}, darker(paint, 0.15));
  c.polygon({f.at(0.25, 0.15), f.at(0.25, 0.62), f.at(0.6, 0.75)}, darker(paint, 0.15));
  c.polygon({f.at(-0.28, -0.45), f.at(0.28, -0.45), f.at(0.28, 0.62), f.at(-0.28, 0.62)},
            {0.93, 0.93, 0.95});
  c.polygon(
      {f.at(-0.28, -0.45), f.at(0.28, -0.45), f.at(0.12, -0.85), f.at(0, -1), f.at(-0.12, -0.85)},
      paint);
  c.ellipse(f.at(0, -0.12), 0.15 * f.radius, 0.15 * f.radius, {0.25, 0.45, 0.65});
}

void draw_windmill(SceneCanvas& c, const SceneFrame& f, Rgb paint, double turn) {
  c.polygon({f.at(-0.25, -0.3), f.at(0.25, -0.3), f.at(0.45, 1), f.at(-0.45, 1)},
            lighter(paint, 0.45));
  c.polygon({f.at(-0.3, -0.28), f.at(0, -0.6), f.at(0.3, -0.28)}, darker(paint, 0.25));
  c.box(f, -0.12, 0.55, 0.12, 1, darker(paint, 0.55));
  for (int blade = 0; blade < 4; ++blade) {
    const double angle = turn + blade * 1.5707963267948966;
    const auto turned = [&](double x, double y) {
      return f.at(x * std::cos(angle) - y * std::sin(angle),
                  -0.3 + x * std::sin(angle) + y * std::cos(angle));
    };
    c.polygon({turned(0.06, -0.03), turned(0.85, -0.03), turned(0.85, 0.2), turned(0.12, 0.2)},
              {0.97, 0.96, 0.92});
    c.polygon({turned(0, -0.04), turned(0.9, -0.04), turned(0.9, 0.03), turned(0, 0.03)},
              {0.3, 0.22, 0.16});
  }
}

// In the order of kSceneObjects; `turn` is an angle that some have.
struct ObjectDrawing {
  bool flies;
  void (*draw)(SceneCanvas& canvas, const SceneFrame& frame, Rgb paint, double turn);
};

constexpr std::array<ObjectDrawing, kSceneObjects.size()> kDrawings = {{{false, draw_house},
                                                                        {true, draw_balloon},
                                                                        {false, draw_boat},
                                                                        {false, draw_car},
                                                                        {true, draw_rocket},
                                                                        {false, draw_windmill}}};

}  // namespace

Image drawn_scene(const RandomStream& random, std::size_t object, std::int64_t size) {
  const ObjectDrawing& drawing = kDrawings[object];
  SceneDraws draws(random);
  SceneCanvas canvas(size);
  draw_landscape(canvas, draws);
  const double radius = draws.number(0.18, 0.26);
  const double x = draws.number(0.26, 0.74);
  const double y = drawing.flies ? draws.number(0.28, 0.46) : draws.number(0.56, 0.74);
  const Rgb paint = kPaints[draws.choice(kPaints.size())];
  drawing.draw(canvas, {{x, y}, radius}, paint, draws.number(0.1, 1.4));
  return canvas.picture();
}

}  // namespace fovea::data
