#include "visualise/drawing/colour_map.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/suggest.h"
#include "visualise/drawing/even_colours.h"

namespace fovea::visualise {
namespace {

constexpr std::array kPlasma = {0x0d0887, 0x46039f, 0x7201a8, 0x9c179e, 0xbd3786,
                                0xd8576b, 0xed7953, 0xfb9f3a, 0xfdca26, 0xf0f921};
constexpr std::array kViridis = {0x440154, 0x482878, 0x3e4a89, 0x31688e, 0x26828e,
                                 0x1f9e89, 0x35b779, 0x6ece58, 0xb5de2b, 0xfde725};
constexpr std::array kViridis16 = {0x440154, 0x481a6c, 0x472f7d, 0x414487, 0x39568c, 0x31688e,
                                   0x2a788e, 0x23888e, 0x1f988b, 0x22a884, 0x35b779, 0x54c568,
                                   0x7ad151, 0xa5db36, 0xd2e21b, 0xfde725};
constexpr std::array kCividis = {0x00224e, 0x123570, 0x3b496c, 0x575d6d, 0x707173,
                                 0x8a8678, 0xa59c74, 0xc3b369, 0xe1cc55, 0xfee838};
// An odd number of anchors puts the light middle exactly at 0.5.
constexpr std::array kDiverging = {0x053061, 0x2166ac, 0x4393c3, 0x92c5de, 0xd1e5f0, 0xf7f7f7,
                                   0xfddbc7, 0xf4a582, 0xd6604d, 0xb2182b, 0x67001f};
constexpr std::span<const int> kReds = std::span(kDiverging).subspan(5);
constexpr std::array kBlueRed = {0x0000ff, 0xffffff, 0xff0000};
constexpr std::array kJet = {0x000080, 0x0000ff, 0x0080ff, 0x00ffff, 0x80ff80,
                             0xffff00, 0xff8000, 0xff0000, 0x800000};
constexpr std::array kBlues = {0xf7fbff, 0xdeebf7, 0xc6dbef, 0x9ecae1, 0x6baed6,
                               0x4292c6, 0x2171b5, 0x08519c, 0x08306b};
constexpr std::array kGrey = {0x000000, 0xffffff};
constexpr std::array kPalette = {0x0072b2, 0xd55e00, 0x009e73, 0xcc79a7,
                                 0xe69f00, 0x56b4e9, 0x000000};

constexpr std::array<std::pair<std::string_view, ColourMap>, 11> kNames = {
    {{"inferno", ColourMap::kInferno},
     {"plasma", ColourMap::kPlasma},
     {"viridis", ColourMap::kViridis},
     {"viridis16", ColourMap::kViridis16},
     {"cividis", ColourMap::kCividis},
     {"diverging", ColourMap::kDiverging},
     {"bwr", ColourMap::kBlueRed},
     {"reds", ColourMap::kReds},
     {"jet", ColourMap::kJet},
     {"blues", ColourMap::kBlues},
     {"grey", ColourMap::kGrey}}};

std::span<const int> hex_anchors_of(ColourMap map) {
  switch (map) {
    case ColourMap::kInferno:
      return kInfernoColours;
    case ColourMap::kPlasma:
      return kPlasma;
    case ColourMap::kViridis:
      return kViridis;
    case ColourMap::kViridis16:
      return kViridis16;
    case ColourMap::kCividis:
      return kCividis;
    case ColourMap::kDiverging:
      return kDiverging;
    case ColourMap::kBlueRed:
      return kBlueRed;
    case ColourMap::kReds:
      return kReds;
    case ColourMap::kJet:
      return kJet;
    case ColourMap::kBlues:
      return kBlues;
    case ColourMap::kGrey:
      return kGrey;
  }
  return kGrey;
}

Colour from_hex(int hex) {
  return {static_cast<std::uint8_t>(hex >> 16 & 0xff), static_cast<std::uint8_t>(hex >> 8 & 0xff),
          static_cast<std::uint8_t>(hex & 0xff)};
}

}  // namespace

ColourMap colour_map_from_name(std::string_view name) {
  std::vector<std::string> known;
  std::string list;
  for (const auto& [known_name, map] : kNames) {
    if (known_name == name) return map;
    known.emplace_back(known_name);
    list += fmt::format("{}{}", list.empty() ? "" : ", ", known_name);
  }
  throw ConfigError(fmt::format("heatmap: no colour map called \"{}\"{} (known: {})", name,
                                did_you_mean(name, known), list));
}

std::string_view name_of(ColourMap map) {
  for (const auto& [name, known] : kNames) {
    if (known == map) return name;
  }
  return "?";
}

Colour colour_of(ColourMap map, double t) {
  if (std::isnan(t)) return kMissing;
  const std::span<const int> anchors = hex_anchors_of(map);
  const double position = std::clamp(t, 0.0, 1.0) * static_cast<double>(anchors.size() - 1);
  const std::size_t lower = std::min(static_cast<std::size_t>(position), anchors.size() - 2);
  const double fraction = position - static_cast<double>(lower);
  const Colour a = from_hex(anchors[lower]), b = from_hex(anchors[lower + 1]);
  const auto channel = [&](std::uint8_t x, std::uint8_t y) {
    return static_cast<std::uint8_t>(std::floor((1 - fraction) * x + fraction * y + 0.5));
  };
  return {channel(a.r, b.r), channel(a.g, b.g), channel(a.b, b.b)};
}

std::vector<Colour> anchors_of(ColourMap map) {
  std::vector<Colour> colours;
  for (const int hex : hex_anchors_of(map)) colours.push_back(from_hex(hex));
  return colours;
}

Colour palette_colour(std::int64_t k) {
  return from_hex(kPalette[static_cast<std::size_t>(k) % kPalette.size()]);
}

Colour readable_on(Colour background) {
  const double luminance = 0.299 * background.r + 0.587 * background.g + 0.114 * background.b;
  return luminance < 140 ? kWhite : kInk;
}

}  // namespace fovea::visualise
