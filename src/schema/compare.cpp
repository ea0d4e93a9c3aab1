#include "schema/compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

namespace fovea::schema {
namespace {

Value sorted(const Value& value) {
  Value result = value;
  if (result.is_array()) {
    for (Value& item : result.items()) item = sorted(item);
  } else if (result.is_object()) {
    for (auto& member : result.members()) member.value = sorted(member.value);
    std::sort(result.members().begin(), result.members().end(),
              [](const auto& a, const auto& b) { return a.key < b.key; });
  }
  return result;
}

bool holds_objects(const Value& array) {
  return std::any_of(array.items().begin(), array.items().end(), [](const Value& item) {
    return item.is_object() || (item.is_array() && holds_objects(item));
  });
}

// Whether a value is shown and compared as one setting.
bool is_leaf(const Value& value) {
  if (value.is_object()) return value.size() == 0;
  return !value.is_array() || !holds_objects(value);
}

void collect_diff(const Value& a, const Value& b, const std::string& path,
                  std::vector<std::string>& lines) {
  const auto line = [&](const std::string& at, const std::string& left, const std::string& right) {
    lines.push_back(fmt::format("{}: {} -> {}", at, left, right));
  };
  if (a.is_object() && b.is_object()) {
    for (const auto& member : a.members()) {
      const std::string at = join_path(path, member.key);
      if (const Value* other = b.find(member.key)) {
        collect_diff(member.value, *other, at, lines);
      } else {
        line(at, member.value.dump(0), "(none)");
      }
    }
    for (const auto& member : b.members()) {
      if (a.find(member.key) == nullptr) {
        line(join_path(path, member.key), "(none)", member.value.dump(0));
      }
    }
  } else if (a.is_array() && b.is_array() && a.size() == b.size() && holds_objects(a)) {
    for (std::size_t i = 0; i < a.size(); ++i) {
      collect_diff(a.at(i), b.at(i), join_path(path, std::to_string(i)), lines);
    }
  } else if (!(a == b)) {
    line(path.empty() ? "(root)" : path, a.dump(0), b.dump(0));
  }
}

void collect_provenance(const Value& value, const std::string& path,
                        std::vector<Provenance>& settings) {
  if (is_leaf(value)) {
    settings.push_back({path, value.dump(0), value.origin()});
  } else if (value.is_object()) {
    for (const auto& member : value.members()) {
      collect_provenance(member.value, join_path(path, member.key), settings);
    }
  } else {
    for (std::size_t i = 0; i < value.size(); ++i) {
      collect_provenance(value.at(i), join_path(path, std::to_string(i)), settings);
    }
  }
}

}  // namespace

std::string content_hash(const Value& value) {
  // 64-bit FNV is too short for names that must never collide; the 128-bit one is as simple.
  __extension__ using Wide = unsigned __int128;
  constexpr Wide kPrime = (Wide{1} << 88) + 0x13B;
  Wide hash = (Wide{0x6c62272e07bb0142} << 64) + 0x62b821756295c58d;
  for (const char c : sorted(value).dump(0)) {
    hash ^= static_cast<unsigned char>(c);
    hash *= kPrime;
  }
  return fmt::format("{:016x}{:016x}", static_cast<std::uint64_t>(hash >> 64),
                     static_cast<std::uint64_t>(hash));
}

std::vector<std::string> diff(const Value& a, const Value& b) {
  std::vector<std::string> lines;
  collect_diff(a, b, "", lines);
  return lines;
}

std::vector<Provenance> provenance(const Value& resolved) {
  std::vector<Provenance> settings;
  collect_provenance(resolved, "", settings);
  return settings;
}

}  // namespace fovea::schema
