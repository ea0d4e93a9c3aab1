#include "floors/floors.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <limits>

#include "base/error.h"
#include "base/file.h"
#include "visualise/drawing/painter.h"

namespace fovea::floors {
namespace {

namespace fs = std::filesystem;
using Floors = std::map<std::string, Floor>;
using Names = std::vector<std::string>;
using visualise::Point;
using visualise::Rect;

constexpr double kWidth = 236, kHeight = 44, kAcross = 30, kDown = 22, kMargin = 12;
constexpr double kNameSize = 13, kWordsSize = 10;
constexpr visualise::Colour kFill{238, 242, 247}, kLine{120, 132, 148};

// What the floor `name` may be called by: the first folder of an included path.
void add_includes(const fs::path& folder, const std::set<std::string>& names, Floor& floor) {
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    const std::string ending = entry.path().extension().string();
    if (ending != ".h" && ending != ".cpp" && ending != ".cu" && ending != ".def") continue;
    const std::string text = io::read_text(entry.path());
    const std::string word = "#include \"";
    for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at)) {
      at += word.size();
      const std::string used = text.substr(at, text.find_first_of("/\"\n", at) - at);
      if (used != floor.name && names.count(used) != 0) floor.uses.insert(used);
    }
  }
}

std::string words_of(const fs::path& readme, const std::string& name) {
  const std::string text = io::read_text(readme), head = fmt::format("# {}: ", name);
  FOVEA_CHECK(
      text.starts_with(head), FileError,
      fmt::format("{}: expected a first line \"{}<what it holds>\"", readme.string(), head));
  return text.substr(head.size(), text.find('\n') - head.size());
}

// Those below, however far.
std::set<std::string> reached(const Floors& floors, const std::string& from) {
  std::set<std::string> all;
  std::vector<std::string> open{from};
  while (!open.empty()) {
    const std::string name = open.back();
    open.pop_back();
    for (const std::string& used : floors.at(name).uses)
      if (all.insert(used).second) open.push_back(used);
  }
  return all;
}

// The floors that an arrow goes to: those that no other one of `uses` reaches.
std::map<std::string, Names> arrows_of(const Floors& floors) {
  std::map<std::string, Names> arrows;
  for (const auto& [name, floor] : floors) {
    for (const std::string& used : floor.uses) {
      const bool further =
          std::any_of(floor.uses.begin(), floor.uses.end(), [&](const std::string& other) {
            return other != used && reached(floors, other).count(used) != 0;
          });
      if (!further) arrows[name].push_back(used);
    }
  }
  return arrows;
}

// Rows count from the bottom; every floor stands as high as those that use it allow.
struct Rows {
  std::map<std::string, int> of;
  int count = 0;
  Names column;  // a longest way from the top down
};

Rows rows_of(const Floors& floors) {
  std::map<std::string, int> depth;  // below the highest that use it
  const std::function<int(const std::string&)> depth_of = [&](const std::string& name) -> int {
    const auto known = depth.find(name);
    if (known != depth.end()) return known->second;
    int below = 0;
    for (const auto& [other, floor] : floors)
      if (floor.uses.count(name) != 0) below = std::max(below, depth_of(other) + 1);
    return depth[name] = below;
  };
  Rows rows;
  std::string deepest;
  for (const auto& [name, floor] : floors) {
    if (depth_of(name) >= rows.count) {
      rows.count = depth_of(name) + 1;
      deepest = name;
    }
  }
  for (const auto& [name, below] : depth) rows.of[name] = rows.count - 1 - below;
  rows.column = {deepest};
  while (depth[rows.column.front()] > 0) {
    const auto above = std::find_if(floors.begin(), floors.end(), [&](const auto& one) {
      return one.second.uses.count(rows.column.front()) != 0 &&
             depth[one.first] + 1 == depth[rows.column.front()];
    });
    rows.column.insert(rows.column.begin(), above->first);
  }
  return rows;
}

// The row of each floor, and its column from the left.
struct Place {
  int row = 0, column = 0;
};
using Places = std::map<std::string, Place>;

// Whether the level part of an arrow runs through a box. An arrow from the first column leaves
// sideways and falls into its target; any other one falls first.
int boxes_crossed(const Places& places, const Place& from, const Place& to) {
  if (from.column == to.column) return 0;
  const int row = from.column == 0 ? from.row : to.row;
  const auto [low, high] = std::minmax(from.column, to.column);
  return static_cast<int>(std::count_if(places.begin(), places.end(), [&](const auto& one) {
    return one.second.row == row && one.second.column > low && one.second.column < high;
  }));
}

// The rows that the level ends of a floor's arrows lie in, which nothing else may cross.
struct Span {
  int low = 0, high = 0;
};

std::map<std::string, Span> spans_of(const Rows& rows, const std::map<std::string, Names>& arrows) {
  std::map<std::string, Span> spans;
  for (const auto& [name, row] : rows.of) spans[name] = {row, row};
  for (const auto& [name, targets] : arrows) {
    const bool main = std::ranges::find(rows.column, name) != rows.column.end();
    for (const std::string& target : targets) {
      int& low = spans[name].low;
      if (main) {
        spans[target].high = std::max(spans[target].high, rows.of.at(name));
      } else {
        low = std::min(low, rows.of.at(target));
      }
    }
  }
  return spans;
}

// Each side floor in the first column that has room for it and its arrows, in this order.
Places placed(const Rows& rows, const Names& side, const std::map<std::string, Span>& spans) {
  Places places;
  for (const std::string& name : rows.column) places[name] = {rows.of.at(name), 0};
  std::vector<std::vector<Span>> columns;
  for (const std::string& name : side) {
    const Span& own = spans.at(name);
    const auto has_room = [&](const std::vector<Span>& column) {
      return std::ranges::all_of(
          column, [&](const Span& s) { return s.high < own.low || s.low > own.high; });
    };
    const auto found = std::ranges::find_if(columns, has_room);
    const auto at = static_cast<std::size_t>(found - columns.begin());
    if (found == columns.end()) columns.emplace_back();
    columns[at].push_back(own);
    places[name] = {rows.of.at(name), static_cast<int>(at) + 1};
  }
  return places;
}

