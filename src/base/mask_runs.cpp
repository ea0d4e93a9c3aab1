#include "base/mask_runs.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <utility>

#include "base/error.h"

namespace fovea {
namespace {

std::int64_t pixels_of(std::int64_t height, std::int64_t width, std::string_view where) {
  constexpr std::int64_t kMost = std::numeric_limits<std::uint32_t>::max();
  FOVEA_CHECK(height >= 1 && width >= 1 && height <= kMost / width, FileError,
              fmt::format("{}: a mask of {} x {} pixels; expected 1 to {} pixels", where, height,
                          width, kMost));
  return height * width;
}

void check_same_size(const MaskRuns& a, const MaskRuns& b) {
  FOVEA_CHECK(a.height == b.height && a.width == b.width, ShapeError,
              fmt::format("masks: sizes differ: {} x {} and {} x {}", a.height, a.width, b.height,
                          b.width));
}

// Appends pixels to a mask: to its last run where that is of the same side.
class RunWriter {
 public:
  explicit RunWriter(MaskRuns& mask) : runs_(mask.runs) {}

  void add(std::int64_t pixels, bool inside) {
    if (pixels == 0) return;
    if (runs_.empty() && inside) runs_.push_back(0);
    if (runs_.size() % 2 == (inside ? 1 : 0))
      runs_.push_back(static_cast<std::uint32_t>(pixels));
    else
      runs_.back() += static_cast<std::uint32_t>(pixels);
  }

 private:
  std::vector<std::uint32_t>& runs_;
};

// Goes through two masks of equal size side by side: calls take(pixels, inside a, inside b) for
// pieces in which neither changes.
template <class Take>
void walk(const MaskRuns& a, const MaskRuns& b, const Take& take) {
  std::size_t i = 0, j = 0;
  std::uint32_t left_a = 0, left_b = 0;
  while (true) {
    while (left_a == 0 && i < a.runs.size()) left_a = a.runs[i++];
    while (left_b == 0 && j < b.runs.size()) left_b = b.runs[j++];
    const std::uint32_t piece = std::min(left_a, left_b);
    if (piece == 0) return;
    // The run that was read last is the one at i - 1; those at odd places are inside.
    take(piece, i % 2 == 0, j % 2 == 0);
    left_a -= piece;
    left_b -= piece;
  }
}

// Corners are rounded to a fifth of a pixel.
constexpr std::int64_t kPerPixel = 5;
constexpr double kFarthest = 1e6;

// Places, as numbers of pixels down the columns, where the border of a polygon crosses the middle
// of a column. Between the first and the second, the third and the fourth, ... lies its inside.
class Crossings {
 public:
  Crossings(std::int64_t height, std::int64_t width) : height_(height), width_(width) {}

  // Corners in fifths of a pixel. Points of the edge come one by one in the longer direction. A
  // slope is always seen from the lower end, so that rounding does not depend on the direction in
  // which a polygon is drawn; as pycocotools, conversions to integers cut off.
  void add_edge(std::int64_t x0, std::int64_t y0, std::int64_t x1, std::int64_t y1) {
    const std::int64_t dx = std::abs(x1 - x0), dy = std::abs(y1 - y0);
    const bool flat = dx >= dy;
    const bool turned = flat ? x0 > x1 : y0 > y1;
    if (turned) {
      std::swap(x0, x1);
      std::swap(y0, y1);
    }
    const std::int64_t steps = flat ? dx : dy;
    const double slope =
        steps == 0 ? 0 : static_cast<double>(flat ? y1 - y0 : x1 - x0) / static_cast<double>(steps);
    const double start = static_cast<double>(flat ? y0 : x0);
    for (std::int64_t d = 0; d <= steps; ++d) {
      const std::int64_t t = turned ? steps - d : d;
      const auto across = static_cast<std::int64_t>(start + slope * static_cast<double>(t) + 0.5);
      if (flat)
        add_point(x0 + t, across);
      else
        add_point(across, y0 + t);
    }
  }

  std::vector<std::int64_t> sorted() {
    std::sort(places_.begin(), places_.end());
    return std::move(places_);
  }

 private:
  void add_point(std::int64_t u, std::int64_t v) {
    if (!first_ && u != u_) {
      const std::int64_t left = u < u_ ? u : u - 1;
      // The middle of a pixel is at its third fifth of five.
      if (left >= 2 && (left - 2) % kPerPixel == 0 && (left - 2) / kPerPixel < width_) {
        const std::int64_t top = std::min(v, v_) - 2;
        const std::int64_t row =
            top <= 0 ? 0 : std::min((top + kPerPixel - 1) / kPerPixel, height_);
        places_.push_back((left - 2) / kPerPixel * height_ + row);
      }
    }
    u_ = u;
    v_ = v;
    first_ = false;
  }

