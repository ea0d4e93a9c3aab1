// Where the checkout and its programs are. One source knows it, so that the objects of all others
// are the same in every checkout and a compiler cache serves them to each.
#pragma once

#include <string>

namespace fovea::test {

/// The checkout, without a slash at the end.
std::string source_dir();
/// The folder of train, eval, ...
std::string bin_dir();

}  // namespace fovea::test
