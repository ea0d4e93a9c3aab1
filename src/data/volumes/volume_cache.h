// Prepared volumes and plans as files of dataset.cache_folder. Each holds a hash of its content and
// of its key, the name that it is stored under, so that neither a damaged file nor one under
// another's name is ever used.
#pragma once

#include <string>
#include <string_view>

#include "data/volumes/volume_plan.h"

namespace fovea::data {

/// The bytes of a safetensors file: image, labels, place, spacing, and the hash of all of them.
std::string pack_volume(const PreparedVolume& volume, const std::string& key = {});
/// The inverse. Throws FileError starting with `name` for anything but the result of pack_volume()
/// for a volume with that many classes and this key. (Regions are not stored.)
PreparedVolume unpack_volume(std::string_view bytes, const std::string& name,
                             std::size_t num_classes, const std::vector<Region>& regions = {},
                             const std::string& key = {});

/// JSON: {"plan": ..., "hash": ...}.
std::string pack_plan(const VolumePlan& plan, const std::string& key = {});
/// Throws FileError starting with `name`.
VolumePlan unpack_plan(std::string_view bytes, const std::string& name,
                       const std::string& key = {});

}  // namespace fovea::data