// Where the fewest arrows run through boxes, the columns are fewest, and arrows shortest.
Places places_of(const Rows& rows, const std::map<std::string, Names>& arrows) {
  constexpr int kBox = 1000, kColumn = 10;
  const std::map<std::string, Span> spans = spans_of(rows, arrows);
  Names side;
  for (const auto& [name, row] : rows.of)
    if (std::ranges::find(rows.column, name) == rows.column.end()) side.push_back(name);
  Places best;
  int least = std::numeric_limits<int>::max();
  do {
    const Places places = placed(rows, side, spans);
    int cost = 0;
    for (const auto& [name, place] : places) cost = std::max(cost, kColumn * place.column);
    for (const auto& [name, targets] : arrows) {
      for (const std::string& target : targets)
        cost += kBox * boxes_crossed(places, places.at(name), places.at(target)) +
                std::abs(places.at(name).column - places.at(target).column);
    }
    if (cost < least) {
      least = cost;
      best = places;
    }
  } while (std::ranges::next_permutation(side).found);
  return best;
}

Rect box_of(const Place& place, int rows) {
  return {kMargin + place.column * (kWidth + kAcross),
          kMargin + (rows - 1 - place.row) * (kHeight + kDown), kWidth, kHeight};
}

void draw_arrow(visualise::Painter& painter, const Place& from, const Place& to, int rows) {
  const Rect a = box_of(from, rows), b = box_of(to, rows);
  std::vector<Point> line;
  if (from.column == to.column) {
    line = {{a.centre_x(), a.bottom()}, {b.centre_x(), b.y}};
  } else if (from.column == 0) {
    line = {{a.right(), a.centre_y()}, {b.centre_x(), a.centre_y()}, {b.centre_x(), b.y}};
  } else {
    const double side = to.column < from.column ? b.right() : b.x;
    line = {{a.centre_x(), a.bottom()}, {a.centre_x(), b.centre_y()}, {side, b.centre_y()}};
  }
  painter.line(line, {kLine, 1.2, {}});
  constexpr double kHead = 4;
  const Point tip = line.back(), before = line[line.size() - 2];
  const bool down = tip.x == before.x;
  const double back = !down && tip.x > before.x ? -1 : 1;
  const std::vector<Point> head =
      down ? std::vector<Point>{tip,
                                {tip.x - kHead, tip.y - 2 * kHead},
                                {tip.x + kHead, tip.y - 2 * kHead}}
           : std::vector<Point>{tip,
                                {tip.x + back * 2 * kHead, tip.y - kHead},
                                {tip.x + back * 2 * kHead, tip.y + kHead}};
  painter.polygon(head, kLine, 1);
}

}  // namespace

Floors read_floors(const fs::path& root) {
  std::map<std::string, fs::path> folders{{"apps", root / "apps"}, {"tools", root / "tools"}};
  for (const auto& entry : fs::directory_iterator(root / "src"))
    if (entry.is_directory()) folders.emplace(entry.path().filename().string(), entry.path());
  std::set<std::string> names;
  for (const auto& [name, folder] : folders) names.insert(name);
  Floors floors;
  for (const auto& [name, folder] : folders) {
    Floor& floor = floors[name];
    floor.name = name;
    floor.words = words_of(folder / "README.md", name);
    add_includes(folder, names, floor);
  }
  return floors;
}

Names circle_of(const Floors& floors) {
  for (const auto& [name, floor] : floors) {
    if (reached(floors, name).count(name) == 0) continue;
    Names circle{name};
    while (true) {
      for (const std::string& used : floors.at(circle.back()).uses) {
        if (used != name && reached(floors, used).count(name) == 0) continue;
        circle.push_back(used);
        break;
      }
      const auto again = std::find(circle.begin(), circle.end() - 1, circle.back());
      if (again == circle.end() - 1) continue;
      return {again, circle.end()};
    }
  }
  return {};
}

std::string picture_of(const Floors& floors) {
  const Names circle = circle_of(floors);
  FOVEA_CHECK(circle.empty(), ConfigError,
              fmt::format("floors include each other: {}", fmt::join(circle, " -> ")));
  const Rows rows = rows_of(floors);
  const std::map<std::string, Names> arrows = arrows_of(floors);
  const Places places = places_of(rows, arrows);
  visualise::SvgPainter painter;
  for (const auto& [name, targets] : arrows)
    for (const std::string& target : targets)
      draw_arrow(painter, places.at(name), places.at(target), rows.count);
  int columns = 0;
  for (const auto& [name, place] : places) {
    const Rect box = box_of(place, rows.count);
    painter.rectangle(box, kFill);
    painter.frame(box, {kLine, 1, {}});
    painter.text({box.centre_x(), box.y + 0.32 * kHeight}, name,
                 {kNameSize, visualise::kInk, visualise::Align::kCentre});
    painter.text({box.centre_x(), box.y + 0.72 * kHeight},
                 visualise::fit_text(floors.at(name).words, kWordsSize, kWidth - 10),
                 {kWordsSize, visualise::kInk, visualise::Align::kCentre});
    columns = std::max(columns, place.column + 1);
  }
  return painter.document(2 * kMargin + columns * (kWidth + kAcross) - kAcross,
                          2 * kMargin + rows.count * (kHeight + kDown) - kDown);
}

}  // namespace fovea::floors