  std::int64_t height_, width_;
  std::int64_t u_ = 0, v_ = 0;
  bool first_ = true;
  std::vector<std::int64_t> places_;
};

MaskRuns mask_of_polygon(const std::vector<double>& polygon, std::int64_t height,
                         std::int64_t width, std::string_view where) {
  FOVEA_CHECK(polygon.size() >= 6 && polygon.size() % 2 == 0, FileError,
              fmt::format("{}: a polygon of {} coordinates; expected x and y of at least 3 corners",
                          where, polygon.size()));
  std::vector<std::int64_t> corners;
  for (const double value : polygon) {
    FOVEA_CHECK(std::abs(value) <= kFarthest, FileError,
                fmt::format("{}: a corner of a polygon at {}; expected pixels of a picture of {} x "
                            "{}",
                            where, value, height, width));
    corners.push_back(static_cast<std::int64_t>(kPerPixel * value + 0.5));
  }
  Crossings crossings(height, width);
  for (std::size_t i = 0; i < corners.size(); i += 2) {
    const std::size_t next = (i + 2) % corners.size();
    crossings.add_edge(corners[i], corners[i + 1], corners[next], corners[next + 1]);
  }
  MaskRuns mask{height, width, {}};
  RunWriter writer(mask);
  std::int64_t last = 0;
  bool inside = false;
  for (const std::int64_t place : crossings.sorted()) {
    writer.add(place - last, inside);
    last = place;
    inside = !inside;
  }
  writer.add(height * width - last, inside);
  return mask;
}

}  // namespace

MaskRuns encode_mask(std::span<const std::uint8_t> pixels, std::int64_t height, std::int64_t width,
                     std::string_view where) {
  const std::int64_t count = pixels_of(height, width, where);
  FOVEA_CHECK(std::ssize(pixels) == count, ShapeError,
              fmt::format("{}: {} pixels; expected {} x {}", where, pixels.size(), height, width));
  // Where a pixel differs from the one before it down the columns. Rows are compared with the row
  // above, a piece at a time, since most pieces of a mask are equal.
  constexpr std::int64_t kPiece = 64;
  std::vector<std::uint32_t> changes;
  const auto inside = [&](std::int64_t y, std::int64_t x) {
    return pixels[static_cast<std::size_t>(y * width + x)] != 0;
  };
  const auto note = [&](std::int64_t y, std::int64_t x, bool before) {
    if (inside(y, x) != before) changes.push_back(static_cast<std::uint32_t>(x * height + y));
  };
  for (std::int64_t x = 0; x < width; ++x) note(0, x, x > 0 && inside(height - 1, x - 1));
  for (std::int64_t y = 1; y < height; ++y) {
    for (std::int64_t first = 0; first < width; first += kPiece) {
      const std::int64_t last = std::min(first + kPiece, width);
      const std::uint8_t* row = pixels.data() + y * width;
      if (std::equal(row + first, row + last, row + first - width)) continue;
      for (std::int64_t x = first; x < last; ++x) note(y, x, inside(y - 1, x));
    }
  }
  std::sort(changes.begin(), changes.end());
  MaskRuns mask{height, width, {}};
  mask.runs.reserve(changes.size() + 1);
  std::uint32_t last = 0;
  for (const std::uint32_t change : changes) {
    mask.runs.push_back(change - last);
    last = change;
  }
  mask.runs.push_back(static_cast<std::uint32_t>(count) - last);
  return mask;
}

MaskRuns mask_from_runs(std::span<const std::int64_t> runs, std::int64_t height, std::int64_t width,
                        std::string_view where) {
  const std::int64_t count = pixels_of(height, width, where);
  MaskRuns mask{height, width, {}};
  RunWriter writer(mask);
  std::int64_t filled = 0;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    FOVEA_CHECK(runs[i] >= 0 && runs[i] <= count - filled, FileError,
                fmt::format("{}: run {} of a mask has {} pixels; expected 0 to {}, what is left of "
                            "{} x {}",
                            where, i, runs[i], count - filled, height, width));
    filled += runs[i];
    writer.add(runs[i], i % 2 == 1);
  }
  FOVEA_CHECK(filled == count, FileError,
              fmt::format("{}: the runs of a mask have {} pixels; expected {} x {} = {}", where,
                          filled, height, width, count));
  return mask;
}

