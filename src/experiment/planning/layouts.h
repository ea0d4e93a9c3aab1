// Folders as users have them: which data set reads one, and with which options.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "schema/json/value.h"

namespace fovea::experiment {

/// What an experiment about a folder begins with.
struct FoundData {
  schema::Value dataset;             // its key, without sizes of what a network sees
  std::vector<std::string> remarks;  // sentences on what was found, and what was made of it
  std::filesystem::path example;  // what `fovea predict` may be given; empty: nothing of the data
};

/// nnU-Net's dataset.json, imagesTr and labelsTr.
FoundData find_volumes(const std::filesystem::path& root);
/// ROOT/train/CLASS/PICTURE, with val and test or without, or ROOT/CLASS/PICTURE.
FoundData find_images(const std::filesystem::path& root);
/// ROOT/images and ROOT/masks, or ROOT/train/images and ROOT/train/masks; both may have other
/// usual names. Channels of images may lie in files of their own.
FoundData find_masks(const std::filesystem::path& root);
/// A table (.csv, .tsv), a folder with one or with train, val and test, or folders of classes with
/// a text a file.
FoundData find_texts(const std::filesystem::path& root);
// All throw FileError in a line that says what was expected, where a folder is none of these or
// more than one.

}  // namespace fovea::experiment
