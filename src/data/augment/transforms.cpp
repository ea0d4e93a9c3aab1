#include "data/augment/transforms.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstddef>
#include <functional>
#include <vector>

#include "base/error.h"
#include "data/augment/transform_entry.h"
#include "schema/json/value.h"

namespace fovea::data {

#define FOVEA_ENTRY(name) TransformEntry transform_entry_##name();
#include "data/augment/transforms.def"
#undef FOVEA_ENTRY

namespace {

// Why an entry of another name does not fit; "" for a name that is no entry's.
std::string misfit(const std::string& name, Changes what) {
  const TransformEntry* named = nullptr;
  std::vector<std::string> fitting;
  for (const TransformEntry& entry : transforms()) {
    if (entry.name == name) named = &entry;
    if (entry.changes.has(what)) fitting.push_back(entry.name);
  }
  if (named == nullptr) return "";
  return fmt::format("\"{}\" applies to {}, not to {}; those that do: {}", name,
                     named->changes.text(), what.text(), fmt::join(fitting, ", "));
}

schema::Choices choices_of(const char* kind, const std::function<bool(Changes)>& fits) {
  return {kind, [fits] {
            std::vector<schema::Choice> fitting;
            for (const TransformEntry& entry : transforms()) {
              if (fits(entry.changes)) fitting.push_back(entry);
            }
            return fitting;
          }};
}

const TransformEntry& find_entry(const schema::Component& component, const std::string& path,
                                 Changes what) {
  schema::find_choice(transform_choices(what), component.type, schema::join_path(path, "type"));
  return transforms().find(component.type);
}

}  // namespace

schema::Registry<TransformEntry>& transforms() {
  static schema::Registry<TransformEntry> all = {
#define FOVEA_ENTRY(name) transform_entry_##name(),
#include "data/augment/transforms.def"
#undef FOVEA_ENTRY
  };
  return all;
}

std::string Changes::text() const {
  std::vector<const char*> kinds;
  if (has(kPictures)) kinds.push_back("pictures");
  if (has(kMaskedPictures)) kinds.push_back("pictures with masks");
  if (has(kBoxedPictures)) kinds.push_back("pictures with boxes");
  if (has(kVolumes)) kinds.push_back("volumes");
  if (has(kFeatures)) kinds.push_back("features of recordings");
  return fmt::format("{}", fmt::join(kinds, " and "));
}

schema::Choices transform_choices(Changes what) {
  // Pictures with boxes and recordings have lists of their own, which documentation and schema show
  // beside that of other pictures.
  const char* kind = what.has(kBoxedPictures) ? "box_transform"
                     : what.has(kFeatures)    ? "feature_transform"
                                              : TransformEntry::kKind;
  schema::Choices choices = choices_of(kind, [what](Changes changes) { return changes.has(what); });
  choices.misfit = [what](const std::string& name) { return misfit(name, what); };
  return choices;
}

schema::Choices picture_transform_choices() {
  schema::Choices choices = choices_of(TransformEntry::kKind, [](Changes changes) {
    return changes.has(kPictures) || changes.has(kMaskedPictures);
  });
  choices.misfit = [](const std::string& name) { return misfit(name, kPictures); };
  return choices;
}

std::unique_ptr<const PictureTransform> make_picture_transform(const schema::Component& component,
                                                               const std::string& path,
                                                               Changes what) {
  auto transform = find_entry(component, path, what).make_for_pictures(component, path);
  const std::string option = transform->option_without_masks();
  FOVEA_CHECK(option.empty() || !what.has(kMaskedPictures), ConfigError,
              fmt::format("{}: {} is an option of \"{}\" for {}, not for {}",
                          schema::join_path(path, option), option, component.type, kPictures.text(),
                          what.text()));
  return transform;
}

std::unique_ptr<const BoxTransform> make_box_transform(const schema::Component& component,
                                                       const std::string& path) {
  return find_entry(component, path, kBoxedPictures).make_for_boxes(component, path);
}

std::unique_ptr<const VolumeTransform> make_volume_transform(const schema::Component& component,
                                                             const std::string& path) {
  return find_entry(component, path, kVolumes).make_for_volumes(component, path);
}

std::unique_ptr<const FeatureTransform> make_feature_transform(const schema::Component& component,
                                                               const std::string& path) {
  return find_entry(component, path, kFeatures).make_for_features(component, path);
}

void ChannelTransform::apply(VolumeCrop& crop, const RandomStream& draws) const {
  if (!happens(draws, prob_)) return;
  for (std::int64_t c = 0; c < crop.channels; ++c) {
    const RandomStream own = draws.fork(static_cast<std::uint64_t>(c));
    if (happens(own, channel_prob_)) change(crop.channel(c), crop.size, own);
  }
}

}  // namespace fovea::data
