// What a survey found, as JSON and as text.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <utility>

#include "data/survey.h"
#include "data/volumes/volume_regions.h"
#include "schema/json/parse.h"

namespace fovea::data {
namespace {

using schema::Value;

constexpr std::size_t kMaxShown = 12;  // classes, sizes and bad samples in the text

std::int64_t percentile(const std::vector<std::int64_t>& ascending, std::int64_t percent) {
  const std::int64_t last = std::ssize(ascending) - 1;
  return ascending[static_cast<std::size_t>(last * percent / 100)];
}

double mean_of(const std::vector<std::int64_t>& values) {
  double sum = 0;
  for (const std::int64_t value : values) sum += static_cast<double>(value);
  return sum / static_cast<double>(values.size());
}

// The most frequent ones first.
std::vector<std::pair<std::vector<std::int64_t>, std::int64_t>> by_count(const PartSurvey& part) {
  std::vector<std::pair<std::vector<std::int64_t>, std::int64_t>> sizes(part.sizes.begin(),
                                                                        part.sizes.end());
  std::stable_sort(sizes.begin(), sizes.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  return sizes;
}

Value named(const std::vector<std::string>& names, const std::vector<std::int64_t>& counts) {
  Value object = Value::object();
  for (std::size_t c = 0; c < counts.size(); ++c) object.set(names[c], counts[c]);
  return object;
}

Value to_json(const ObjectSurvey& objects, const std::vector<std::string>& names) {
  return Value::object({{"classes", named(names, objects.per_class)},
                        {"crowds", objects.crowds},
                        {"most_of_an_image", objects.most},
                        {"images_without", objects.empty_images},
                        {"boxes_left_out", objects.skipped},
                        {"small", objects.by_size[0]},
                        {"medium", objects.by_size[1]},
                        {"large", objects.by_size[2]}});
}

bool has_soft_masks(const PartSurvey& part) {
  return part.per_class.empty() && part.samples > 0 && !part.speech && !part.stream;
}

Value to_json(const PartSurvey& part, const std::vector<std::string>& names) {
  Value object = Value::object({{"samples", part.samples}});
  if (!part.per_class.empty()) object.set("classes", named(names, part.per_class));
  if (!part.sizes.empty()) {
    Value sizes = Value::array();
    for (const auto& [size, samples] : by_count(part))
      sizes.push_back(Value::object({{"size", Value::array(size)}, {"samples", samples}}));
    object.set("sizes", sizes);
  }
  if (!part.mean.empty()) {
    object.set("mean", Value::array(part.mean));
    object.set("std", Value::array(part.std));
  }
  if (!part.labels.empty()) {
    object.set("pixels", named(names, part.labels));
    object.set("pixels_ignored", part.ignored);
    object.set("masks_of_one_class", part.empty_masks);
  } else if (part.objects) {
    object.set("objects", to_json(*part.objects, names));
  } else if (has_soft_masks(part)) {
    object.set("foreground", part.foreground);
    object.set("masks_without_foreground", part.empty_masks);
  }
  if (!part.lengths.empty()) {
    object.set("words", Value::object({{"least", part.lengths.front()},
                                       {"median", percentile(part.lengths, 50)},
                                       {"mean", mean_of(part.lengths)},
                                       {"percentile_95", percentile(part.lengths, 95)},
                                       {"most", part.lengths.back()},
                                       {"unknown", part.unknown}}));
  }
  if (part.speech) object.set("speech", to_json(*part.speech));
  if (part.stream)
    object.set("stream",
               Value::object({{"tokens", part.stream->tokens}, {"bytes", part.stream->bytes}}));
  if (part.volumes) object.set("fingerprint", to_json(*part.volumes));
  object.set("constant", Value::array(part.constant));
  object.set("bad", Value::array(part.bad));
  return object;
}

// "cat 3, dog 4", or of many classes how different they are.
std::string counts_text(const std::vector<std::string>& names,
                        const std::vector<std::int64_t>& counts) {
  std::vector<std::string> all;
  for (std::size_t c = 0; c < counts.size(); ++c)
    all.push_back(fmt::format("{} {}", names[c], counts[c]));
  if (all.size() <= kMaxShown) return fmt::format("{}", fmt::join(all, ", "));
  const auto [least, most] = std::minmax_element(counts.begin(), counts.end());
  return fmt::format("{} classes, from {} to {}", counts.size(),
                     all[static_cast<std::size_t>(least - counts.begin())],
                     all[static_cast<std::size_t>(most - counts.begin())]);
}

std::string sizes_text(const PartSurvey& part) {
  const auto sizes = by_count(part);
  const auto size_text = [](const std::vector<std::int64_t>& size) {
    return fmt::format("{}", fmt::join(size, " x "));
  };
  if (sizes.size() == 1) return "all " + size_text(sizes[0].first);
  std::vector<std::int64_t> least = sizes[0].first, most = least;
  for (const auto& [size, samples] : sizes) {
    for (std::size_t axis = 0; axis < size.size(); ++axis) {
      least[axis] = std::min(least[axis], size[axis]);
      most[axis] = std::max(most[axis], size[axis]);
    }
  }
  return fmt::format("{} different, sides from {} to {}; most often {} ({} samples)", sizes.size(),
                     size_text(least), size_text(most), size_text(sizes[0].first), sizes[0].second);
}

std::string to_text(const PartSurvey& part, const std::vector<std::string>& names) {
  std::string text = fmt::format("{}: {} samples\n", part.name, part.samples);
  const auto line = [&](const char* what, const std::string& value) {
    text += fmt::format("  {:<11} {}\n", what, value);
  };
  const auto percent = [](double share) { return fmt::format("{:.2f} %", 100 * share); };
  if (!part.per_class.empty()) line("classes", counts_text(names, part.per_class));
  if (!part.sizes.empty()) line("sizes", sizes_text(part));
  if (part.volumes) {
    for (const auto& [what, value] : lines_of(*part.volumes)) line(what.c_str(), value);
  }
  if (part.speech) {
    for (const auto& [what, value] : lines_of(*part.speech)) line(what.c_str(), value);
  }
  if (part.stream) {
    line("tokens",
         fmt::format("{} are predicted, of {} bytes ({:.2f} each)", part.stream->tokens,
                     part.stream->bytes,
                     static_cast<double>(part.stream->bytes) /
                         static_cast<double>(std::max<std::int64_t>(1, part.stream->tokens))));
  }
  if (!part.mean.empty()) {
    line("channels", fmt::format("mean {:.4f}, std {:.4f}", fmt::join(part.mean, " "),
                                 fmt::join(part.std, " ")));
  }
  if (!part.labels.empty()) {
    std::int64_t pixels = part.ignored;
    for (const std::int64_t count : part.labels) pixels += count;
    line("pixels", counts_text(names, part.labels));
    if (part.ignored > 0)
      line("ignored", percent(static_cast<double>(part.ignored) / static_cast<double>(pixels)));
    if (part.empty_masks > 0) line("masks", fmt::format("{} of one class", part.empty_masks));
  } else if (part.objects) {
    const ObjectSurvey& objects = *part.objects;
    const auto count =
        std::accumulate(objects.per_class.begin(), objects.per_class.end(), std::int64_t{0});
    line("objects", fmt::format("{}, at most {} of an image; {} images without any", count,
                                objects.most, objects.empty_images));
    line("of classes", counts_text(names, objects.per_class));
    line("of sizes", fmt::format("{} small (up to 32 x 32 pixels), {} medium (96 x 96), {} large",
                                 objects.by_size[0], objects.by_size[1], objects.by_size[2]));
    if (objects.crowds > 0) line("crowds", fmt::format("{}", objects.crowds));
    if (objects.skipped > 0)
      line(
          "left out",
          fmt::format("{} without area or outside",
                      objects.skipped == 1 ? "one box" : fmt::format("{} boxes", objects.skipped)));
  } else if (has_soft_masks(part)) {
    line("foreground", fmt::format("{} of the pixels; {} masks without any",
                                   percent(part.foreground), part.empty_masks));
  }
  if (!part.lengths.empty()) {
    const double words = mean_of(part.lengths) * static_cast<double>(part.lengths.size());
    line("words",
         fmt::format("{} to {}, median {}, mean {:.1f}, 95 % have at most {}; {} unknown",
                     part.lengths.front(), part.lengths.back(), percentile(part.lengths, 50),
                     mean_of(part.lengths), percentile(part.lengths, 95),
                     percent(static_cast<double>(part.unknown) / std::max(words, 1.0))));
  }
  const auto list = [&](const char* what, const std::string& kind,
                        const std::vector<std::string>& all) {
    if (all.empty()) return;
    line(what, fmt::format("{} {}", all.size(), kind));
    for (std::size_t i = 0; i < std::min(all.size(), kMaxShown); ++i)
      text += fmt::format("    {}\n", all[i]);
    if (all.size() > kMaxShown)
      text += fmt::format("    and {} more; --json has all\n", all.size() - kMaxShown);
  };
  list("constant", "samples of one value everywhere", part.constant);
  list("bad", "samples", part.bad);
  return text;
}

}  // namespace

Value to_json(const Survey& survey) {
  Value parts = Value::object();
  for (const PartSurvey& part : survey.parts)
    parts.set(part.name, to_json(part, survey.class_names));
  Value object = Value::object({{"hash", survey.hash},
                                {"classes", Value::array(survey.class_names)},
                                {"parts", parts},
                                {"notes", Value::array(survey.notes)}});
  if (survey.plan) object.set("plan", schema::parse(survey.plan->text(), kPlanFile));
  if (!survey.regions.is_null()) object.set("regions", survey.regions);
  return object;
}

std::string to_text(const Survey& survey) {
  std::string text = "content " + survey.hash;
  if (!survey.class_names.empty())
    text += fmt::format(", {} {}", survey.class_names.size(),
                        survey.class_names.size() == 1 ? "class" : "classes");
  text += "\n";
  for (const PartSurvey& part : survey.parts) text += to_text(part, survey.class_names);
  if (!survey.regions.is_null())
    text += "regions, which networks learn: " + regions_text(survey.regions) + "\n";
  if (survey.plan) text += "plan: " + plan_text(*survey.plan) + "\n";
  for (const std::string& note : survey.notes) text += "note: " + note + "\n";
  return text;
}

}  // namespace fovea::data
