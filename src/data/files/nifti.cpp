#include "data/files/nifti.h"

#include <fmt/format.h>
#include <nifti1_io.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <memory>
#include <span>

#include "base/error.h"
#include "base/file.h"
#include "data/files/bytes.h"
#include "data/files/packed_file.h"

namespace fovea::data {
namespace {

constexpr int kHeaderBytes = sizeof(nifti_1_header);
static_assert(kHeaderBytes == 348);
constexpr int kHeader2Bytes = 540;  // of NIfTI-2
constexpr float kFirstData = 352;   // the header and four bytes that announce extensions

struct FreeImage {
  void operator()(nifti_image* image) const { nifti_image_free(image); }
};
using Header = std::unique_ptr<nifti_image, FreeImage>;

[[noreturn]] void refuse(std::string_view name, const std::string& what) {
  throw FileError(fmt::format("{}: {}", name, what));
}

// In this machine's byte order.
nifti_1_header raw_header(Bytes file, std::string_view name) {
  if (file.size() < kHeaderBytes)
    refuse(name, fmt::format("holds {} bytes, a NIfTI header has {}; the copy or download was cut "
                             "short",
                             file.size(), kHeaderBytes));
  nifti_1_header header;
  std::memcpy(&header, file.data(), kHeaderBytes);
  const int as_stored = header.sizeof_hdr;
  int size = as_stored;
  if (size != kHeaderBytes) {
    swap_nifti_header(&header, 1);
    size = header.sizeof_hdr;
  }
  if (as_stored == kHeader2Bytes || size == kHeader2Bytes)
    refuse(name, "is a NIfTI-2 file; expected NIfTI-1");
  const std::string_view magic(header.magic, 3);
  if (size != kHeaderBytes || (magic != "n+1" && magic != "ni1"))
    refuse(name, "is not a NIfTI-1 file (.nii, .nii.gz)");
  if (magic == "ni1")
    refuse(name, "is a NIfTI header with its data in an .img file; expected both in one .nii file");
  return header;
}

// Checks that the library does not make, or only warns about.
void check(const nifti_1_header& header, std::string_view name) {
  const int axes = header.dim[0];
  if (axes < 2 || axes > 7) refuse(name, fmt::format("has {} axes, 2 to 7 expected", axes));
  for (int k = 1; k <= axes; ++k) {
    if (header.dim[k] < 1)
      refuse(name, fmt::format("size of axis {} is {}, at least 1 expected", k, header.dim[k]));
    if (k > 4 && header.dim[k] > 1)
      refuse(name, fmt::format("axis {} has size {}; expected three axes, and channels along a "
                               "fourth",
                               k, header.dim[k]));
  }
  switch (header.datatype) {
    case NIFTI_TYPE_UINT8:
    case NIFTI_TYPE_INT8:
    case NIFTI_TYPE_INT16:
    case NIFTI_TYPE_UINT16:
    case NIFTI_TYPE_INT32:
    case NIFTI_TYPE_UINT32:
    case NIFTI_TYPE_INT64:
    case NIFTI_TYPE_UINT64:
    case NIFTI_TYPE_FLOAT32:
    case NIFTI_TYPE_FLOAT64:
      break;
    default:
      refuse(name, fmt::format("voxels are of type {} ({}); whole or real numbers expected",
                               header.datatype, nifti_datatype_string(header.datatype)));
  }
  if (!(header.vox_offset >= kFirstData && header.vox_offset < float{1 << 30}))
    refuse(name, fmt::format("data begin at byte {}, at least {} expected", header.vox_offset,
                             kFirstData));
}

Header parse(Bytes file, std::string_view name) {
  nifti_1_header header = raw_header(file, name);
  check(header, name);
  const bool swapped = file[0] != reinterpret_cast<const std::byte*>(&header)[0];
  if (swapped) swap_nifti_header(&header, 1);  // the library notes the order of the file
  Header image(nifti_convert_nhdr2nim(header, nullptr));
  if (image == nullptr) refuse(name, "has a damaged NIfTI header");
  return image;
}

// Of one unit of the header's lengths.
double millimetres(const nifti_image& image) {
  return image.xyz_units == NIFTI_UNITS_METER    ? 1e3
         : image.xyz_units == NIFTI_UNITS_MICRON ? 1e-3
                                                 : 1.0;
}

// 1 where the file has nothing usable.
double spacing(float step, double unit) {
  const double size = std::abs(double{step}) * unit;
  return std::isfinite(size) && size > 0 ? size : 1.0;
}

// The quaternion of the header as a rotation whose columns have the voxels' lengths. The library's
// version works in 32 bits and takes a negative step for 1. For half turns the rounding error in
// `a`^2 is taken for 0, as in nibabel: its square root would be large (0.0002 for 3e-8).
Affine affine_of_qform(const nifti_image& image, const std::array<double, 3>& steps, double unit) {
  constexpr double kRounding = 3 * double{std::numeric_limits<float>::epsilon()};
  double b = double{image.quatern_b}, c = double{image.quatern_c}, d = double{image.quatern_d};
  const double squares = b * b + c * c + d * d;
  const bool half = squares > 1 - kRounding;
  const double a = half ? 0 : std::sqrt(1 - squares);
  if (half) {
    for (double* part : {&b, &c, &d}) *part /= std::sqrt(squares);
  }
  const double third = image.qfac < 0 ? -steps[2] : steps[2];
  return {{{(a * a + b * b - c * c - d * d) * steps[0], 2 * (b * c - a * d) * steps[1],
            2 * (b * d + a * c) * third, unit * double{image.qoffset_x}},
           {2 * (b * c + a * d) * steps[0], (a * a + c * c - b * b - d * d) * steps[1],
            2 * (c * d - a * b) * third, unit * double{image.qoffset_y}},
           {2 * (b * d - a * c) * steps[0], 2 * (c * d + a * b) * steps[1],
            (a * a + d * d - b * b - c * c) * third, unit * double{image.qoffset_z}}}};
}

Affine affine_of(const nifti_image& image, const std::array<double, 3>& steps, double unit) {
  Affine affine = {{{steps[0], 0, 0, 0}, {0, steps[1], 0, 0}, {0, 0, steps[2], 0}}};
  if (image.sform_code > 0) {
    for (std::size_t r = 0; r < 3; ++r) {
      for (std::size_t c = 0; c < 4; ++c) affine[r][c] = unit * double{image.sto_xyz.m[r][c]};
    }
  } else if (image.qform_code > 0) {
    affine = affine_of_qform(image, steps, unit);
  }
  return affine;
}

// (Sizes of axes that a header leaves out may be 0.)
VolumeSize size_of(const nifti_image& image) {
  const double unit = millimetres(image);
  const std::array<double, 3> steps = {spacing(image.dx, unit), spacing(image.dy, unit),
                                       spacing(image.dz, unit)};
  return {std::max(image.nz, 1),
          image.ny,
          image.nx,
          {steps[2], steps[1], steps[0]},
          affine_of(image, steps, unit),
          std::max(image.nt, 1)};
}

std::string voxel(const VolumeSize& size, std::size_t i) {
  const auto at = static_cast<std::int64_t>(i);
  const std::string channel =
      size.channels > 1 ? fmt::format("channel {}, ", at / size.voxels()) : std::string();
  return fmt::format("{}slice {}, row {}, column {}", channel, at % size.voxels() / size.plane(),
                     at % size.plane() / size.width, at % size.width);
}

template <class T>
void scale(Bytes data, double slope, double intercept, std::vector<float>& values) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    T value;
    std::memcpy(&value, data.data() + i * sizeof(T), sizeof(T));
    values[i] = static_cast<float>(static_cast<double>(value) * slope + intercept);
  }
}

