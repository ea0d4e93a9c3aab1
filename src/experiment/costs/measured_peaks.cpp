#include "experiment/costs/measured_peaks.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <utility>

#include "base/cache_folder.h"
#include "base/error.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/version.h"
#include "experiment/run/summary.h"
#include "schema/json/parse.h"

namespace fovea::experiment {
namespace {

using schema::Value;

// Numbers measured in another way are not mixed with these.
constexpr int kFormat = 1;

constexpr std::array<std::pair<const char*, ProductPeak Peaks::*>, 3> kProducts{
    {{"float32", &Peaks::float32}, {"bfloat16", &Peaks::bfloat16}, {"float64", &Peaks::float64}}};
constexpr std::array<std::pair<const char*, double MemoryPeak::*>, 5> kRates{
    {{"read", &MemoryPeak::read},
     {"write", &MemoryPeak::write},
     {"copy", &MemoryPeak::copy},
     {"stream_write", &MemoryPeak::stream_write},
     {"stream_copy", &MemoryPeak::stream_copy}}};

std::string peaks_identity(const Peaks& peaks) {
  return fmt::format("{} {} {} {}", kFormat, version(), peaks.processor, peaks.backend);
}

Value rates_of(const Peaks& peaks) {
  Value products = Value::object();
  for (const auto& [name, peak] : kProducts) {
    products.set(name, Value::object(
                           {{"registers", (peaks.*peak).registers}, {"gemm", (peaks.*peak).gemm}}));
  }
  Value levels = Value::array();
  for (const MemoryPeak& level : peaks.levels) {
    Value entry = Value::object({{"name", level.name}, {"bytes", level.bytes}});
    for (const auto& [name, rate] : kRates) entry.set(name, level.*rate);
    levels.push_back(std::move(entry));
  }
  return Value::object({{"processor", peaks.processor},
                        {"backend", peaks.backend},
                        {"operations_per_s", std::move(products)},
                        {"bytes_per_s", std::move(levels)}});
}

// A rate from a file.
double rate_at(const Value& value, const char* key) {
  const double rate = value.at(key).as_double();
  FOVEA_CHECK(std::isfinite(rate) && rate > 0, ConfigError,
              fmt::format("{}: is {}, expected a rate above 0", key, rate));
  return rate;
}

}  // namespace

Value to_json(const MeasuredPeaks& measured) {
  Value json = rates_of(measured.peaks);
  json.set("from", measured.from);
  return json;
}

std::filesystem::path peaks_file(const Peaks& peaks) {
  const std::filesystem::path folder = cache_folder();
  if (folder.empty()) return folder;
  return folder / fmt::format("peaks-{}.json", hash_bytes(peaks_identity(peaks)));
}

std::optional<Peaks> read_peaks(const std::filesystem::path& file, const Peaks& expected) {
  constexpr std::uint64_t kMostBytes = 1 << 16;
  Peaks peaks = expected;
  try {
    const Value value = schema::parse(io::read_text(file, kMostBytes), file.string());
    if (value.at("identity").as_string() != peaks_identity(expected)) return std::nullopt;
    const Value& of = value.at("peaks");
    for (const auto& [name, peak] : kProducts) {
      const Value& entry = of.at("operations_per_s").at(name);
      peaks.*peak = {rate_at(entry, "registers"), rate_at(entry, "gemm")};
    }
    const Value& levels = of.at("bytes_per_s");
    if (levels.size() != peaks.levels.size()) return std::nullopt;
    for (std::size_t i = 0; i < peaks.levels.size(); ++i) {
      MemoryPeak& level = peaks.levels[i];
      const Value& entry = levels.at(i);
      if (entry.at("name").as_string() != level.name || entry.at("bytes").as_int() != level.bytes)
        return std::nullopt;
      for (const auto& [name, rate] : kRates) level.*rate = rate_at(entry, name);
    }
  } catch (const Error&) {
    return std::nullopt;
  }
  return peaks;
}

void write_peaks(const std::filesystem::path& file, const Peaks& peaks) {
  io::make_directories(file.parent_path());
  io::write_atomic(
      file,
      Value::object({{"identity", peaks_identity(peaks)}, {"peaks", rates_of(peaks)}}).dump() +
          "\n");
}

MeasuredPeaks measured_peaks(const Device& device, bool again) {
  const Peaks expected = unmeasured_peaks(device);
  const std::filesystem::path file = peaks_file(expected);
  if (!again && !file.empty()) {
    if (std::optional<Peaks> kept = read_peaks(file, expected))
      return {*std::move(kept), fmt::format("measured before, {}", file.string())};
  }
  const Peaks peaks = measure_peaks(device);
  if (file.empty()) return {peaks, "measured now, not kept: no folder for it in the environment"};
  try {
    write_peaks(file, peaks);
  } catch (const FileError& error) {
    return {peaks, fmt::format("measured now, not kept: {}", error.what())};
  }
  return {peaks, fmt::format("measured now, kept in {}", file.string())};
}

std::string to_text(const MeasuredPeaks& measured) {
  const Peaks& peaks = measured.peaks;
  std::string text =
      fmt::format("peaks of {}\n{}\n{}\n\n{:<20} {:>10} {:>10}\n", peaks.processor, peaks.backend,
                  measured.from, "products, GFLOP/s", "registers", "gemm");
  for (const auto& [name, peak] : kProducts)
    text += fmt::format("{:<20} {:>10.1f} {:>10.1f}\n", name, 1e-9 * (peaks.*peak).registers,
                        1e-9 * (peaks.*peak).gemm);
  text += fmt::format("\n{:<20} {:>10} {:>10} {:>10} {:>13} {:>12}\n", "bandwidth, GB/s", "read",
                      "write", "copy", "stream write", "stream copy");
  for (const MemoryPeak& level : peaks.levels) {
    const std::string size = level.bytes == 0 ? "" : ", " + bytes_text(level.bytes);
    text += fmt::format("{:<20} {:>10.1f} {:>10.1f} {:>10.1f} {:>13.1f} {:>12.1f}\n",
                        level.name + size, 1e-9 * level.read, 1e-9 * level.write, 1e-9 * level.copy,
                        1e-9 * level.stream_write, 1e-9 * level.stream_copy);
  }
  return text;
}

}  // namespace fovea::experiment
