// The SVG side of the drawing interface. Numbers are written without locale.
#include <fmt/format.h>

#include "visualise/drawing/painter.h"

namespace fovea::visualise {
namespace {

std::string hex(Colour c) { return fmt::format("#{:02x}{:02x}{:02x}", c.r, c.g, c.b); }

// Two decimals are far below a pixel; trailing zeros only make files larger.
std::string number(double v) {
  std::string text = fmt::format("{:.2f}", v);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') text.pop_back();
  return text == "-0" ? "0" : text;
}

std::string points_list(std::span<const Point> points) {
  std::string list;
  for (const Point p : points) {
    list += fmt::format("{}{},{}", list.empty() ? "" : " ", number(p.x), number(p.y));
  }
  return list;
}

// XML knows five special characters; control characters are not allowed in it at all.
std::string escaped(std::string_view text) {
  std::string result;
  for (const char c : text) {
    switch (c) {
      case '&':
        result += "&amp;";
        break;
      case '<':
        result += "&lt;";
        break;
      case '>':
        result += "&gt;";
        break;
      case '"':
        result += "&quot;";
        break;
      default:
        result += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
    }
  }
  return result;
}

}  // namespace

void SvgPainter::rectangle(const Rect& r, Colour colour) {
  elements_ += fmt::format("<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"{}\"/>\n",
                           number(r.x), number(r.y), number(r.w), number(r.h), hex(colour));
}

void SvgPainter::line(std::span<const Point> points, const Stroke& stroke) {
  std::string dash;
  for (const double length : stroke.dash) {
    dash += fmt::format("{}{}", dash.empty() ? " stroke-dasharray=\"" : " ", number(length));
  }
  if (!dash.empty()) dash += "\"";
  elements_ += fmt::format(
      "<polyline points=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"{}\" "
      "stroke-linejoin=\"round\" stroke-linecap=\"round\"{}/>\n",
      points_list(points), hex(stroke.colour), number(stroke.width), dash);
}

void SvgPainter::polygon(std::span<const Point> points, Colour colour, double opacity) {
  elements_ += fmt::format("<polygon points=\"{}\" fill=\"{}\" fill-opacity=\"{}\"/>\n",
                           points_list(points), hex(colour), number(opacity));
}

void SvgPainter::text(Point anchor, std::string_view text, const TextStyle& style) {
  const char* align = style.align == Align::kLeft     ? "start"
                      : style.align == Align::kCentre ? "middle"
                                                      : "end";
  const std::string turn = style.upwards ? " transform=\"rotate(-90)\"" : "";
  const Point at = style.upwards ? Point{-anchor.y, anchor.x} : anchor;
  elements_ += fmt::format(
      "<text x=\"{}\" y=\"{}\" font-size=\"{}\" fill=\"{}\" text-anchor=\"{}\"{}>{}</text>\n",
      number(at.x), number(at.y + kCapHeight / 2 * style.size), number(style.size),
      hex(style.colour), align, turn, escaped(text));
}

std::string SvgPainter::document(double width, double height) const {
  return fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" "
      "viewBox=\"0 0 {0} {1}\" font-family=\"DejaVu Sans, Verdana, sans-serif\">\n"
      "<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n{2}</svg>\n",
      number(width), number(height), elements_);
}

}  // namespace fovea::visualise
