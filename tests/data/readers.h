// Data sets of images from the files of a test, and what is said of files that are wrong.
#pragma once

#include <catch2/catch.hpp>

#include <memory>
#include <string>

#include "base/error.h"
#include "tests/data/config.h"
#include "tests/data/files.h"

namespace fovea::data::test {

inline std::shared_ptr<const ImageDataset> open(const std::string& type, const Folder& folder,
                                                const std::string& more = "",
                                                Split split = Split::kTrain) {
  return make_images(component(type, folder.path, more), split);
}

inline void check_refused(const std::string& type, const Folder& folder, const std::string& part,
                          const std::string& more = "", Split split = Split::kTrain) {
  INFO(type << " expecting: " << part);
  CHECK_THROWS_WITH(open(type, folder, more, split), Catch::Contains(part));
  CHECK_THROWS_AS(open(type, folder, more, split), FileError);
}

}  // namespace fovea::data::test
