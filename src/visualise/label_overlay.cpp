#include "visualise/label_overlay.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "visualise/attention_maps.h"
#include "visualise/colour_map.h"
#include "visualise/montage.h"

namespace fovea::visualise {
namespace {

constexpr double kOpacity = 0.65;
constexpr double kTextSize = 13;

Colour mixed(Colour a, Colour b, double share) {
  const auto mix = [&](std::uint8_t x, std::uint8_t y) {
    return static_cast<std::uint8_t>(x + share * (y - x) + 0.5);
  };
  return {mix(a.r, b.r), mix(a.g, b.g), mix(a.b, b.b)};
}

std::size_t place_of(std::int64_t y, std::int64_t x, std::int64_t width) {
  return static_cast<std::size_t>(y * width + x);
}

// So that only classes have colours.
Colour grey(Colour c) {
  const auto value = static_cast<std::uint8_t>(0.299 * c.r + 0.587 * c.g + 0.114 * c.b + 0.5);
  return {value, value, value};
}

// Classes over the image without its colours; pixels that do not count in the truth are light grey.
Canvas tinted(const Canvas& image, const std::vector<std::int64_t>& labels,
              const std::vector<std::int64_t>& truth) {
  Canvas canvas = image;
  for (std::int64_t y = 0; y < image.height; ++y) {
    for (std::int64_t x = 0; x < image.width; ++x) {
      const std::size_t i = place_of(y, x, image.width);
      canvas.set(x, y, truth[i] < 0 ? kMissing : grey(image.at(x, y)));
      if (truth[i] >= 0 && labels[i] > 0) {
        canvas.blend(x, y, class_colour(labels[i]), kOpacity);
      }
    }
  }
  return canvas;
}

Canvas differences(const Labelled& s) {
  Canvas canvas(s.width, s.height);
  for (std::int64_t y = 0; y < s.height; ++y) {
    for (std::int64_t x = 0; x < s.width; ++x) {
      const std::size_t i = place_of(y, x, s.width);
      if (s.truth[i] < 0) {
        canvas.set(x, y, kMissing);
      } else if (s.predicted[i] != s.truth[i]) {
        canvas.set(x, y, s.predicted[i] > 0 ? class_colour(s.predicted[i]) : kInk);
      }
    }
  }
  return canvas;
}

// Squares and names, in as many lines as they need.
Canvas with_legend(const Canvas& grid, const std::vector<std::string>& classes) {
  constexpr std::int64_t kMargin = 16, kSquare = 12, kGap = 6, kLine = 22;
  struct Entry {
    std::int64_t x = 0, y = 0;
    Colour colour;
    std::string text;
  };
  std::vector<Entry> entries;
  std::int64_t x = kMargin, y = 0;
  const auto add = [&](Colour colour, const std::string& text) {
    const auto width =
        kSquare + kGap + static_cast<std::int64_t>(text_width(text, kTextSize)) + kMargin;
    if (x > kMargin && x + width > grid.width) {
      x = kMargin;
      y += kLine;
    }
    entries.push_back({x, y, colour, text});
    x += width;
  };
  for (std::size_t k = 1; k < classes.size(); ++k)
    add(class_colour(static_cast<std::int64_t>(k)), classes[k]);
  add(kInk, fmt::format("{}, in the last column", classes.front()));
  add(kMissing, "does not count");
  Canvas canvas(grid.width, grid.height + y + kLine + kMargin / 2);
  canvas.blit(grid, 0, 0);
  for (const Entry& entry : entries) {
    const std::int64_t top = grid.height + entry.y;
    canvas.fill_rectangle(entry.x, top, kSquare, kSquare, entry.colour);
    const double baseline = static_cast<double>(top) + (kSquare + kCapHeight * kTextSize) / 2;
    draw_text(canvas, {static_cast<double>(entry.x + kSquare + kGap), baseline}, entry.text,
              kTextSize, kInk);
  }
  return canvas;
}

}  // namespace

Colour class_colour(std::int64_t k) {
  constexpr std::int64_t kColours = 6;  // the seventh is black, as what stands for the background
  const std::int64_t round = (k - 1) / kColours;
  const Colour colour = palette_colour((k - 1) % kColours);
  if (round == 0) return colour;
  const double share = 0.45 / static_cast<double>((round + 1) / 2);
  return mixed(colour, round % 2 == 1 ? kWhite : Colour{}, share);
}

Canvas label_grid(const std::string& title, const std::vector<std::string>& classes,
                  const std::vector<Labelled>& samples, std::int64_t factor) {
  FOVEA_CHECK(!samples.empty() && !classes.empty(), ShapeError, "label grid: no samples");
  const std::int64_t largest = std::max(samples.front().height, samples.front().width);
  if (factor == 0) factor = std::max<std::int64_t>(1, (256 + largest / 2) / largest);
  Montage montage;
  montage.title = title;
  montage.factor = factor;
  montage.text_size = kTextSize;
  montage.column_labels = {"image", "truth", "prediction", "where it differs"};
  for (const Labelled& s : samples) {
    const auto pixels = static_cast<std::size_t>(s.height * s.width);
    FOVEA_CHECK(s.truth.size() == pixels && s.predicted.size() == pixels, ShapeError,
                fmt::format("label grid: {}: {} and {} labels for an image of {} x {}", s.label,
                            s.truth.size(), s.predicted.size(), s.height, s.width));
    const Canvas image = picture_of(s.image, s.channels, s.height, s.width);
    montage.rows.push_back({image, tinted(image, s.truth, s.truth),
                            tinted(image, s.predicted, s.truth), differences(s)});
    montage.row_labels.push_back(s.label);
  }
  return with_legend(render(montage), classes);
}

}  // namespace fovea::visualise