void scale(int type, Bytes data, double slope, double intercept, std::vector<float>& values) {
  switch (type) {
    case NIFTI_TYPE_UINT8:
      return scale<std::uint8_t>(data, slope, intercept, values);
    case NIFTI_TYPE_INT8:
      return scale<std::int8_t>(data, slope, intercept, values);
    case NIFTI_TYPE_INT16:
      return scale<std::int16_t>(data, slope, intercept, values);
    case NIFTI_TYPE_UINT16:
      return scale<std::uint16_t>(data, slope, intercept, values);
    case NIFTI_TYPE_INT32:
      return scale<std::int32_t>(data, slope, intercept, values);
    case NIFTI_TYPE_UINT32:
      return scale<std::uint32_t>(data, slope, intercept, values);
    case NIFTI_TYPE_INT64:
      return scale<std::int64_t>(data, slope, intercept, values);
    case NIFTI_TYPE_UINT64:
      return scale<std::uint64_t>(data, slope, intercept, values);
    case NIFTI_TYPE_FLOAT32:
      return scale<float>(data, slope, intercept, values);
    default:
      return scale<double>(data, slope, intercept, values);
  }
}

enum class Values { kScaled, kLabels };

Volume decode_plain(Bytes file, std::string_view name, Values what) {
  const Header header = parse(file, name);
  Volume volume;
  static_cast<VolumeSize&>(volume) = size_of(*header);
  const auto offset = static_cast<std::size_t>(header->iname_offset);
  const auto each = static_cast<std::size_t>(header->nbyper);
  // Sizes are 15 bits each, and files of fewer than kMaxVolumeBytes.
  const auto values = static_cast<std::size_t>(volume.voxels() * volume.channels);
  const std::size_t bytes = values * each;
  if (offset > file.size() || bytes > file.size() - offset)
    refuse(name, fmt::format("header promises {} bytes of voxels from byte {} on, file holds {}; "
                             "the copy or download was cut short",
                             bytes, offset, file.size()));
  Bytes data = file.subspan(offset, bytes);
  std::vector<std::byte> swapped;
  if (header->byteorder != nifti_short_order() && each > 1) {
    swapped.assign(data.begin(), data.end());
    nifti_swap_Nbytes(bytes / each, header->nbyper, swapped.data());
    data = swapped;
  }
  const bool real =
      header->datatype == NIFTI_TYPE_FLOAT32 || header->datatype == NIFTI_TYPE_FLOAT64;
  // A slope of 0 means no scaling.
  const bool scaled = (what == Values::kScaled || real) && header->scl_slope != 0 &&
                      std::isfinite(header->scl_slope) && std::isfinite(header->scl_inter);
  volume.values.resize(values);
  scale(header->datatype, data, scaled ? double{header->scl_slope} : 1.0,
        scaled ? double{header->scl_inter} : 0.0, volume.values);
  const auto bad = std::find_if_not(volume.values.begin(), volume.values.end(),
                                    [](float value) { return std::isfinite(value); });
  if (bad != volume.values.end())
    refuse(name, fmt::format("value {} in {}; finite numbers expected", *bad,
                             voxel(volume, static_cast<std::size_t>(bad - volume.values.begin()))));
  return volume;
}

