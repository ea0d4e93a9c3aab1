#include "tensor/safetensors.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/file.h"
#include "tensor/other_formats.h"
#include "tensor/safetensors_header.h"

namespace fovea {
namespace {

static_assert(std::endian::native == std::endian::little, "data is copied without swapping bytes");

constexpr std::uint64_t kMaxHeaderBytes = 100'000'000;
constexpr std::uint64_t kLengthBytes = 8;

float half_to_float(std::uint16_t half) {
  const std::uint32_t sign = (half & 0x8000u) << 16;
  const std::uint32_t exponent = (half >> 10) & 0x1fu;
  const std::uint32_t mantissa = half & 0x3ffu;
  if (exponent == 0) {  // zero and subnormals: mantissa 2^-24
    const float magnitude = std::ldexp(static_cast<float>(mantissa), -24);
    return sign != 0 ? -magnitude : magnitude;
  }
  const std::uint32_t widened = exponent == 31 ? 255 : exponent + 112;  // biases 15 and 127
  return std::bit_cast<float>(sign | (widened << 23) | (mantissa << 13));
}

template <class Stored, class Value, class Convert>
void widen(const char* data, const Tensor& tensor, Convert convert) {
  std::vector<Value> values(static_cast<std::size_t>(tensor.numel()));
  for (Value& value : values) {
    Stored stored;  // the data need not be aligned
    std::memcpy(&stored, data, sizeof stored);
    data += sizeof stored;
    value = convert(stored);
  }
  tensor.upload(values.data());
}

void fill(std::string_view stored_type, const char* data, const Tensor& tensor) {
  const auto convert32 = [](auto value) { return static_cast<std::int32_t>(value); };
  if (stored_type == "F16") {
    widen<std::uint16_t, float>(data, tensor, half_to_float);
  } else if (stored_type == "I8") {
    widen<std::int8_t, std::int32_t>(data, tensor, convert32);
  } else if (stored_type == "I16") {
    widen<std::int16_t, std::int32_t>(data, tensor, convert32);
  } else if (stored_type == "U16") {
    widen<std::uint16_t, std::int32_t>(data, tensor, convert32);
  } else if (stored_type == "U32") {
    widen<std::uint32_t, std::int64_t>(
        data, tensor, [](std::uint32_t v) { return static_cast<std::int64_t>(v); });
  } else {
    tensor.upload(data);
  }
}

// Throws with `why` it is no safetensors file, or with the other format that it is.
[[noreturn]] void refuse(std::string_view bytes, const std::string& name, const std::string& why) {
  const std::string other = safetensors::other_format(bytes, name);
  throw FileError(other.empty() ? fmt::format("{}: {}", name, why)
                                : fmt::format("{}: not a safetensors file but {}", name, other));
}

// The JSON text, after the checks on the length in front of it.
std::string_view header_text(std::string_view bytes, const std::string& name) {
  if (bytes.size() < kLengthBytes)
    refuse(bytes, name,
           fmt::format("holds {} bytes, too few for the header length of a safetensors file",
                       bytes.size()));
  std::uint64_t length = 0;
  std::memcpy(&length, bytes.data(), kLengthBytes);
  if (length > kMaxHeaderBytes)
    refuse(
        bytes, name,
        fmt::format("not a safetensors file: the header would take {} bytes, at most {} expected",
                    length, kMaxHeaderBytes));
  const std::uint64_t present = bytes.size() - kLengthBytes;
  if (length > present)
    refuse(bytes, name,
           fmt::format("promises a header of {} bytes, {} bytes follow; the copy or download was "
                       "cut short",
                       length, present));
  const std::string_view text = bytes.substr(kLengthBytes, length);
  if (text.empty() || text.front() != '{')
    refuse(bytes, name, "not a safetensors file: the header does not start with {");
  return text;
}

struct Ordered {
  std::string name;
  Tensor tensor;
};

// Largest elements first, so that everything is aligned; then by name.
std::vector<Ordered> in_file_order(const TensorFile& file) {
  std::vector<Ordered> order;
  for (const auto& [name, tensor] : file.tensors) {
    FOVEA_CHECK(name != "__metadata__", FileError,
                "safetensors: a tensor cannot be called __metadata__");
    FOVEA_CHECK(tensor.defined(), FileError, fmt::format("safetensors: {} has no value", name));
    order.push_back({name, tensor});
  }
  std::stable_sort(order.begin(), order.end(), [](const Ordered& a, const Ordered& b) {
    return size_of(a.tensor.dtype()) > size_of(b.tensor.dtype());
  });
  return order;
}

std::string header_of(const std::vector<Ordered>& order,
                      const std::map<std::string, std::string>& metadata) {
  nlohmann::ordered_json header = nlohmann::ordered_json::object();
  if (!metadata.empty()) header["__metadata__"] = metadata;
  std::int64_t offset = 0;
  for (const Ordered& item : order) {
    nlohmann::ordered_json entry;
    entry["dtype"] = safetensors::stored_name(item.tensor.dtype());
    entry["shape"] = item.tensor.shape().to_vector();
    entry["data_offsets"] = {offset, offset + item.tensor.bytes()};
    // push_back: operator[] would search all names before this one.
    header.push_back({item.name, std::move(entry)});
    offset += item.tensor.bytes();
  }
  std::string text;
  try {
    text = header.dump();
  } catch (const nlohmann::json::exception&) {
    throw FileError("safetensors: a name or a metadata entry is not valid UTF-8");
  }
  text.resize((text.size() + 7) / 8 * 8, ' ');
  return text;
}

}  // namespace

TensorFile parse_safetensors(std::string_view bytes, const std::string& name,
                             const Device& device) {
  const std::string_view text = header_text(bytes, name);
  safetensors::Header header = safetensors::parse_header(text, name);
  const std::string_view data = bytes.substr(kLengthBytes + text.size());
  const std::uint64_t promised = header.entries.empty() ? 0 : header.entries.back().end;
  FOVEA_CHECK(
      promised <= data.size(), FileError,
      fmt::format("{}: header promises {} bytes of data, file holds {}; the copy or download "
                  "was cut short",
                  name, promised, data.size()));
  FOVEA_CHECK(promised == data.size(), FileError,
              fmt::format("{}: {} bytes follow the last tensor; the file is damaged", name,
                          data.size() - promised));
  TensorFile file;
  file.metadata = std::move(header.metadata);
  for (const safetensors::Entry& entry : header.entries) {
    const Tensor tensor = Tensor::empty(entry.shape, entry.type->dtype, device);
    fill(entry.type->name, data.data() + entry.begin, tensor);
    file.tensors.emplace(entry.name, tensor);
  }
  return file;
}

TensorFile read_safetensors(const std::filesystem::path& path, const Device& device) {
  const std::vector<std::byte> bytes = io::read_bytes(path);
  return parse_safetensors({reinterpret_cast<const char*>(bytes.data()), bytes.size()},
                           path.string(), device);
}

std::string serialise_safetensors(const TensorFile& file) {
  const std::vector<Ordered> order = in_file_order(file);
  const std::string header = header_of(order, file.metadata);
  std::size_t total = kLengthBytes + header.size();
  for (const Ordered& item : order) total += static_cast<std::size_t>(item.tensor.bytes());
  std::string bytes;
  bytes.reserve(total);
  const std::uint64_t length = header.size();
  bytes.append(reinterpret_cast<const char*>(&length), kLengthBytes);
  bytes += header;
  for (const Ordered& item : order) {
    const std::size_t at = bytes.size();
    bytes.resize(at + static_cast<std::size_t>(item.tensor.bytes()));
    item.tensor.download(bytes.data() + at);
  }
  return bytes;
}

void write_safetensors(const std::filesystem::path& path, const TensorFile& file) {
  io::write_atomic(path, serialise_safetensors(file));
}

}  // namespace fovea
