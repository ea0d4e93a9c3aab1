// A roofline (Williams et al. 2009): what operations reach, by their operations for every byte that
// they move, below what the machine reaches.
#pragma once

#include <string>
#include <vector>

#include "visualise/plots/plot.h"

namespace fovea::visualise {

struct Roof {
  std::string name;
  double rate = 0;  // operations, or bytes, a second
};

struct RooflinePoint {
  std::string name;
  bool backward = false;
  double intensity = 0;  // operations for every byte moved
  double rate = 0;       // operations a second
  double share = 0;      // of the time of all points
};

struct Roofline {
  std::string title;
  std::vector<Roof> products;    // flat roofs: operations a second
  std::vector<Roof> bandwidths;  // sloping ones: bytes a second
  std::vector<RooflinePoint> points;
};

/// Both axes are logarithmic. The area of a point goes with its share of the time; those of less
/// than a hundredth have no name, of less than a thousandth they are left out. Of product roofs
/// within 5 % of each other the first one is drawn. Throws ConfigError without roofs of both kinds.
LinePlot roofline_plot(const Roofline& roofline);

}  // namespace fovea::visualise
