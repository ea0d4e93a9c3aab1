// What this program was built from.
#pragma once

#include <string>

namespace fovea {

/// "0.1.0".
std::string version();
/// Abbreviated commit of the sources at configure time, "unknown" outside a git checkout.
std::string commit();
/// "GCC 12.2.0, Release".
std::string compiler();

}  // namespace fovea
