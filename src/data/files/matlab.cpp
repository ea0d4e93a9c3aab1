#include "data/files/matlab.h"

#include <fmt/format.h>
#include <matio.h>

#include <algorithm>
#include <memory>

#include "base/error.h"

namespace fovea::data {
namespace {

constexpr std::int64_t kMaxMatValues = std::int64_t{1} << 31;  // SVHN's largest file has 1.6e9

struct CloseMat {
  void operator()(mat_t* file) const { ::Mat_Close(file); }
  void operator()(matvar_t* variable) const { ::Mat_VarFree(variable); }
};

std::vector<std::int64_t> size_of(const matvar_t& variable) {
  std::vector<std::int64_t> size;
  for (int axis = 0; axis < variable.rank; ++axis)
    size.push_back(static_cast<std::int64_t>(variable.dims[axis]));
  return size;
}

// Of sizes that come from a file; nothing beyond kMaxMatValues.
std::int64_t count_of(const std::vector<std::int64_t>& size) {
  std::int64_t count = 1;
  for (const std::int64_t side : size) {
    if (side < 0 || (side > 0 && count > kMaxMatValues / side)) return -1;
    count *= side;
  }
  return count;
}

}  // namespace

MatArray read_mat(const std::filesystem::path& file, const std::string& variable) {
  const std::unique_ptr<mat_t, CloseMat> mat(::Mat_Open(file.c_str(), MAT_ACC_RDONLY));
  FOVEA_CHECK(mat != nullptr, FileError,
              fmt::format("{}: is not a .mat file, or is damaged; the copy or download may have "
                          "failed",
                          file.string()));
  const std::unique_ptr<matvar_t, CloseMat> read(::Mat_VarReadInfo(mat.get(), variable.c_str()));
  FOVEA_CHECK(read != nullptr && read->dims != nullptr, FileError,
              fmt::format("{}: has no variable {} that can be read", file.string(), variable));
  MatArray array{size_of(*read), {}};
  const std::int64_t count = count_of(array.size);
  const bool bytes = read->class_type == MAT_C_UINT8;
  const bool doubles = read->class_type == MAT_C_DOUBLE;
  FOVEA_CHECK(
      (bytes || doubles) && read->isComplex == 0 && count >= 0, FileError,
      fmt::format("{}: {} is no array of whole numbers from 0 to 255", file.string(), variable));
  // The data may be stored more tightly than their class says, and are widened while they are read.
  const std::size_t width = bytes ? sizeof(std::uint8_t) : sizeof(double);
  const bool complete = ::Mat_VarReadDataAll(mat.get(), read.get()) == 0 &&
                        (count == 0 || read->data != nullptr) &&
                        read->nbytes == static_cast<std::size_t>(count) * width;
  FOVEA_CHECK(complete, FileError,
              fmt::format("{}: {} is damaged or cut short; the copy or download may have failed",
                          file.string(), variable));
  if (bytes) {
    const auto* values = static_cast<const std::uint8_t*>(read->data);
    array.values.assign(values, values + count);
    return array;
  }
  const auto* values = static_cast<const double*>(read->data);
  for (std::int64_t i = 0; i < count; ++i) {
    FOVEA_CHECK(values[i] >= 0 && values[i] <= 255 &&
                    values[i] == static_cast<double>(static_cast<int>(values[i])),
                FileError,
                fmt::format("{}: {} holds {}; expected whole numbers from 0 to 255", file.string(),
                            variable, values[i]));
    array.values.push_back(static_cast<std::uint8_t>(values[i]));
  }
  return array;
}

}  // namespace fovea::data