Volume decode(Bytes file, std::string_view name, Values what) {
  if (!is_gzip(file)) return decode_plain(file, name, what);
  // Expands no more than the header promises.
  const Header header = parse(inflate_prefix(file, kHeaderBytes, name), name);
  const std::size_t most = static_cast<std::size_t>(header->iname_offset) +
                           header->nvox * static_cast<std::size_t>(header->nbyper);
  if (most > kMaxVolumeBytes)
    refuse(name, fmt::format("expands to {} bytes, at most {} are read", most, kMaxVolumeBytes));
  // All of it, for the checksum at the end; some writers put a little more there.
  constexpr std::size_t kMore = std::size_t{1} << 20;
  return decode_plain(inflate(file, most + kMore, name), name, what);
}

Volume of_one_channel(Volume volume, const std::filesystem::path& path) {
  if (volume.channels > 1)
    refuse(path.string(),
           fmt::format("axis 4 has size {}; expected one volume of three axes", volume.channels));
  return volume;
}

// The first bytes of a file, enough for a header even where they are compressed.
std::vector<std::byte> beginning(const std::filesystem::path& path) {
  std::vector<std::byte> begin = io::read_beginning(path, 4096);
  if (is_gzip(begin)) begin = inflate_prefix(begin, kHeaderBytes, path.string());
  return begin;
}

