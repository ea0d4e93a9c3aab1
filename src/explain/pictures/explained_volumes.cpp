#include "explain/pictures/explained_volumes.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <utility>

#include "base/distinct_names.h"
#include "base/error.h"
#include "base/file.h"
#include "explain/pictures/explained_inputs.h"
#include "explain/pictures/explained_page.h"
#include "explain/region.h"
#include "explain/targets.h"
#include "ops/conv/convolution.h"
#include "tensor/host.h"
#include "visualise/figures/shared/volume_inputs.h"
#include "visualise/layouts/volume_figure.h"
#include "visualise/maps/volume_window.h"

namespace fovea::explain {
namespace {

using visualise::CaseVolume;
using visualise::ShownRun;
using visualise::Sides3;
using visualise::VolumeWindow;

// Voxels of a case, 1 where one counts.
using Voxels = std::vector<std::uint8_t>;

Sides3 voxel_at(std::int64_t i, const Sides3& size) {
  return {i / (size[1] * size[2]), i / size[2] % size[1], i % size[2]};
}

// The voxels of the volume that those of a region of its file lie in; nothing without a region.
std::optional<Voxels> region_voxels(const ExplainedRuns& asked, const CaseVolume& v,
                                    const Device& host) {
  if (asked.region.empty()) return std::nullopt;
  const Sides3 file = visualise::file_size(v);
  const Tensor region = region_of(asked.region, {file[1], file[2], file[0]}, host);
  const auto of_file = region.values<std::uint8_t>();
  Voxels voxels(as_index(v.size[0] * v.size[1] * v.size[2]), 0);
  bool any = false;
  for (std::int64_t i = 0; i < std::ssize(of_file); ++i) {
    if (of_file[as_index(i)] == 0) continue;
    const auto voxel = visualise::voxel_of_file(v, voxel_at(i, file));
    if (!voxel) continue;
    voxels[as_index(((*voxel)[0] * v.size[1] + (*voxel)[1]) * v.size[2] + (*voxel)[2])] = 1;
    any = true;
  }
  FOVEA_CHECK(any, ConfigError,
              fmt::format("--region {}: lies outside the part of {} that the network sees",
                          asked.region, v.name));
  return voxels;
}

// The voxels that are predicted to be of the class that is asked about, or of any; all of them
// where there are none.
Voxels predicted_voxels(const std::string& target, const CaseVolume& v) {
  std::int64_t wanted = 0;
  for (std::size_t c = 1; v.regions.empty() && c < v.classes.size(); ++c) {
    if (target == v.classes[c] || target == std::to_string(c))
      wanted = static_cast<std::int64_t>(c);
  }
  Voxels voxels;
  for (const std::uint8_t predicted : v.predicted)
    voxels.push_back(wanted == 0 ? predicted != 0 : predicted == wanted);
  if (std::find(voxels.begin(), voxels.end(), 1) == voxels.end())
    std::fill(voxels.begin(), voxels.end(), std::uint8_t{1});
  return voxels;
}

// The middle of the box around some voxels.
Sides3 middle_of(const Voxels& voxels, const Sides3& size) {
  Sides3 low = size, high{-1, -1, -1}, middle{};
  for (std::int64_t i = 0; i < std::ssize(voxels); ++i) {
    if (voxels[as_index(i)] == 0) continue;
    const Sides3 at = voxel_at(i, size);
    for (std::size_t axis = 0; axis < 3; ++axis) {
      low[axis] = std::min(low[axis], at[axis]);
      high[axis] = std::max(high[axis], at[axis]);
    }
  }
  for (std::size_t axis = 0; axis < 3; ++axis) middle[axis] = (low[axis] + high[axis]) / 2;
  return middle;
}

// Depth, height and width of the crops that the network was trained on.
Sides3 crop_of(const ShownRun& run, const Sides3& size) {
  const data::SampleShape crop = run.samples.shape();
  return crop.depth > 0 ? Sides3{crop.depth, crop.height, crop.width} : size;
}

Tensor window_region(const Voxels& voxels, const Sides3& size, const VolumeWindow& window,
                     const Device& host) {
  const std::vector<float> values(voxels.begin(), voxels.end());
  const Tensor cut = window.cut(Tensor::from(values, {1, 1, size[0], size[1], size[2]}, host));
  return cut.alias({1, cut.size(2), cut.size(3), cut.size(4)});
}

// A map of a window at the voxels of the case, the largest of all of size 1: methods differ by
// orders of magnitude.
visualise::CaseMap map_of_case(const Explanation& found, const std::string& method,
                               const Tensor& cut, const VolumeWindow& window, bool smooth) {
  const auto& [h, w, d] = found.grid;
  double largest = 0;
  for (const double value : found.values) largest = std::max(largest, std::abs(value));
  std::vector<float> shares;
  for (const double value : found.values)
    shares.push_back(static_cast<float>(largest > 0 ? value / largest : 0));
  const Tensor tokens = Tensor::from(shares, {1, 1, d, h, w}, cut.device());
  const Tensor voxels = window.put_back(
      ops::resize(tokens, {cut.size(2), cut.size(3), cut.size(4)},
                  smooth ? ops::Interpolation::kLinear : ops::Interpolation::kNearest));
  const auto values = voxels.values<float>();
  return {method,
          fmt::format("{} places, largest {:.3g}", text_of(found.grid), largest),
          {values.begin(), values.end()}};
}

visualise::SliceLook look_of(const ExplainedRuns& asked, const std::optional<Sides3>& through) {
  visualise::SliceLook look;
  look.through = through;
  look.overlay = asked.overlay;
  if (asked.factor) look.factor = *asked.factor;
  return look;
}

// Draws a volume and says what was found.
class VolumeExplainer {
 public:
  explicit VolumeExplainer(const ExplainedRuns& asked) : asked_(asked) {}