MaskRuns mask_from_string(std::string_view text, std::int64_t height, std::int64_t width,
                          std::string_view where) {
  const std::int64_t count = pixels_of(height, width, where);
  std::vector<std::int64_t> runs;
  std::size_t at = 0;
  while (at < text.size()) {
    std::uint64_t value = 0;
    unsigned bits = 0;
    bool more = true;
    while (more) {
      FOVEA_CHECK(
          at < text.size(), FileError,
          fmt::format("{}: the string of a mask ends within its number {}", where, runs.size()));
      const int code = text[at] - 48;
      FOVEA_CHECK(
          code >= 0 && code < 64, FileError,
          fmt::format("{}: character {} of the string of a mask has code {}; expected 48 to "
                      "111",
                      where, at, static_cast<unsigned char>(text[at])));
      // Seven characters hold every difference of two lengths below 2^32.
      FOVEA_CHECK(bits < 35, FileError,
                  fmt::format("{}: number {} in the string of a mask has more than 7 characters",
                              where, runs.size()));
      value |= static_cast<std::uint64_t>(code & 31) << bits;
      bits += 5;
      more = (code & 32) != 0;
      if (!more && (code & 16) != 0) value |= ~std::uint64_t{0} << bits;
      ++at;
    }
    std::int64_t run = static_cast<std::int64_t>(value);
    if (runs.size() > 2) run += runs[runs.size() - 2];
    FOVEA_CHECK(run >= 0 && run <= count, FileError,
                fmt::format("{}: run {} in the string of a mask has {} pixels; expected 0 to {} x "
                            "{} = {}",
                            where, runs.size(), run, height, width, count));
    runs.push_back(run);
  }
  return mask_from_runs(runs, height, width, where);
}

MaskRuns mask_from_polygons(std::span<const std::vector<double>> polygons, std::int64_t height,
                            std::int64_t width, std::string_view where) {
  pixels_of(height, width, where);
  FOVEA_CHECK(!polygons.empty(), FileError, fmt::format("{}: a mask of no polygons", where));
  std::vector<MaskRuns> parts;
  for (const std::vector<double>& polygon : polygons)
    parts.push_back(mask_of_polygon(polygon, height, width, where));
  return mask_union(parts);
}

std::vector<std::uint8_t> decode_mask(const MaskRuns& mask) {
  std::vector<std::uint8_t> pixels(static_cast<std::size_t>(mask.height * mask.width));
  std::int64_t x = 0, y = 0;
  for (std::size_t i = 0; i < mask.runs.size(); ++i) {
    for (std::int64_t left = mask.runs[i]; left > 0;) {
      const std::int64_t part = std::min(left, mask.height - y);
      if (i % 2 == 1) {
        for (std::int64_t row = y; row < y + part; ++row)
          pixels[static_cast<std::size_t>(row * mask.width + x)] = 1;
      }
      left -= part;
      y += part;
      if (y == mask.height) {
        y = 0;
        ++x;
      }
    }
  }
  return pixels;
}

std::string mask_string(const MaskRuns& mask) {
  std::string text;
  for (std::size_t i = 0; i < mask.runs.size(); ++i) {
    std::int64_t left = mask.runs[i];
    if (i > 2) left -= mask.runs[i - 2];
    bool more = true;
    while (more) {
      const std::int64_t bits = left & 31;
      left >>= 5;
      // The fifth bit of the last character is the sign.
      more = left != ((bits & 16) != 0 ? -1 : 0);
      text += static_cast<char>(48 + bits + (more ? 32 : 0));
    }
  }
  return text;
}

std::int64_t mask_area(const MaskRuns& mask) {
  std::int64_t area = 0;
  for (std::size_t i = 1; i < mask.runs.size(); i += 2) area += mask.runs[i];
  return area;
}

MaskBox mask_box(const MaskRuns& mask) {
  std::int64_t left = mask.width, top = mask.height, right = -1, bottom = -1, at = 0;
  for (std::size_t i = 0; i < mask.runs.size(); ++i) {
    const std::int64_t first = at;
    at += mask.runs[i];
    if (i % 2 == 0) continue;
    const std::int64_t last = at - 1;
    left = std::min(left, first / mask.height);
    right = std::max(right, last / mask.height);
    // A run that goes on in the next column touches both ends of a column.
    const bool whole = first / mask.height != last / mask.height;
    top = std::min(top, whole ? 0 : first % mask.height);
    bottom = std::max(bottom, whole ? mask.height - 1 : last % mask.height);
  }
  if (right < 0) return {};
  return {left, top, right - left + 1, bottom - top + 1};
}

MaskRuns mask_union(std::span<const MaskRuns> masks) {
  FOVEA_CHECK(!masks.empty(), ShapeError, "masks: the union of no masks");
  MaskRuns all = masks.front();
  for (const MaskRuns& mask : masks.subspan(1)) {
    check_same_size(all, mask);
    MaskRuns both{all.height, all.width, {}};
    RunWriter writer(both);
    walk(all, mask, [&](std::uint32_t pixels, bool a, bool b) { writer.add(pixels, a || b); });
    all = std::move(both);
  }
  return all;
}

double mask_iou(const MaskRuns& detection, const MaskRuns& truth, bool crowd) {
  check_same_size(detection, truth);
  std::int64_t common = 0, covered = 0;
  walk(detection, truth, [&](std::uint32_t pixels, bool a, bool b) {
    common += a && b ? pixels : 0;
    covered += a || (b && !crowd) ? pixels : 0;
  });
  return common == 0 ? 0 : static_cast<double>(common) / static_cast<double>(covered);
}

}  // namespace fovea
