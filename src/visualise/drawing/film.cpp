// Animated PNG: the chunks of each frame's PNG, with chunks around them that say when it is shown
// (https://www.w3.org/TR/png-3, 11.3.6).
#include "visualise/drawing/film.h"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <cstdint>
#include <string_view>

#include "base/error.h"
#include "base/file.h"

namespace fovea::visualise {
namespace {

constexpr std::size_t kSignature = 8;

void append_number(std::string& to, std::uint32_t value, int bytes) {
  for (int shift = 8 * (bytes - 1); shift >= 0; shift -= 8)
    to.push_back(static_cast<char>(static_cast<unsigned char>((value >> shift) & 0xff)));
}

void append_chunk(std::string& to, std::string_view type, std::string_view data) {
  append_number(to, static_cast<std::uint32_t>(data.size()), 4);
  const std::string content = std::string(type) + std::string(data);
  to += content;
  const auto sum =
      crc32(0, reinterpret_cast<const Bytef*>(content.data()), static_cast<uInt>(content.size()));
  append_number(to, static_cast<std::uint32_t>(sum), 4);
}

std::uint32_t number_at(std::string_view bytes, std::size_t at) {
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < 4; ++i)
    value = value << 8 | static_cast<std::uint32_t>(static_cast<unsigned char>(bytes[at + i]));
  return value;
}

// The data of all chunks of a type of a PNG that to_png() made.
std::vector<std::string_view> chunks_of(std::string_view png, std::string_view type) {
  std::vector<std::string_view> found;
  for (std::size_t at = kSignature; at + 12 <= png.size();) {
    const std::size_t size = number_at(png, at);
    if (png.substr(at + 4, 4) == type) found.push_back(png.substr(at + 8, size));
    at += 12 + size;
  }
  return found;
}

// fcTL: the whole picture, in place of the one before.
std::string frame_control(std::uint32_t sequence, const Canvas& frame, int ms) {
  std::string data;
  append_number(data, sequence, 4);
  append_number(data, static_cast<std::uint32_t>(frame.width), 4);
  append_number(data, static_cast<std::uint32_t>(frame.height), 4);
  append_number(data, 0, 4);  // offsets
  append_number(data, 0, 4);
  append_number(data, static_cast<std::uint32_t>(ms), 2);
  append_number(data, 1000, 2);  // parts of a second that the time before is in
  append_number(data, 0, 1);     // disposal
  append_number(data, 0, 1);     // blending
  return data;
}

}  // namespace

std::string to_apng(const Film& film) {
  FOVEA_CHECK(!film.frames.empty(), ShapeError, "film: no frames; expected at least one");
  const Canvas& first = film.frames.front();
  for (const Canvas& frame : film.frames)
    FOVEA_CHECK(frame.width == first.width && frame.height == first.height, ShapeError,
                fmt::format("film: frames of {} x {} and of {} x {} pixels; expected one size",
                            first.width, first.height, frame.width, frame.height));
  for (const int ms : {film.frame_ms, film.last_ms})
    FOVEA_CHECK(ms >= 1 && ms <= 65535, ConfigError,
                fmt::format("film: a frame of {} ms; expected 1 to 65535", ms));
  std::string bytes;
  std::uint32_t sequence = 0;
  for (std::size_t i = 0; i < film.frames.size(); ++i) {
    const std::string png = to_png(film.frames[i]);
    if (i == 0) {
      bytes = png.substr(0, kSignature);
      append_chunk(bytes, "IHDR", chunks_of(png, "IHDR").front());
      std::string control;
      append_number(control, static_cast<std::uint32_t>(film.frames.size()), 4);
      append_number(control, 0, 4);  // again and again
      append_chunk(bytes, "acTL", control);
    }
    const bool last = i + 1 == film.frames.size();
    append_chunk(bytes, "fcTL",
                 frame_control(sequence++, film.frames[i], last ? film.last_ms : film.frame_ms));
    for (const std::string_view data : chunks_of(png, "IDAT")) {
      if (i == 0) {
        append_chunk(bytes, "IDAT", data);
        continue;
      }
      std::string numbered;
      append_number(numbered, sequence++, 4);
      append_chunk(bytes, "fdAT", numbered + std::string(data));
    }
  }
  append_chunk(bytes, "IEND", {});
  return bytes;
}

void write_apng(const std::filesystem::path& path, const Film& film) {
  io::write_atomic(path, to_apng(film));
}

}  // namespace fovea::visualise
