#include "models/detectors/roi_samples.h"

#include <algorithm>

#include "models/detectors/truth.h"
#include "ops/detection/sample.h"
#include "ops/shape.h"

namespace fovea::models {

RoiSamples sample_rois(const Tensor& proposals, const DetectionTruth& truth,
                       const RoiSamplingOptions& o, const RandomStream& random) {
  const std::int64_t objects = truth.boxes.size(0);
  const auto labels = truth.labels.host_values<std::int64_t>();
  // A box of the truth is its own: it takes no part in the assignment, where it would be the best
  // one of its object.
  std::vector<std::int64_t> assigned;
  for (std::int64_t object = 1; object <= objects; ++object) assigned.push_back(object);
  const auto of_proposals = ops::assign_boxes(proposals, truth.boxes, o.assigning, truth.crowds);
  assigned.insert(assigned.end(), of_proposals.begin(), of_proposals.end());

  const ops::Sampled sampled =
      ops::sample_boxes(assigned, o.num_samples, o.positive_fraction, random);
  RoiSamples samples;
  std::vector<std::int64_t> rows;
  for (const std::int64_t row : sampled.positive) {
    const std::int64_t object = assigned[static_cast<std::size_t>(row)] - 1;
    rows.push_back(row);
    samples.matched.push_back(object);
    samples.labels.push_back(labels[static_cast<std::size_t>(object)]);
  }
  for (const std::int64_t row : sampled.negative) {
    rows.push_back(row);
    samples.labels.push_back(o.num_classes);
  }
  for (const std::int64_t row : rows) samples.from_truth.push_back(row < objects);
  samples.boxes = take_rows(ops::concat({truth.boxes, proposals}, 0), rows);
  return samples;
}

Tensor rois_of(const std::vector<Tensor>& boxes, std::int64_t first) {
  std::int64_t count = 0;
  for (const Tensor& of : boxes) count += of.size(0);
  Tensor rois = Tensor::empty({count, 5}, DType::kFloat32, boxes.front().device());
  float* to = rois.data<float>();
  auto image = static_cast<float>(first);
  for (const Tensor& of : boxes) {
    const auto values = of.host_values<float>();
    for (std::size_t i = 0; i < values.size(); i += 4, to += 5) {
      to[0] = image;
      std::copy_n(values.data() + i, 4, to + 1);
    }
    ++image;
  }
  return rois;
}

}  // namespace fovea::models
