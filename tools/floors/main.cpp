// floors ROOT: prints the picture of the floors as SVG; tools/make-docs writes it into docs/.
#include <fmt/format.h>

#include <exception>

#include "floors/floors.h"

int main(int argc, char** argv) {
  if (argc != 2) {
    fmt::print(stderr, "floors: expected one folder, the root of the sources\n");
    return 2;
  }
  try {
    fmt::print("{}", fovea::floors::picture_of(fovea::floors::read_floors(argv[1])));
  } catch (const std::exception& error) {
    fmt::print(stderr, "floors: {}\n", error.what());
    return 1;
  }
  return 0;
}
