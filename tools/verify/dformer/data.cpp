// How the dformer paper's volumes are read, prepared and predicted, from the words of its golden
// cases.

#include <fmt/format.h>

#include "data/files/nifti.h"
#include "data/volumes/volume_prepare.h"
#include "metrics/label_maps.h"
#include "ops/conv/convolution.h"
#include "ops/elementwise.h"
#include "training/inference/nnunet_windows.h"
#include "verify/runners.h"

namespace fovea::verify {
namespace {

data::VolumeSides sides_of(const Tensor& volume) {
  return {volume.size(0), volume.size(1), volume.size(2)};
}

std::array<double, 3> three(const Config& config, const char* key) {
  const std::vector<double> list = config.numbers(key);
  return {list.at(0), list.at(1), list.at(2)};
}

std::vector<float> floats(const Tensor& x) {
  const auto values = to_doubles(x);
  return {values.begin(), values.end()};
}

std::vector<std::int64_t> whole(const Tensor& x) {
  const auto values = to_doubles(x);
  return {values.begin(), values.end()};
}

template <class T>
std::vector<double> doubles(const std::vector<T>& values) {
  return {values.begin(), values.end()};
}

// NIfTI files beside the case.
void run_nifti(const Case& c, Checker& check) {
  for (std::size_t i = 0; i < c.config().size(); ++i) {
    const Config config = c.config().at(i);
    const std::string file = config.text("file");
    config.describes({"datatype", "endian", "shape_xyz", "pixdim", "affine_source"});
    const data::Volume volume = data::read_nifti(c.folder() / file);
    const auto tensor = [&](std::vector<double> values, const Shape& shape) {
      return Tensor::from(std::move(values), shape, c.device());
    };
    const auto output = [&](const char* name) { return fmt::format("output/{}/{}", i, name); };
    check.compare(output("volume_zyx"),
                  tensor(doubles(volume.values), {volume.depth, volume.height, volume.width}));
    check.compare(output("spacing_zyx"),
                  tensor({volume.spacing.begin(), volume.spacing.end()}, {3}));
    std::vector<double> affine;
    for (const auto& row : volume.affine) affine.insert(affine.end(), row.begin(), row.end());
    affine.insert(affine.end(), {0, 0, 0, 1});
    check.compare(output("affine"), tensor(std::move(affine), {4, 4}));
    const std::string axes = data::axis_codes(volume.affine, file);
    const std::string expected = config.text("axcodes");
    if (axes != expected)
      check.fail(fmt::format("{}: axes are {}, expected {}", file, axes, expected));
  }
}

void run_resample(const Case& c, Checker& check) {
  for (std::size_t i = 0; i < c.config().size(); ++i) {
    const Config config = c.config().at(i);
    const Tensor& image = c.at(fmt::format("input/{}/image", i));
    const data::VolumeSides from = sides_of(image);
    const data::VolumeSides to =
        data::resampled_size(from, three(config, "spacing"), three(config, "target"));
    const auto output = [&](const char* name) { return fmt::format("output/{}/{}", i, name); };
    check.compare(output("shape"), std::vector<double>(to.begin(), to.end()));
    check.compare(output("image"), doubles(data::resample_volume(floats(image), from, to)));
    check.compare(output("image_z_nearest"),
                  doubles(data::resample_volume(floats(image), from, to, std::size_t{0})));
    const auto labels = whole(c.at(fmt::format("input/{}/label", i)));
    check.compare(output("label"), doubles(data::resample_labels(labels, from, to)));
  }
}

void run_intensities(const Case& c, Checker& check) {
  c.config().only("ct",
                  "clip to 0.5/99.5 percentiles of all foreground voxels of all training cases "
                  "(linear interpolation), subtract mean, divide by population std");
  c.config().only("stats_order", "p0.5,p99.5,mean,std");
  c.config().only("mr", "(x-mean)/(std+1e-8), population std");
  c.check_all_read();
  std::vector<float> foreground;
  for (const char* number : {"0", "1"}) {
    const auto values = floats(c.at(std::string("input/case") + number));
    const auto labels = whole(c.at(std::string("input/label") + number));
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (labels[i] > 0) foreground.push_back(values[i]);
    }
  }
  const data::Intensities by = data::intensities_of(foreground);
  check.compare("output/stats", std::vector<double>{by.low, by.high, by.mean, by.std});
  for (const char* number : {"0", "1"}) {
    auto values = floats(c.at(std::string("input/case") + number));
    data::normalise_ct(values, by);
    check.compare(std::string("output/case") + number, doubles(values));
  }
  auto mr = floats(c.at("input/mr"));
  data::normalise_mr(mr);
  check.compare("output/mr_zscore", doubles(mr));
  auto masked = floats(c.at("input/mr"));
  const auto mask = whole(c.at("input/mr_mask"));
  data::normalise_mr(masked, std::vector<std::uint8_t>(mask.begin(), mask.end()));
  check.compare("output/mr_zscore_masked", doubles(masked));
}

// The network of these cases is one convolution.
void run_windows(const Case& c, Checker& check) {
  training::NnUnetWindowsOptions o;
  o.mean = training::WindowMean::kProbabilities;
  o.roi_size = c.config().integers("patch");
  o.mirror_axes = c.config().integers("mirror_axes");
  o.step = c.number("step");
  o.gaussian = c.flag("gaussian");
  c.config().only("sigma_scale", 0.125);
  c.config().only("pad_mode", "constant 0, lower=diff//2");
  c.config().only("network", "3x3x3 convolution, zero padding 1, then softmax");
  c.check_all_read();
  const Tensor volume = c.on_host("input/volume");  // (c, d, h, w)
  const Tensor weight = c.on_host("param/weight"), bias = c.on_host("param/bias");
  std::size_t windows = 1;
  for (const char* axis : {"d", "h", "w"}) {
    const std::size_t i = axis[0] == 'd' ? 0 : axis[0] == 'h' ? 1 : 2;
    const std::int64_t side = std::max(volume.size(static_cast<int>(i) + 1), o.roi_size[i]);
    const auto starts = training::nnunet_starts(side, o.roi_size[i], o.step);
    windows *= starts.size();
    check.compare(std::string("output/steps_") + axis, doubles(starts));
  }
  check.compare("output/gaussian",
                windows > 1 ? doubles(training::nnunet_weights(o.roi_size))
                            : std::vector<double>(to_doubles(c.at("output/gaussian")).size(), 1.0));
  const Shape batch{1, volume.size(0), volume.size(1), volume.size(2), volume.size(3)};
  const auto network = [&](const Tensor& window) {
    return std::vector<Tensor>{ops::conv(window, weight, bias, {.padding = {1}})};
  };
  const Tensor log_p = (*training::make_nnunet_windows(o))(volume.alias(batch), network).front();
  check.compare("output/probabilities", to_doubles(ops::exp(log_p)));
  check.compare("output/labels", to_doubles(metrics::predicted_labels(log_p)));
}

}  // namespace

Table dformer_data() {
  Table table;
  table.add("sliding_window") = run_windows;
  table.add("nifti_read") = run_nifti;
  table.add("resample_spacing") = run_resample;
  table.add("intensity_normalisation") = run_intensities;
  return table;
}

}  // namespace fovea::verify
