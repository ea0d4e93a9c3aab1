#include "data/sets/nnunet_labels.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "base/error.h"

namespace fovea::data {
namespace {

using schema::Value;

// nnU-Net's reserved name: nobody said which class such voxels are, so they count nowhere.
constexpr const char* kIgnore = "ignore";
constexpr const char* kOrder = "regions_class_order";

// One member of "labels".
struct LabelEntry {
  std::string name;
  std::vector<int> values;  // in the file's order
  bool list = false;

  bool is_background() const { return values == std::vector<int>{0}; }
};

class LabelReader {
 public:
  LabelReader(const Value& json, const std::filesystem::path& file)
      : json_(json), file_(file.string()) {
    for (const Value::Member& member : json.at("labels").members()) add(member);
    std::erase_if(entries_, [](const LabelEntry& entry) { return entry.name == kIgnore; });
    regions_ = std::ranges::any_of(entries_,
                                   [](const LabelEntry& entry) { return entry.values.size() > 1; });
  }

  void read(VolumeInfo& info) const {
    std::map<int, std::string> names;
    for (const LabelEntry& entry : entries_) {
      for (const int value : entry.values) names.emplace(value, fmt::format("label {}", value));
    }
    for (const LabelEntry& entry : entries_) {
      if (entry.values.size() == 1) names[entry.values.front()] = entry.name;
    }
    const bool background = std::ranges::any_of(entries_, &LabelEntry::is_background);
    check(names.size() > 1 && background,
          fmt::format("labels: {} given; expected the background, 0, and others", names.size()));
    for (const auto& [value, name] : names) {
      info.label_values.push_back(value);
      info.class_names.push_back(name);
    }
    set_ignored(names.rbegin()->first, info);
    if (regions_) {
      set_regions(info);
    } else {
      check_distinct();
    }
  }

 private:
  void check(bool fits, const std::string& message) const {
    FOVEA_CHECK(fits, FileError, fmt::format("{}: {}", file_, message));
  }

  int label_of(const std::string& number) const {
    const bool digits =
        !number.empty() && number.size() <= 3 &&
        std::ranges::all_of(number, [](unsigned char c) { return c >= '0' && c <= '9'; });
    check(digits && std::stoi(number) <= 255,
          fmt::format("labels: {} is no whole number from 0 to 255", number));
    return std::stoi(number);
  }

  // What is no integer is named as the file has it.
  int label_of(const Value& value) const {
    return label_of(value.is_integer() ? std::to_string(value.as_int()) : value.dump(0));
  }

  void add(const Value::Member& member) {
    LabelEntry entry{member.key, {}, member.value.is_array()};
    if (entry.list) {
      for (const Value& value : member.value.items()) {
        const int label = label_of(value);
        check(std::ranges::find(entry.values, label) == entry.values.end(),
              fmt::format("labels: \"{}\" has {} twice", entry.name, label));
        entry.values.push_back(label);
      }
      check(!entry.values.empty(),
            fmt::format("labels: \"{}\" is an empty list; expected the labels of the region",
                        entry.name));
    } else if (member.value.is_string()) {  // of version 1
      entry = {member.value.as_string(), {label_of(member.key)}};
    } else {
      entry.values = {label_of(member.value)};
    }
    if (entry.name == kIgnore) ignored_.push_back(entry);
    entries_.push_back(std::move(entry));
  }

  // Of version 1 two labels may have one name.
  void set_ignored(int highest, VolumeInfo& info) const {
    if (ignored_.empty()) return;
    const LabelEntry& first = ignored_.front();
    check(!first.list, fmt::format("labels: \"{}\" is a list; expected one number", kIgnore));
    const int value = first.values.front();
    const auto has_it = [&](const LabelEntry& entry) {
      return entry.values.size() > 1 &&
             std::ranges::find(entry.values, value) != entry.values.end();
    };
    if (const auto region = std::ranges::find_if(entries_, has_it); region != entries_.end())
      check(false, fmt::format("labels: the region \"{}\" has {}, which is \"{}\"", region->name,
                               value, kIgnore));
    check(ignored_.size() == 1 && value > highest,
          fmt::format("labels: \"{}\" is {}; expected one, the highest of all labels, as nnU-Net "
                      "has it",
                      kIgnore, value));
    info.ignore_value = value;
  }

  void check_distinct() const {
    std::map<int, std::string> names;
    for (const LabelEntry& entry : entries_)
      check(names.emplace(entry.values.front(), entry.name).second,
            fmt::format("labels: {} is given twice", entry.values.front()));
  }

  void set_regions(VolumeInfo& info) const {
    const auto place_of = [&](std::int64_t value) {
      return std::ranges::find(info.label_values, value) - info.label_values.begin();
    };
    for (const LabelEntry& entry : entries_) {
      if (entry.is_background()) continue;
      Region region{entry.name, key_of(entry), {}, 0};
      for (const int value : entry.values)
        region.classes.push_back(static_cast<std::uint8_t>(place_of(value)));
      std::ranges::sort(region.classes);
      const auto same = std::ranges::find(info.regions, region.classes, &Region::classes);
      if (same != info.regions.end())
        check(false, fmt::format("labels: \"{}\" and \"{}\" are the same labels", same->name,
                                 region.name));
      info.regions.push_back(std::move(region));
    }
    const Value* order = json_.find(kOrder);
    check(order != nullptr && order->is_array(),
          fmt::format("{}: not there, but labels has lists; expected a list of the labels that "
                      "predicted voxels of {} get",
                      kOrder, names_text(info)));
    check(order->size() == info.regions.size(),
          fmt::format("{}: {} labels for {} regions ({})", kOrder, order->size(),
                      info.regions.size(), names_text(info)));
    for (std::size_t r = 0; r < info.regions.size(); ++r) {
      const Value& value = order->at(r);
      const auto place =
          value.is_integer() ? place_of(value.as_int()) : std::ssize(info.label_values);
      check(place < std::ssize(info.label_values),
            fmt::format("{}: {} is none of the labels {}", kOrder, value.dump(0),
                        fmt::join(info.label_values, ", ")));
      info.regions[r].written = static_cast<std::uint8_t>(place);
    }
  }

  // A Python tuple of the list, or the number.
  static std::string key_of(const LabelEntry& entry) {
    if (!entry.list) return std::to_string(entry.values.front());
    return fmt::format("({}{})", fmt::join(entry.values, ", "),
                       entry.values.size() == 1 ? "," : "");
  }

  static std::string names_text(const VolumeInfo& info) {
    std::vector<std::string> names;
    for (const Region& region : info.regions) names.push_back(region.name);
    return fmt::format("{}", fmt::join(names, ", "));
  }

  const Value& json_;
  std::string file_;
  std::vector<LabelEntry> entries_, ignored_;  // the others, and those called "ignore"
  bool regions_ = false;
};

}  // namespace

void read_labels(const Value& json, const std::filesystem::path& file, VolumeInfo& info) {
  LabelReader(json, file).read(info);
}

}  // namespace fovea::data
