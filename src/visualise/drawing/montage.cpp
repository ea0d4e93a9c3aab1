#include "visualise/drawing/montage.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "visualise/drawing/heatmap.h"
#include "visualise/drawing/painter.h"

namespace fovea::visualise {
namespace {

constexpr double kMargin = 14;
constexpr double kGap = 8;  // between pictures, and between labels and pictures
constexpr double kWidestRowLabel = 180;

using Lines = std::vector<std::string>;
using Side = MontageBar::Side;

double widest(const Lines& lines, double size) {
  double width = 0;
  for (const std::string& line : lines) width = std::max(width, text_width(line, size));
  return width;
}

double height_of(const Lines& lines, double size) {
  return static_cast<double>(lines.size()) * kLineSpacing * size;
}

// Positions along one direction: where each row or column begins, and how large it is.
struct Track {
  std::vector<double> begin, size;

  double end() const { return begin.back() + size.back(); }
  void place(double at) {
    begin.clear();
    for (const double s : size) {
      begin.push_back(at);
      at += std::ceil(s) + kGap;
    }
  }
};

struct Layout {
  Track columns, rows;
  std::vector<Lines> column_labels, row_labels;
  std::vector<double> captions;  // heights below the pictures of each row
  Lines title;
  double labels_height = 0;
  double width = 0, height = 0;
};

std::int64_t count_columns(const Montage& m) {
  std::int64_t columns = 0;
  for (const auto& row : m.rows) columns = std::max(columns, std::ssize(row));
  return columns;
}

// The last row or column of a bar, exclusive.
std::int64_t end_of(const MontageBar& bar, std::int64_t available) {
  return bar.count == 0 ? available : bar.first + bar.count;
}

void check_bars(const Montage& m, Side side, std::int64_t available) {
  std::vector<bool> taken(static_cast<std::size_t>(available), false);
  for (const MontageBar& bar : m.bars) {
    if (bar.side != side) continue;
    const std::int64_t end = end_of(bar, available);
    FOVEA_CHECK(bar.first >= 0 && bar.first < end && end <= available, ConfigError,
                fmt::format("montage: colour bar over {}..{}; the grid has 0..{}", bar.first,
                            end - 1, available - 1));
    for (std::int64_t i = bar.first; i < end; ++i) {
      FOVEA_CHECK(!taken[static_cast<std::size_t>(i)], ConfigError,
                  fmt::format("montage: two colour bars on the same side cover {}", i));
      taken[static_cast<std::size_t>(i)] = true;
    }
  }
}

void check(const Montage& m) {
  const std::int64_t columns = count_columns(m);
  FOVEA_CHECK(columns > 0, ShapeError, "montage: no pictures; expected at least one");
  FOVEA_CHECK((m.column_labels.empty() || std::ssize(m.column_labels) == columns) &&
                  (m.row_labels.empty() || m.row_labels.size() == m.rows.size()),
              ShapeError,
              fmt::format("montage: {} row and {} column labels for a {} x {} grid",
                          m.row_labels.size(), m.column_labels.size(), m.rows.size(), columns));
  const bool captions_fit = std::all_of(m.captions.begin(), m.captions.end(), [&](const auto& row) {
    return std::ssize(row) <= columns;
  });
  FOVEA_CHECK(captions_fit && (m.captions.empty() || m.captions.size() == m.rows.size()),
              ShapeError,
              fmt::format("montage: captions of {} rows for a {} x {} grid", m.captions.size(),
                          m.rows.size(), columns));
  FOVEA_CHECK(m.factor >= 1 && m.text_size >= 6 && m.text_size <= 100, ConfigError,
              fmt::format("montage: factor {} and text size {}; expected factor >= 1 and a size in "
                          "[6, 100]",
                          m.factor, m.text_size));
  check_bars(m, Side::kBelow, columns);
  check_bars(m, Side::kRight, std::ssize(m.rows));
}

// The widest bar on one side decides how much room that side gets.
double bars_breadth(const Montage& m, const Track& track, Side side) {
  double breadth = 0;
  for (const MontageBar& bar : m.bars) {
    if (bar.side != side) continue;
    const auto first = static_cast<std::size_t>(bar.first);
    const auto last = static_cast<std::size_t>(end_of(bar, std::ssize(track.size)) - 1);
    const double length = track.begin[last] + track.size[last] - track.begin[first];
    breadth = std::max(breadth,
                       colour_bar_breadth(bar.bar, length, m.text_size - 2, side == Side::kRight));
  }
  return breadth > 0 ? breadth + 1.5 * kGap : 0;
}

// Widens the last column (or row) under a bar that would be too short for its numbers.
void make_room(const Montage& m, Side side, Track& track) {
  for (const MontageBar& bar : m.bars) {
    if (bar.side != side) continue;
    const auto end = static_cast<std::size_t>(end_of(bar, std::ssize(track.size)));
    double length = -kGap;
    for (auto i = static_cast<std::size_t>(bar.first); i < end; ++i)
      length += std::ceil(track.size[i]) + kGap;
    const double least = colour_bar_least_length(bar.bar, m.text_size - 2, side == Side::kRight);
    track.size[end - 1] += std::max(0.0, std::ceil(least - length));
  }
}

double caption_size(const Montage& m) { return m.text_size - 2; }

void lay_out_captions(const Montage& m, Layout& l) {
  l.captions.assign(m.rows.size(), 0);
  for (std::size_t row = 0; row < m.captions.size(); ++row) {
    for (std::size_t column = 0; column < m.captions[row].size(); ++column) {
      const std::string& caption = m.captions[row][column];
      if (caption.empty()) continue;
      double& width = l.columns.size[column];
      width = std::max(width, text_width(caption, caption_size(m)));
      l.captions[row] = kLineSpacing * caption_size(m);
    }
    l.rows.size[row] += l.captions[row];
  }
}

Layout lay_out(const Montage& m) {
  Layout l;
  l.columns.size.resize(static_cast<std::size_t>(count_columns(m)), 0.0);
  for (const auto& row : m.rows) {
    double tallest = 0;
    for (std::size_t column = 0; column < row.size(); ++column) {
      double& width = l.columns.size[column];
      width = std::max(width, static_cast<double>(row[column].width * m.factor));
      tallest = std::max(tallest, static_cast<double>(row[column].height * m.factor));
    }
    l.rows.size.push_back(tallest);
  }
  lay_out_captions(m, l);
  for (std::size_t i = 0; i < m.column_labels.size(); ++i) {
    double& width = l.columns.size[i];
    l.column_labels.push_back(wrap_text(m.column_labels[i], m.text_size, width));
    width = std::max(width, widest(l.column_labels.back(), m.text_size));
    l.labels_height = std::max(l.labels_height, height_of(l.column_labels.back(), m.text_size));
  }
  double left = 0;
  for (std::size_t i = 0; i < m.row_labels.size(); ++i) {
    l.row_labels.push_back(wrap_text(m.row_labels[i], m.text_size, kWidestRowLabel));
    left = std::max(left, widest(l.row_labels.back(), m.text_size));
    l.rows.size[i] = std::max(l.rows.size[i], height_of(l.row_labels.back(), m.text_size));
  }
  make_room(m, Side::kBelow, l.columns);
  make_room(m, Side::kRight, l.rows);
  l.columns.place(std::ceil(kMargin + (left > 0 ? left + kGap : 0)));
  l.rows.place(0);
  const double right = l.columns.end() + bars_breadth(m, l.rows, Side::kRight);
  l.width = std::ceil(right + kMargin);
  l.title = wrap_text(m.title, m.text_size + 2, l.width - 2 * kMargin);
  for (std::string& line : l.title) line = fit_text(line, m.text_size + 2, l.width - 2 * kMargin);
  const double title = l.title.empty() ? 0 : height_of(l.title, m.text_size + 2) + kGap;
  const double labels = l.labels_height > 0 ? l.labels_height + kGap / 2 : 0;
  l.rows.place(std::ceil(kMargin + title + labels));
  l.height = std::ceil(l.rows.end() + bars_breadth(m, l.columns, Side::kBelow) + kMargin);
  return l;
}

// Lines of text whose block is centred on `middle`.
void draw_lines(const Lines& lines, Point middle, const TextStyle& style, Painter& painter) {
  const double step = kLineSpacing * style.size;
  double y = middle.y - step * (static_cast<double>(lines.size()) - 1) / 2;
  for (const std::string& line : lines) {
    painter.text({middle.x, y}, line, style);
    y += step;
  }
}

void draw_labels(const Montage& m, const Layout& l, Painter& painter) {
  const double title_height = height_of(l.title, m.text_size + 2);
  draw_lines(l.title, {l.width / 2, kMargin + title_height / 2},
             {m.text_size + 2, kInk, Align::kCentre, false}, painter);
  for (std::size_t i = 0; i < l.column_labels.size(); ++i) {
    // Labels of fewer lines stand on the pictures.
    const double height = height_of(l.column_labels[i], m.text_size);
    draw_lines(
        l.column_labels[i],
        {l.columns.begin[i] + l.columns.size[i] / 2, l.rows.begin[0] - kGap / 2 - height / 2},
        {m.text_size, kInk, Align::kCentre, false}, painter);
  }
  for (std::size_t i = 0; i < l.row_labels.size(); ++i) {
    draw_lines(l.row_labels[i], {l.columns.begin[0] - kGap, l.rows.begin[i] + l.rows.size[i] / 2},
               {m.text_size, kInk, Align::kRight, false}, painter);
  }
}

void draw_captions(const Montage& m, const Layout& l, Painter& painter) {
  for (std::size_t row = 0; row < m.captions.size(); ++row) {
    for (std::size_t column = 0; column < m.captions[row].size(); ++column) {
      const double x = l.columns.begin[column] + l.columns.size[column] / 2;
      const double y = l.rows.begin[row] + l.rows.size[row] - l.captions[row] / 2;
      painter.text({x, y}, m.captions[row][column], {caption_size(m), kInk, Align::kCentre, false});
    }
  }
}

void draw_bars(const Montage& m, const Layout& l, Painter& painter) {
  for (const MontageBar& bar : m.bars) {
    const bool vertical = bar.side == Side::kRight;
    const Track& track = vertical ? l.rows : l.columns;
    const auto first = static_cast<std::size_t>(bar.first);
    const auto last = static_cast<std::size_t>(end_of(bar, std::ssize(track.size)) - 1);
    const double begin = track.begin[first];
    const double length = track.begin[last] + track.size[last] - begin;
    const Point origin = vertical ? Point{l.columns.end() + 1.5 * kGap, begin}
                                  : Point{begin, l.rows.end() + 1.5 * kGap};
    draw_colour_bar(bar.bar, origin, length, m.text_size - 2, vertical, painter);
  }
}

}  // namespace

MontageBar bar_below(ColourBar bar, std::int64_t first, std::int64_t count) {
  return {std::move(bar), Side::kBelow, first, count};
}

Canvas render(const Montage& montage) {
  check(montage);
  const Layout l = lay_out(montage);
  Canvas canvas(std::llround(l.width), std::llround(l.height));
  CanvasPainter painter(canvas, 1);
  for (std::size_t row = 0; row < montage.rows.size(); ++row) {
    for (std::size_t column = 0; column < montage.rows[row].size(); ++column) {
      const Canvas picture = enlarge(montage.rows[row][column], montage.factor);
      const double free_x = l.columns.size[column] - static_cast<double>(picture.width);
      const double free_y =
          l.rows.size[row] - l.captions[row] - static_cast<double>(picture.height);
      canvas.blit(picture, std::llround(l.columns.begin[column] + std::floor(free_x / 2)),
                  std::llround(l.rows.begin[row] + std::floor(free_y / 2)));
    }
  }
  draw_labels(montage, l, painter);
  draw_captions(montage, l, painter);
  draw_bars(montage, l, painter);
  return canvas;
}

}  // namespace fovea::visualise
