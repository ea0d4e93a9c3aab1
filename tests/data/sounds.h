// Recordings written by the tests.
#pragma once

#include <cmath>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace fovea::data::test {

inline void put(std::string& to, std::uint64_t value, int bytes) {
  for (int i = 0; i < bytes; ++i) to += static_cast<char>(value >> (8 * i));
}

/// 16 bits, channels one after the other in each frame.
inline std::string wav_bytes(const std::vector<std::int16_t>& samples, std::uint32_t rate,
                             std::uint16_t channels = 1) {
  const auto bytes = static_cast<std::uint32_t>(2 * samples.size());
  std::string file = "RIFF";
  put(file, 36 + bytes, 4);
  file += "WAVEfmt ";
  put(file, 16, 4);
  put(file, 1, 2);
  put(file, channels, 2);
  put(file, rate, 4);
  put(file, rate * 2 * channels, 4);
  put(file, 2u * channels, 2);
  put(file, 16, 2);
  file += "data";
  put(file, bytes, 4);
  for (const std::int16_t sample : samples) put(file, static_cast<std::uint16_t>(sample), 2);
  return file;
}

inline void write_sound(const std::filesystem::path& path, const std::string& bytes) {
  std::filesystem::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary) << bytes;
}

/// A tone of 16 bits.
inline std::vector<std::int16_t> tone_samples(double hertz, double rate, int samples) {
  std::vector<std::int16_t> all;
  for (int i = 0; i < samples; ++i)
    all.push_back(static_cast<std::int16_t>(9000 * std::sin(6.283185307 * hertz * i / rate)));
  return all;
}

}  // namespace fovea::data::test
