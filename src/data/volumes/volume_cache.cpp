#include "data/volumes/volume_cache.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/hash.h"
#include "schema/json/parse.h"
#include "tensor/safetensors.h"

namespace fovea::data {
namespace {

constexpr const char* kHash = "hash";

Device heap() { return Device(DeviceType::kCpu, heap_memory(), nullptr); }

// A hash of the key, names, types, shapes and values, without the metadata.
std::string hash_of(const TensorFile& file, const std::string& key) {
  return hash_bytes(key + serialise_safetensors({file.tensors, {}}));
}

const Tensor& tensor_of(const TensorFile& file, const char* tensor, DType dtype,
                        const std::string& name) {
  const auto found = file.tensors.find(tensor);
  FOVEA_CHECK(
      found != file.tensors.end() && found->second.dtype() == dtype, FileError,
      fmt::format("{}: has no {} of {}; expected a prepared volume", name, tensor, name_of(dtype)));
  return found->second;
}

Tensor packed_place(const VolumePlace& p) {
  std::vector<std::int64_t> sides;
  for (const VolumeSides& s : {p.file, p.first, p.box})
    sides.insert(sides.end(), s.begin(), s.end());
  for (const std::size_t axis : p.turn.from) sides.push_back(static_cast<std::int64_t>(axis));
  for (const bool mirrored : p.turn.mirrored) sides.push_back(mirrored ? 1 : 0);
  return Tensor::from(sides, {5, 3}, heap());
}

VolumePlace unpacked_place(const Tensor& sides, const Tensor& spacing, const std::string& name) {
  const std::string expected = fmt::format("{}: is no place in a volume", name);
  FOVEA_CHECK(sides.shape() == (Shape{5, 3}) && spacing.shape() == (Shape{2, 3}), FileError,
              expected);
  const auto rows = sides.host_values<std::int64_t>();
  const auto lengths = spacing.host_values<double>();
  VolumePlace place;
  std::array<bool, 3> taken{};
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const std::int64_t from = rows[9 + axis], mirrored = rows[12 + axis];
    FOVEA_CHECK(from >= 0 && from < 3 &&
                    !std::exchange(taken.at(static_cast<std::size_t>(from)), true) &&
                    (mirrored == 0 || mirrored == 1) && lengths[axis] > 0 && lengths[3 + axis] > 0,
                FileError, expected);
    place.file[axis] = rows[axis];
    place.first[axis] = rows[3 + axis];
    place.box[axis] = rows[6 + axis];
    place.turn.from[axis] = static_cast<std::size_t>(from);
    place.turn.mirrored[axis] = mirrored != 0;
    place.spacing[axis] = lengths[axis];
    place.prepared_spacing[axis] = lengths[3 + axis];
  }
  const VolumeSides whole = turned(place.file, place.turn);
  for (std::size_t axis = 0; axis < 3; ++axis)
    FOVEA_CHECK(place.first[axis] >= 0 && place.box[axis] >= 1 && whole[axis] >= 1 &&
                    place.box[axis] <= whole[axis] &&
                    place.first[axis] <= whole[axis] - place.box[axis],
                FileError, expected);
  return place;
}

}  // namespace

std::string pack_volume(const PreparedVolume& volume, const std::string& key) {
  const auto [d, h, w] = volume.size;
  TensorFile file;
  file.tensors["image"] = Tensor::from(volume.values, {volume.channels, d, h, w}, heap());
  if (!volume.labels.empty())
    file.tensors["labels"] = Tensor::from(volume.labels, {d, h, w}, heap());
  file.tensors["place"] = packed_place(volume.place);
  std::vector<double> lengths(volume.place.spacing.begin(), volume.place.spacing.end());
  lengths.insert(lengths.end(), volume.place.prepared_spacing.begin(),
                 volume.place.prepared_spacing.end());
  file.tensors["spacing"] = Tensor::from(lengths, {2, 3}, heap());
  file.metadata[kHash] = hash_of(file, key);
  return serialise_safetensors(file);
}

PreparedVolume unpack_volume(std::string_view bytes, const std::string& name,
                             std::size_t num_classes, const std::vector<Region>& regions,
                             const std::string& key) {
  const TensorFile file = parse_safetensors(bytes, name, heap());
  const auto hash = file.metadata.find(kHash);
  FOVEA_CHECK(hash != file.metadata.end() && hash->second == hash_of(file, key), FileError,
              fmt::format("{}: its content is not what it was written with", name));
  const Tensor& image = tensor_of(file, "image", DType::kFloat32, name);
  FOVEA_CHECK(
      image.rank() == 4 && image.numel() > 0, FileError,
      fmt::format("{}: image is {}; expected (channels, d, h, w)", name, to_string(image.shape())));
  PreparedVolume volume;
  volume.channels = image.size(0);
  volume.size = {image.size(1), image.size(2), image.size(3)};
  const auto values = image.host_values<float>();
  volume.values.assign(values.begin(), values.end());
  volume.place = unpacked_place(tensor_of(file, "place", DType::kInt64, name),
                                tensor_of(file, "spacing", DType::kFloat64, name), name);
  if (!file.tensors.contains("labels")) return volume;
  const Tensor& labels = tensor_of(file, "labels", DType::kUint8, name);
  const auto classes = labels.host_values<std::uint8_t>();
  FOVEA_CHECK(
      labels.shape() == image.shape().part(1, 4) &&
          std::ranges::all_of(
              classes,
              [&](std::uint8_t label) { return label < num_classes || label == kIgnoredVoxel; }),
      FileError,
      fmt::format("{}: its labels are not those of {} classes for each voxel", name, num_classes));
  volume.labels.assign(classes.begin(), classes.end());
  note_voxels(volume, num_classes, regions);
  return volume;
}

std::string pack_plan(const VolumePlan& plan, const std::string& key) {
  const std::string hash = hash_bytes(key + plan.text());
  return schema::Value::object({{"plan", plan.json()}, {kHash, hash}}).dump() + "\n";
}

VolumePlan unpack_plan(std::string_view bytes, const std::string& name, const std::string& key) {
  try {
    const schema::Value value = schema::parse(bytes, name);
    const VolumePlan plan = VolumePlan::parse(value.at("plan").dump(), name);
    FOVEA_CHECK(value.at(kHash).as_string() == hash_bytes(key + plan.text()), FileError,
                fmt::format("{}: its content is not what it was written with", name));
    return plan;
  } catch (const ConfigError& error) {  // of the parser, with the place in the file
    throw FileError(error.what());
  }
}

}  // namespace fovea::data
