#include "tests/support/paths.h"

namespace fovea::test {

std::string source_dir() { return FOVEA_SOURCE_DIR; }
std::string bin_dir() { return FOVEA_BIN_DIR; }

}  // namespace fovea::test
