// Lists beside folders of pictures, as ImageNet has them: the names of classes whose folders have
// numbers, and the classes of pictures in a part without class folders.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace fovea::data {

/// Names of the classes `folders`, by a file of lines "<folder> <name>": ImageNet's
/// LOC_synset_mapping.txt. Lines of other folders are left out; a folder without a line keeps its
/// own name, and a name that several have is followed by the folder. Throws FileError for a file
/// that names none of them.
std::vector<std::string> listed_names(const std::filesystem::path& file,
                                      const std::vector<std::string>& folders);

/// The class of every picture, as a position in `folders`, by a file of lines
///   <picture>,<folder> ...    commas or spaces; ending of the picture or not; a first line
///                             "ImageId,..." is left out: ImageNet's LOC_val_solution.csv
///   <picture> <number>        a position in `folders`, from 0
///   <folder>                  of the pictures in byte order, one line each
/// Throws FileError that names the line, and for a picture without one.
std::vector<std::int64_t> listed_classes(const std::filesystem::path& file,
                                         const std::vector<std::filesystem::path>& pictures,
                                         const std::vector<std::string>& folders);

}  // namespace fovea::data