  ExplainedInput explain(const ShownRun& run, const visualise::VolumeInput& input) {
    visualise::SeenVolume seen = run.seen_volume(input);
    CaseVolume& v = seen.volume;
    const std::optional<Voxels> region = region_voxels(asked_, v, run.host);
    const Sides3 middle = middle_of(region ? *region : predicted_voxels(asked_.target, v), v.size);
    const Sides3 sides = crop_of(run, v.size);
    const VolumeWindow window(middle, v.size, sides);
    const Tensor cut = window.cut(seen.image);
    const Subject subject(run.model, cut, {},
                          region ? window_region(*region, v.size, window, run.host) : Tensor());
    ExplainedInput one = explain_one(asked_, run, subject, input.name, std::nullopt,
                                     input.index ? explanation_stream(asked_.seed, *input.index)
                                                 : explanation_stream(asked_.seed, input.name));
    say_explained(asked_, run, one);
    for (std::size_t m = 0; m < one.found.size(); ++m) {
      v.maps.push_back(
          map_of_case(one.found[m], asked_.methods[m].method->name, cut, window, asked_.smooth));
    }
    v.quantity = {true, "relevance, in shares of the largest"};
    draw(run, v, one, region ? std::optional(middle) : std::nullopt);
    keep_for_page(run, seen.volume, one, middle);
    metadata_.emplace(fmt::format("{}/window/{}", slug(run.title), slug(input.name)),
                      fmt::format("first voxel {}, {} voxels", fmt::join(window.first(), " "),
                                  fmt::join(sides, " x ")));
    return one;
  }

  const std::map<std::string, std::string>& metadata() const { return metadata_; }
  const std::vector<std::string>& files() const { return files_; }
  std::vector<CaseVolume> take_cases() { return std::move(cases_); }

 private:
  void keep_for_page(const ShownRun& run, CaseVolume& v, const ExplainedInput& one,
                     const Sides3& middle) {
    if (!asked_.page) return;
    if (asked_.request.runs.size() > 1) v.run = run.title;
    v.note = "what spoke for " + one.target;
    v.start = middle;
    cases_.push_back(std::move(v));
  }

  void draw(const ShownRun& run, const CaseVolume& v, const ExplainedInput& one,
            const std::optional<Sides3>& through) {
    const std::string file = fmt::format("explain-{}-{}.png", slug(run.title), slug(v.name));
    const std::string title =
        fmt::format("{}, {}: what spoke for {}", run.title, v.name, one.target);
    io::make_directories(asked_.request.out);
    write_png(asked_.request.out / file, maps_figure(title, v, look_of(asked_, through)));
    files_.push_back(file);
  }

  const ExplainedRuns& asked_;
  std::map<std::string, std::string> metadata_;
  std::vector<std::string> files_;
  std::vector<CaseVolume> cases_;
};

}  // namespace

void explain_volumes(const ExplainedRuns& asked) {
  VolumeExplainer explainer(asked);
  std::vector<ExplainedRun> all;
  const auto inputs = volume_inputs(asked.request, asked.request.runs.front());
  std::vector<std::string> notes;
  for (const ShownRun& run : asked.request.runs) {
    ExplainedRun& own = all.emplace_back();
    for (const visualise::VolumeInput& input : inputs)
      own.push_back(explainer.explain(run, input_for(input, run, asked.request)));
    for (std::string& note : page_notes(run, inputs)) {
      if (std::find(notes.begin(), notes.end(), note) == notes.end())
        notes.push_back(std::move(note));
    }
  }
  std::vector<std::string> files = explainer.files();
  const std::vector<std::string> numbers = write_numbers(asked, all, explainer.metadata());
  files.insert(files.end(), numbers.begin(), numbers.end());
  if (asked.page) {
    write_relevance_page(asked, explainer.take_cases(), notes);
    files.emplace_back(kExplainedPage);
  }
  asked.request.say_files(files);
}

}  // namespace fovea::explain
