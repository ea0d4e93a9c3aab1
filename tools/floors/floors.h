// The floors of the source tree and who includes whom, and a picture of them (docs/floors.svg).
#pragma once

#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace fovea::floors {

struct Floor {
  std::string name;            // of its folder: "data"
  std::string words;           // of the first line of its README: "# data: ..."
  std::set<std::string> uses;  // the floors whose headers it includes
};

/// The floors: every folder of ROOT/src, and apps and tools, by name. Throws FileError where one has no
/// README that begins with "# <name>: <words>".
std::map<std::string, Floor> read_floors(const std::filesystem::path& root);

/// Floors that include each other in a circle, in its order; empty: there is none.
std::vector<std::string> circle_of(const std::map<std::string, Floor>& floors);

/// An SVG: who includes stands above, an arrow goes to each floor that no other one of the same
/// arrows reaches. Throws ConfigError where there is a circle.
std::string picture_of(const std::map<std::string, Floor>& floors);

}  // namespace fovea::floors
