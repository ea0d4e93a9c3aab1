#include "ops/detection/assign.h"

#include "ops/detection/host_boxes.h"

namespace fovea::ops {
namespace {

constexpr double kInCrowd = 0.5;

std::vector<char> inside_crowds(const HostBoxes& boxes, const Tensor& crowds) {
  std::vector<char> inside(static_cast<std::size_t>(boxes.count()), 0);
  if (!crowds.defined()) return inside;
  const HostBoxes regions("assign_boxes", "crowds", crowds);
  for (std::int64_t k = 0; k < regions.count(); ++k) {
    const Box region = regions[k];
    for (std::int64_t i = 0; i < boxes.count(); ++i) {
      if (share_inside(boxes[i], region) >= kInCrowd) inside[static_cast<std::size_t>(i)] = 1;
    }
  }
  return inside;
}

}  // namespace

// Overlaps are computed twice rather than kept: there may be 300,000 anchors and 100 objects.
std::vector<std::int64_t> assign_boxes(const Tensor& boxes, const Tensor& truth,
                                       const AssignOptions& options, const Tensor& crowds) {
  const HostBoxes all("assign_boxes", "boxes", boxes), objects("assign_boxes", "truth", truth);
  const auto n = static_cast<std::size_t>(all.count());
  const std::vector<char> ignored = inside_crowds(all, crowds);
  std::vector<double> best(n, 0);         // of each box
  std::vector<std::int64_t> found(n, 0);  // its object
  std::vector<double> most;               // of each object
  for (std::int64_t k = 0; k < objects.count(); ++k) {
    const Box object = objects[k];
    double largest = 0;
    for (std::size_t i = 0; i < n; ++i) {
      if (ignored[i]) continue;
      const double value = overlap(all[static_cast<std::int64_t>(i)], object);
      largest = std::max(largest, value);
      if (value > best[i]) {
        best[i] = value;
        found[i] = k;
      }
    }
    most.push_back(largest);
  }
  std::vector<std::int64_t> assigned(n, -1);
  for (std::size_t i = 0; i < n; ++i) {
    if (ignored[i]) continue;
    if (best[i] < options.negative || objects.count() == 0) assigned[i] = 0;
    if (objects.count() > 0 && best[i] >= options.positive) assigned[i] = found[i] + 1;
  }
  if (!options.low_quality) return assigned;
  for (std::int64_t k = 0; k < objects.count(); ++k) {
    const Box object = objects[k];
    const double largest = most[static_cast<std::size_t>(k)];
    if (largest < options.min_positive) continue;
    for (std::size_t i = 0; i < n; ++i) {
      if (!ignored[i] && overlap(all[static_cast<std::int64_t>(i)], object) == largest)
        assigned[i] = k + 1;
    }
  }
  return assigned;
}

}  // namespace fovea::ops
