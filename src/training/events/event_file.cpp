#include "training/events/event_file.h"

#include <fmt/format.h>

#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <chrono>

namespace fovea::training {
namespace {

constexpr std::string_view kPrefix = "events.out.tfevents.";

constexpr std::array<std::uint32_t, 256> make_table() {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t i = 0; i < 256; ++i) {
    std::uint32_t value = i;
    for (int bit = 0; bit < 8; ++bit) value = (value >> 1) ^ ((value & 1u) * 0x82f63b78u);
    table[i] = value;
  }
  return table;
}
constexpr std::array<std::uint32_t, 256> kTable = make_table();

template <class T>
std::string little_endian(T value) {
  std::string bytes;
  for (std::size_t i = 0; i < sizeof(T); ++i) {
    bytes += static_cast<char>((value >> (8 * i)) & 0xffu);
  }
  return bytes;
}

std::string masked_crc(std::string_view bytes) {
  const std::uint32_t crc = crc32c(bytes);
  return little_endian(((crc >> 15) | (crc << 17)) + 0xa282ead8u);
}

// The encoding of protocol buffers: a key (field << 3 | wire type), then the value.
std::string varint(std::uint64_t value) {
  std::string bytes;
  for (; value >= 0x80; value >>= 7) bytes += static_cast<char>((value & 0x7f) | 0x80);
  return bytes + static_cast<char>(value);
}

std::string field_double(std::uint64_t field, double value) {
  return varint(field << 3 | 1) + little_endian(std::bit_cast<std::uint64_t>(value));
}

std::string field_float(std::uint64_t field, float value) {
  return varint(field << 3 | 5) + little_endian(std::bit_cast<std::uint32_t>(value));
}

std::string field_bytes(std::uint64_t field, std::string_view value) {
  return varint(field << 3 | 2) + varint(value.size()) + std::string(value);
}

double now() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

std::string new_event_name() {
  std::array<char, 256> host{};
  if (::gethostname(host.data(), host.size() - 1) != 0) host = {'h', 'o', 's', 't'};
  return fmt::format("{}{:.0f}.{}", kPrefix, now(), host.data());
}

}  // namespace

std::uint32_t crc32c(std::string_view bytes) {
  std::uint32_t crc = 0xffffffffu;
  for (const char c : bytes) {
    crc = (crc >> 8) ^ kTable[(crc ^ static_cast<unsigned char>(c)) & 0xffu];
  }
  return ~crc;
}

std::string event_record(std::string_view event) {
  const std::string length = little_endian(static_cast<std::uint64_t>(event.size()));
  return length + masked_crc(length) + std::string(event) + masked_crc(event);
}

std::string version_event(double wall_time) {
  return field_double(1, wall_time) + field_bytes(3, "brain.Event:2");
}

std::string scalar_event(double wall_time, std::int64_t step, const std::vector<Scalar>& scalars) {
  std::string summary;
  for (const Scalar& scalar : scalars) {
    summary += field_bytes(
        1, field_bytes(1, scalar.tag) + field_float(2, static_cast<float>(scalar.value)));
  }
  return field_double(1, wall_time) + varint(2 << 3) + varint(static_cast<std::uint64_t>(step)) +
         field_bytes(5, summary);
}

EventFile::EventFile(const std::filesystem::path& run_folder, const std::string& name)
    : name_(name.empty() ? new_event_name() : name),
      file_(std::make_unique<io::File>(run_folder / name_, io::File::Mode::kAppend)) {}

std::string EventFile::find(const std::filesystem::path& run_folder) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(run_folder)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with(kPrefix)) names.push_back(name);
  }
  return names.empty() ? "" : *std::min_element(names.begin(), names.end());
}

void EventFile::add(std::int64_t step, const std::vector<Scalar>& scalars) {
  std::string bytes;
  if (size() == 0) bytes = event_record(version_event(now()));
  bytes += event_record(scalar_event(now(), step, scalars));
  file_->write(bytes);
}

void EventFile::cut_back(std::int64_t bytes) {
  // A copy of the run may have come without it; zeros at its end would not be records.
  file_->truncate(static_cast<std::uint64_t>(std::min(bytes, size())));
}

}  // namespace fovea::training
