// The labels that an nnU-Net dataset.json declares.
#pragma once

#include <filesystem>

#include "data/volumes/volume_part.h"
#include "schema/json/value.h"

namespace fovea::data {

/// Sets class_names, label_values, ignore_value and regions of `info` from "labels" and
/// "regions_class_order" of a dataset.json. Of version 1, "0": "background"; of version 2,
/// "background": 0, "whole_tumor": [1, 2, 3]. A list of several labels makes all of them but the
/// background regions, as in nnU-Net; a label that no entry names alone is called "label 2" then.
/// "ignore", the highest, is neither. Throws FileError, which begins with `file`.
void read_labels(const schema::Value& json, const std::filesystem::path& file, VolumeInfo& info);

}  // namespace fovea::data
