#include "training/events/event_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>

#include "base/holder.h"
#include "training/events/protobuf.h"

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

std::string masked_crc(std::string_view bytes) {
  const std::uint32_t crc = crc32c(bytes);
  return little_endian(((crc >> 15) | (crc << 17)) + 0xa282ead8u);
}

std::string new_event_name() {
  return fmt::format("{}{:.0f}.{}", kPrefix, unix_time(), host_name());
}

}  // namespace

double unix_time() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

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
  return double_field(1, wall_time) + bytes_field(3, "brain.Event:2");
}

std::string scalar_value(const std::string& tag, double value) {
  return bytes_field(1, tag) + float_field(2, static_cast<float>(value));
}

std::string summary_event(double wall_time, std::int64_t step,
                          const std::vector<std::string>& values) {
  std::string summary;
  for (const std::string& value : values) summary += bytes_field(1, value);
  return double_field(1, wall_time) + varint_field(2, static_cast<std::uint64_t>(step)) +
         bytes_field(5, summary);
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

void EventFile::add(std::int64_t step, const std::vector<std::string>& values) {
  std::string bytes;
  if (size() == 0) bytes = event_record(version_event(unix_time()));
  bytes += event_record(summary_event(unix_time(), step, values));
  file_->write(bytes);
}

void EventFile::cut_back(std::int64_t bytes) {
  // A copy of the run may have come without it; zeros at its end would not be records.
  file_->truncate(static_cast<std::uint64_t>(std::min(bytes, size())));
}

}  // namespace fovea::training
