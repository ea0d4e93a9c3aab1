// The peaks of this machine, measured once and kept in the user's cache folder.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "backend/peaks.h"
#include "schema/json/value.h"

namespace fovea::experiment {

struct MeasuredPeaks {
  Peaks peaks;
  std::string from;  // "measured now", "measured before, FILE", "measured now, not kept: ..."
};

/// Peaks of a host device: those of an earlier measurement of the same processor, threads,
/// instruction set, libraries and version of the program, unless `again`. They are kept in
/// cache_folder() as peaks-<hash of these>.json; a file that is not there, damaged or not writable
/// costs a measurement and nothing else. Throws as measure_peaks().
MeasuredPeaks measured_peaks(const Device& device, bool again = false);

/// Where peaks of this processor and backend are kept; empty where there is no cache folder.
std::filesystem::path peaks_file(const Peaks& peaks);
/// What a file holds if it is of the same processor, backend, levels and version as `expected`.
std::optional<Peaks> read_peaks(const std::filesystem::path& file, const Peaks& expected);
/// Throws FileError.
void write_peaks(const std::filesystem::path& file, const Peaks& peaks);

/// Operations and bytes a second, and where they are from.
schema::Value to_json(const MeasuredPeaks& measured);
/// A table for people.
std::string to_text(const MeasuredPeaks& measured);

}  // namespace fovea::experiment
