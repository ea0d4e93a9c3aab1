#include "training/events/settings_events.h"

#include <cstdint>
#include <string_view>

#include "training/events/protobuf.h"

namespace fovea::training {
namespace {

// Summary.Value: 1 tag, 8 tensor, 9 metadata {1 plugin data {1 name, 2 content}}.
std::string value_of(std::string_view tag, std::string_view plugin, const std::string& content,
                     const std::string& tensor) {
  const std::string data = bytes_field(1, plugin) + bytes_field(2, content);
  return bytes_field(1, tag) + bytes_field(8, tensor) + bytes_field(9, bytes_field(1, data));
}

// Tensor: 1 type (1 float, 7 string), 2 shape {2 axis {1 size}}, 8 strings.
std::string no_numbers() { return varint_field(1, 1) + bytes_field(2, bytes_field(2, "")); }
std::string one_string(const std::string& text) {
  return varint_field(1, 7) + bytes_field(2, bytes_field(2, varint_field(1, 1))) +
         bytes_field(8, text);
}

// google.protobuf.Value: 2 number, 3 string, 4 bool.
std::string setting(const schema::Value& value) {
  if (value.is_number()) return double_field(2, value.as_double());
  if (value.is_bool()) return varint_field(4, value.as_bool() ? 1 : 0);
  return bytes_field(3, value.is_string() ? value.as_string() : value.dump(0));
}

// SessionStartInfo: entries {1 name, 2 value} of its map 1.
void add_settings(const schema::Value& object, const std::string& prefix, std::string& info) {
  for (const schema::Value::Member& member : object.members()) {
    const std::string name = prefix + member.key;
    if (member.value.is_object()) {
      add_settings(member.value, name + ".", info);
    } else if (!member.value.is_null()) {
      info += bytes_field(1, bytes_field(1, name) + bytes_field(2, setting(member.value)));
    }
  }
}

// HParamsPluginData: one of 3 session start, 4 session end.
std::string hparams(std::string_view tag, std::uint64_t field, const std::string& info) {
  return value_of(tag, "hparams", bytes_field(field, info), no_numbers());
}

}  // namespace

std::string hparams_value(const schema::Value& settings, double start_time) {
  std::string info;
  add_settings(settings, "", info);
  info += double_field(5, start_time);
  return hparams("_hparams_/session_start_info", 3, info);
}

std::string finished_value(double end_time) {
  constexpr std::uint64_t kSuccess = 1;
  return hparams("_hparams_/session_end_info", 4,
                 varint_field(1, kSuccess) + double_field(2, end_time));
}

std::string text_value(const std::string& tag, const std::string& markdown) {
  return value_of(tag, "text", "", one_string(markdown));
}

}  // namespace fovea::training
