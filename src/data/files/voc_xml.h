// Annotations of Pascal VOC: an XML file for each image.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace fovea::data {

struct VocObject {
  std::string name;                // of its class
  std::array<double, 4> bndbox{};  // xmin ymin xmax ymax, as the file has them
  bool difficult = false;
};

struct VocAnnotation {
  std::int64_t height = 0, width = 0;  // 0 where the file does not say
  std::vector<VocObject> objects;
};

/// Reads <annotation> with its <size> and <object>s; everything else, such as parts of objects, is
/// passed over. Throws FileError "NAME:LINE: ..." for what is no XML, for another root, declared
/// entities, an object without name or one of its four sides, and for numbers that are none.
VocAnnotation parse_voc(std::string_view xml, const std::string& name);

}  // namespace fovea::data
