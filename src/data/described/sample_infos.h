// What all samples of a data set have in common, as JSON: enough to prepare files that belong to
// no data set as its own.
#pragma once

#include "data/boxes/box_part.h"
#include "data/source.h"
#include "data/volumes/volume_part.h"
#include "schema/json/value.h"

namespace fovea::data {

/// {"images": {...}}, {"boxes": {...}}, {"volumes": {...}}.
schema::Value description_of(const SourceInfo& info);
schema::Value description_of(const BoxInfo& info);
schema::Value description_of(const VolumeInfo& info);

/// The inverse. Throw FileError for what is missing, unknown or of another kind.
SourceInfo image_info(const schema::Value& description);
BoxInfo box_info(const schema::Value& description);
VolumeInfo volume_info(const schema::Value& description);

}  // namespace fovea::data