nifti_1_header header_like(const std::filesystem::path& like, const VolumeSize& size) {
  if (!like.empty()) {
    const std::vector<std::byte> begin = beginning(like);
    const VolumeSize own = size_of(*parse(begin, like.string()));
    if (own.depth != size.depth || own.height != size.height || own.width != size.width)
      refuse(like.string(),
             fmt::format("is {} x {} x {}, its labels are {} x {} x {}", own.depth, own.height,
                         own.width, size.depth, size.height, size.width));
    nifti_1_header header = raw_header(begin, like.string());
    if (own.channels > 1) header.dim[0] = 3;  // the channels of a file have one map of labels
    for (std::size_t k = 4; k < std::size(header.dim); ++k) header.dim[k] = 1;
    return header;
  }
  const int axes[8] = {3,
                       static_cast<int>(size.width),
                       static_cast<int>(size.height),
                       static_cast<int>(size.depth),
                       1,
                       1,
                       1,
                       1};
  nifti_1_header* made = nifti_make_new_header(axes, NIFTI_TYPE_UINT8);
  const nifti_1_header header = *made;
  std::free(made);
  return header;
}

// `voxels` are of `type` and in this machine's byte order.
void write(const std::filesystem::path& path, const VolumeSize& size, short type, Bytes voxels,
           const std::filesystem::path& like) {
  nifti_1_header header = header_like(like, size);
  header.datatype = type;
  header.bitpix = static_cast<short>(8 * std::ssize(voxels) / size.voxels());
  header.vox_offset = kFirstData;
  header.scl_slope = header.scl_inter = header.cal_max = header.cal_min = 0;
  std::memcpy(header.magic, "n+1", sizeof(header.magic));
  std::string file(static_cast<std::size_t>(kFirstData), '\0');
  std::memcpy(file.data(), &header, kHeaderBytes);
  file.append(reinterpret_cast<const char*>(voxels.data()), voxels.size());
  io::write_atomic(path, path.extension() == ".gz" ? pack_gzip(file) : file);
}

}  // namespace

bool has_nifti_extension(const std::filesystem::path& path) {
  const std::string name = path.filename().string();
  return name.ends_with(".nii") || name.ends_with(".nii.gz");
}

Volume decode_nifti(Bytes file, std::string_view name) {
  return decode(file, name, Values::kScaled);
}

Volume read_nifti(const std::filesystem::path& path) {
  return of_one_channel(read_nifti_channels(path), path);
}

Volume read_nifti_channels(const std::filesystem::path& path) {
  return decode_nifti(io::read_bytes(path, kMaxVolumeBytes), path.string());
}

Volume read_nifti_labels(const std::filesystem::path& path) {
  return of_one_channel(
      decode(io::read_bytes(path, kMaxVolumeBytes), path.string(), Values::kLabels), path);
}

VolumeSize read_nifti_size(const std::filesystem::path& path) {
  return size_of(*parse(beginning(path), path.string()));
}

std::optional<Affine> read_nifti_affine(const std::filesystem::path& path) {
  const Header header = parse(beginning(path), path.string());
  if (header->sform_code <= 0 && header->qform_code <= 0) return std::nullopt;
  return size_of(*header).affine;
}

void write_nifti_labels(const std::filesystem::path& path, const VolumeSize& size,
                        const std::vector<std::uint16_t>& labels,
                        const std::filesystem::path& like) {
  const bool deep =
      std::any_of(labels.begin(), labels.end(), [](auto label) { return label > 255; });
  if (deep) return write(path, size, NIFTI_TYPE_UINT16, std::as_bytes(std::span(labels)), like);
  const std::vector<std::uint8_t> low(labels.begin(), labels.end());
  write(path, size, NIFTI_TYPE_UINT8, std::as_bytes(std::span(low)), like);
}

void write_nifti_values(const std::filesystem::path& path, const VolumeSize& size,
                        std::span<const float> values, const std::filesystem::path& like) {
  write(path, size, NIFTI_TYPE_FLOAT32, std::as_bytes(values), like);
}

Image label_slice(const Volume& volume, std::int64_t slice, std::string_view name) {
  Image labels{volume.height, volume.width, 1, {}};
  const auto first = static_cast<std::size_t>(slice * volume.plane());
  for (std::size_t i = first; i < first + static_cast<std::size_t>(volume.plane()); ++i) {
    const float value = volume.values[i];
    if (!(value >= 0 && value <= 65535 && value == std::floor(value)))
      refuse(name, fmt::format("label {} in {}; whole numbers from 0 on expected", value,
                               voxel(volume, i)));
    labels.deep.push_back(static_cast<std::uint16_t>(value));
  }
  return labels;
}

}  // namespace fovea::data
