#include "visualise/layouts/label_overlay.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "visualise/drawing/colour_map.h"
#include "visualise/drawing/montage.h"
#include "visualise/maps/attention_maps.h"

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

// Classes over the image without its colours; pixels that do not count in the truth are light grey.
Canvas over_grey(const Canvas& image, const std::vector<std::int64_t>& labels,
                 const std::vector<std::int64_t>& truth, const ClassColours& colours) {
  Canvas canvas = tint_classes(greyed(image), labels, colours, kOpacity);
  for (std::int64_t y = 0; y < image.height; ++y) {
    for (std::int64_t x = 0; x < image.width; ++x) {
      if (truth[place_of(y, x, image.width)] < 0) canvas.set(x, y, kMissing);
    }
  }
  return canvas;
}

Canvas differences(const Labelled& s, const ClassColours& colours) {
  Canvas canvas(s.width, s.height);
  for (std::int64_t y = 0; y < s.height; ++y) {
    for (std::int64_t x = 0; x < s.width; ++x) {
      const std::size_t i = place_of(y, x, s.width);
      if (s.truth[i] < 0) {
        canvas.set(x, y, kMissing);
      } else if (s.predicted[i] != s.truth[i]) {
        canvas.set(x, y, s.predicted[i] < 0 ? kInk : colours[s.predicted[i]]);
      }
    }
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

Colour ClassColours::operator[](std::int64_t k) const {
  FOVEA_CHECK(k >= 0 && k < std::ssize(of), ShapeError,
              fmt::format("class overlay: class {}; there are colours of {} to {}", k, first,
                          std::ssize(of) - 1));
  return of[static_cast<std::size_t>(k)];
}

ClassColours class_colours(std::int64_t classes, bool background) {
  ClassColours colours{{}, background ? 1 : 0};
  for (std::int64_t k = 0; k < classes; ++k)
    colours.of.push_back(k < colours.first ? kInk : class_colour(k - colours.first + 1));
  return colours;
}

Canvas greyed(const Canvas& image) {
  Canvas canvas = image;
  for (std::int64_t y = 0; y < image.height; ++y) {
    for (std::int64_t x = 0; x < image.width; ++x) {
      const Colour c = image.at(x, y);
      const auto value = static_cast<std::uint8_t>(0.299 * c.r + 0.587 * c.g + 0.114 * c.b + 0.5);
      canvas.set(x, y, {value, value, value});
    }
  }
  return canvas;
}

Canvas tint_classes(const Canvas& image, std::span<const std::int64_t> labels,
                    const ClassColours& colours, double share) {
  FOVEA_CHECK(std::ssize(labels) == image.height * image.width, ShapeError,
              fmt::format("class overlay: {} labels for an image of {} x {}", labels.size(),
                          image.height, image.width));
  Canvas canvas = image;
  for (std::int64_t y = 0; y < image.height; ++y) {
    for (std::int64_t x = 0; x < image.width; ++x) {
      const std::int64_t k = labels[place_of(y, x, image.width)];
      if (k >= colours.first) canvas.blend(x, y, colours[k], share);
    }
  }
  return canvas;
}

Canvas with_legend(const Canvas& picture, const std::vector<LegendEntry>& entries) {
  constexpr std::int64_t kMargin = 16, kSquare = 12, kGap = 6, kLine = 22;
  std::vector<std::pair<std::int64_t, std::int64_t>> places;
  std::int64_t x = kMargin, y = 0;
  for (const LegendEntry& entry : entries) {
    const auto width =
        kSquare + kGap + static_cast<std::int64_t>(text_width(entry.text, kTextSize)) + kMargin;
    if (x > kMargin && x + width > picture.width) {
      x = kMargin;
      y += kLine;
    }
    places.emplace_back(x, picture.height + y);
    x += width;
  }
  Canvas canvas(picture.width, picture.height + y + kLine + kMargin / 2);
  canvas.blit(picture, 0, 0);
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const auto [left, top] = places[i];
    canvas.fill_rectangle(left, top, kSquare, kSquare, entries[i].colour);
    const double baseline = static_cast<double>(top) + (kSquare + kCapHeight * kTextSize) / 2;
    draw_text(canvas, {static_cast<double>(left + kSquare + kGap), baseline}, entries[i].text,
              kTextSize, kInk);
  }
  return canvas;
}

Canvas label_grid(const std::string& title, const std::vector<std::string>& classes,
                  const std::vector<Labelled>& samples, std::int64_t factor, bool background) {
  FOVEA_CHECK(!samples.empty() && !classes.empty(), ShapeError, "label grid: no samples");
  const std::int64_t largest = std::max(samples.front().height, samples.front().width);
  if (factor == 0) factor = std::max<std::int64_t>(1, (256 + largest / 2) / largest);
  Montage montage;
  montage.title = title;
  montage.factor = factor;
  montage.text_size = kTextSize;
  montage.column_labels = {"image", "truth", "prediction", "where it differs"};
  const ClassColours colours = class_colours(std::ssize(classes), background);
  for (const Labelled& s : samples) {
    const auto pixels = static_cast<std::size_t>(s.height * s.width);
    FOVEA_CHECK(s.truth.size() == pixels && s.predicted.size() == pixels, ShapeError,
                fmt::format("label grid: {}: {} and {} labels for an image of {} x {}", s.label,
                            s.truth.size(), s.predicted.size(), s.height, s.width));
    const Canvas image = picture_of(s.image, s.channels, s.height, s.width);
    montage.rows.push_back({image, over_grey(image, s.truth, s.truth, colours),
                            over_grey(image, s.predicted, s.truth, colours),
                            differences(s, colours)});
    montage.row_labels.push_back(s.label);
  }
  std::vector<LegendEntry> legend;
  for (std::int64_t k = colours.first; k < std::ssize(classes); ++k)
    legend.push_back({colours[k], classes[static_cast<std::size_t>(k)]});
  if (background) legend.push_back({kInk, fmt::format("{}, in the last column", classes.front())});
  legend.push_back({kMissing, "does not count"});
  return with_legend(render(montage), legend);
}

}  // namespace fovea::visualise
