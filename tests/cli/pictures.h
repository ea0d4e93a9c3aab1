// Pictures that programs wrote.
#pragma once

#include "base/file.h"

namespace fovea::test {

inline bool is_png_file(const io::fs::path& file) {
  return io::read_text(file).substr(1, 3) == "PNG";
}

}  // namespace fovea::test
