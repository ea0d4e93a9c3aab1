#include "experiment/forecast/roofline.h"

#include <algorithm>

namespace fovea::experiment {

RooflineTimes roofline(const std::vector<autograd::Event>& step, const Roof& roof) {
  RooflineTimes times;
  for (const autograd::Event& event : step) {
    double& time = event.update     ? times.update_s
                   : event.backward ? times.backward_s
                                    : times.forward_s;
    time += std::max({2 * static_cast<double>(event.macs) / roof.operations,
                      static_cast<double>(event.moved_bytes()) / roof.memory_bandwidth, kLaunch});
  }
  return times;
}

}  // namespace fovea::experiment
