// Every reader of files, as a function of bytes, for tests with damaged files and for fuzzers.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace fovea::test {

struct Reader {
  std::string name;  // also of its folder of seeds, tests/fuzz/corpus/<name>
  /// Reads the bytes of a file and uses what comes out. Throws fovea::Error where they are no such
  /// file; anything else is a defect.
  void (*read)(std::string_view bytes);
};

const std::vector<Reader>& readers();

}  // namespace fovea::test
