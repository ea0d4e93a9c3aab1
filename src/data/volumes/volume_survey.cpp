#include "data/volumes/volume_survey.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "data/volumes/volume_headers.h"

namespace fovea::data {
namespace {

// Of an even number the mean of the two in the middle.
double middle_of(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t n = values.size();
  return n % 2 == 1 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

VolumeSides median_sides(const std::vector<VolumeSides>& all) {
  VolumeSides result = {};
  for (std::size_t axis = 0; axis < 3 && !all.empty(); ++axis) {
    std::vector<double> along;
    for (const VolumeSides& sides : all) along.push_back(static_cast<double>(sides[axis]));
    result[axis] = static_cast<std::int64_t>(middle_of(std::move(along)) + 0.5);
  }
  return result;
}

template <class T>
std::string by_axis(const std::array<T, 3>& of) {
  return fmt::format("{:.4g}", fmt::join(of, " x "));
}

std::string sides_text(const VolumeSides& sides) {
  return fmt::format("{}", fmt::join(sides, " x "));
}

}  // namespace

VolumeFingerprint fingerprint_of(const VolumeDataset& part, std::vector<VolumeSides> prepared) {
  VolumeFingerprint result;
  std::vector<VolumeSize> headers = part.headers();
  std::erase_if(headers, [](const VolumeSize& header) { return header.voxels() == 0; });
  result.orientations = orientations(headers);
  std::vector<VolumeSides> shapes;
  for (const VolumeSize& h : headers) shapes.push_back({h.depth, h.height, h.width});
  for (std::size_t axis = 0; axis < 3 && !headers.empty(); ++axis) {
    std::vector<double> along;
    for (const VolumeSize& header : headers) along.push_back(header.spacing[axis]);
    result.least[axis] = *std::min_element(along.begin(), along.end());
    result.most[axis] = *std::max_element(along.begin(), along.end());
    result.median[axis] = middle_of(std::move(along));
  }
  result.shape = median_sides(shapes);
  result.prepared = median_sides(prepared);
  return result;
}

schema::Value to_json(const VolumeFingerprint& fingerprint) {
  using schema::Value;
  const auto list = [](const auto& of) {
    Value values = Value::array();
    for (const auto value : of) values.push_back(value);
    return values;
  };
  Value json = Value::object();
  if (!fingerprint.orientations.empty()) {
    Value ways = Value::object();
    for (const auto& [codes, count] : fingerprint.orientations) ways.set(codes, count);
    json.set("orientations", ways);
    json.set("spacing_mm", Value::object({{"least", list(fingerprint.least)},
                                          {"median", list(fingerprint.median)},
                                          {"most", list(fingerprint.most)}}));
    json.set("median_shape", list(fingerprint.shape));
  }
  if (fingerprint.prepared[0] > 0) json.set("median_shape_prepared", list(fingerprint.prepared));
  return json;
}

std::vector<std::pair<std::string, std::string>> lines_of(const VolumeFingerprint& fingerprint) {
  std::vector<std::pair<std::string, std::string>> lines;
  if (!fingerprint.orientations.empty()) {
    lines.emplace_back("axes",
                       orientations_text(fingerprint.orientations) + " (of columns, rows, slices)");
    const bool equal = fingerprint.least == fingerprint.most;
    lines.emplace_back(
        "spacing",
        equal ? fmt::format("all {} mm (depth, height, width)", by_axis(fingerprint.median))
              : fmt::format("{} to {} mm, median {} (depth, height, width)",
                            by_axis(fingerprint.least), by_axis(fingerprint.most),
                            by_axis(fingerprint.median)));
    lines.emplace_back("shape", "median " + sides_text(fingerprint.shape));
  }
  if (fingerprint.prepared[0] > 0)
    lines.emplace_back("prepared", fmt::format("median {}, cut to what is not 0, at the plan's "
                                               "spacing",
                                               sides_text(fingerprint.prepared)));
  return lines;
}

std::string plan_text(const VolumePlan& plan) {
  std::string text = fmt::format("spacing {} mm; ", by_axis(plan.spacing));
  if (!plan.ct) {
    text += "intensities of every volume by its own mean and deviation";
    if (plan.nonzero) text += ", those of the voxels that are not 0";
  }
  for (std::size_t c = 0; plan.ct && c < plan.channels.size(); ++c) {
    const Intensities& by = plan.channels[c];
    text += fmt::format("{}intensities cut to {:.5g} .. {:.5g}, minus {:.5g}, divided by {:.5g}",
                        c == 0 ? "" : "; ", by.low, by.high, by.mean, by.std);
  }
  return text + (plan.canonical ? "; axes turned to RAS" : "; axes as files have them");
}

}  // namespace fovea::data
