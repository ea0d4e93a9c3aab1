#include "data/hdf5.h"

#include <fmt/format.h>
#include <hdf5.h>

#include <array>
#include <mutex>

#include "base/error.h"

namespace fovea::data {
namespace {

// The library is not to be called by two threads at once, however it was built.
std::mutex& library() {
  static std::mutex mutex;
  return mutex;
}

// Closes what was opened, in the reverse order.
class Opened5 {
 public:
  Opened5(hid_t id, herr_t (*close)(hid_t)) : id_(id), close_(close) {}
  ~Opened5() {
    if (id_ >= 0) close_(id_);
  }
  Opened5(const Opened5&) = delete;
  Opened5& operator=(const Opened5&) = delete;
  bool good() const { return id_ >= 0; }
  hid_t id() const { return id_; }

 private:
  hid_t id_;
  herr_t (*close_)(hid_t);
};

[[noreturn]] void refuse_hdf5(const std::filesystem::path& path, const std::string& what) {
  throw FileError(fmt::format("{}: {}", path.string(), what));
}

// `values` may be null.
VolumeSize read_dataset(const std::filesystem::path& path, const std::string& name,
                        std::vector<float>* values) {
  constexpr int kAxes = 3;
  const std::lock_guard lock(library());
  H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);  // it would print; what is wrong is said below
  std::error_code code;
  if (!std::filesystem::is_regular_file(path, code)) refuse_hdf5(path, "cannot be read");
  const Opened5 file(H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT), H5Fclose);
  if (!file.good()) refuse_hdf5(path, "is no HDF5 file, or its copy or download was cut short");
  const Opened5 dataset(H5Dopen2(file.id(), name.c_str(), H5P_DEFAULT), H5Dclose);
  if (!dataset.good()) refuse_hdf5(path, fmt::format("holds no data set \"{}\"", name));
  const Opened5 type(H5Dget_type(dataset.id()), H5Tclose);
  const H5T_class_t kind = H5Tget_class(type.id());
  if (kind != H5T_FLOAT && kind != H5T_INTEGER)
    refuse_hdf5(path, fmt::format("\"{}\" holds no numbers", name));
  const Opened5 space(H5Dget_space(dataset.id()), H5Sclose);
  const int axes = H5Sget_simple_extent_ndims(space.id());
  if (axes != kAxes)
    refuse_hdf5(path,
                fmt::format("\"{}\" has {} axes; expected slices, rows and columns", name, axes));
  std::array<hsize_t, kAxes> size{};
  H5Sget_simple_extent_dims(space.id(), size.data(), nullptr);
  constexpr hsize_t kMost = kMaxVolumeBytes / sizeof(float);
  hsize_t voxels = 1;
  for (const hsize_t axis : size) {
    if (axis == 0 || axis > kMost / voxels)
      refuse_hdf5(path, fmt::format("\"{}\" is {} x {} x {}; expected 1 to {} voxels", name,
                                    size[0], size[1], size[2], kMost));
    voxels *= axis;
  }
  if (values != nullptr) {
    values->resize(static_cast<std::size_t>(voxels));
    if (H5Dread(dataset.id(), H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values->data()) < 0)
      refuse_hdf5(path,
                  fmt::format("\"{}\" is damaged, or the copy or download was cut short", name));
  }
  return {static_cast<std::int64_t>(size[0]), static_cast<std::int64_t>(size[1]),
          static_cast<std::int64_t>(size[2])};
}

}  // namespace

Volume read_hdf5_volume(const std::filesystem::path& path, const std::string& dataset) {
  Volume volume;
  static_cast<VolumeSize&>(volume) = read_dataset(path, dataset, &volume.values);
  return volume;
}

VolumeSize read_hdf5_size(const std::filesystem::path& path, const std::string& dataset) {
  return read_dataset(path, dataset, nullptr);
}

}  // namespace fovea::data
