// Small files of arrays as numpy and h5py write them.
#pragma once

#include <archive.h>
#include <archive_entry.h>
#include <hdf5.h>

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace fovea::data::test {

/// A .npy file. type: "<f4"; values: the bytes behind the header.
inline std::string npy(const std::string& type, const std::string& shape, const std::string& values,
                       bool columns_first = false) {
  std::string header = "{'descr': '" + type +
                       "', 'fortran_order': " + (columns_first ? "True" : "False") +
                       ", 'shape': " + shape + ", }";
  while ((10 + header.size() + 1) % 64 != 0) header += ' ';
  header += '\n';
  const auto length = static_cast<std::uint16_t>(header.size());
  std::string file = "\x93NUMPY";
  file += '\1';
  file += '\0';
  file += static_cast<char>(length & 0xff);
  file += static_cast<char>(length >> 8);
  return file + header + values;
}

template <class T>
std::string raw_bytes(const std::vector<T>& values) {
  std::string bytes(values.size() * sizeof(T), '\0');
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

/// A zip archive of these files, compressed or not.
inline std::string zip(const std::map<std::string, std::string>& files, bool compressed = false) {
  std::string out(std::size_t{1} << 20, '\0');
  std::size_t used = 0;
  archive* a = archive_write_new();
  archive_write_set_format_zip(a);
  if (!compressed) archive_write_zip_set_compression_store(a);
  archive_write_open_memory(a, out.data(), out.size(), &used);
  for (const auto& [name, content] : files) {
    archive_entry* entry = archive_entry_new();
    archive_entry_set_pathname(entry, name.c_str());
    archive_entry_set_size(entry, static_cast<la_int64_t>(content.size()));
    archive_entry_set_filetype(entry, AE_IFREG);
    archive_entry_set_perm(entry, 0644);
    archive_write_header(a, entry);
    archive_write_data(a, content.data(), content.size());
    archive_entry_free(entry);
  }
  archive_write_close(a);
  archive_write_free(a);
  out.resize(used);
  return out;
}

/// Data sets of float32 by their names, all of one size.
inline void write_hdf5(const std::filesystem::path& path, const std::vector<hsize_t>& size,
                       const std::map<std::string, std::vector<float>>& datasets) {
  const hid_t file = H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
  const hid_t space = H5Screate_simple(static_cast<int>(size.size()), size.data(), nullptr);
  for (const auto& [name, values] : datasets) {
    const hid_t dataset = H5Dcreate2(file, name.c_str(), H5T_NATIVE_FLOAT, space, H5P_DEFAULT,
                                     H5P_DEFAULT, H5P_DEFAULT);
    H5Dwrite(dataset, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data());
    H5Dclose(dataset);
  }
  H5Sclose(space);
  H5Fclose(file);
}

}  // namespace fovea::data::test
