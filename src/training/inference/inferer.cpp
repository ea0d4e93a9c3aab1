#include "training/inference/inferer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/error.h"
#include "ops/conv/convolution.h"
#include "ops/create.h"
#include "ops/elementwise.h"
#include "training/inference/mirrored.h"
#include "training/inference/nnunet_windows.h"

namespace fovea::training {
namespace {

using Sizes = std::vector<std::int64_t>;

constexpr const char* kWhole = "whole";
constexpr const char* kSlidingWindow = "sliding_window";
constexpr const char* kNnUnetWindows = "nnunet_windows";

std::int64_t product(const Sizes& sizes) {
  std::int64_t all = 1;
  for (const std::int64_t size : sizes) all *= size;
  return all;
}

// The place along the first axes that has this number in row-major order.
Sizes unravel(std::int64_t number, const Sizes& of, std::size_t axes) {
  Sizes place(axes);
  for (std::size_t axis = axes; axis-- > 0;) {
    place[axis] = number % of[axis];
    number /= of[axis];
  }
  return place;
}

// Pixels that follow each other both in a window and in the sample.
struct Stretch {
  std::int64_t in_window = 0, in_sample = 0, pixels = 0;
};

// What a window that begins at `start`, which may be before the sample, shares with it.
std::vector<Stretch> shared(const Sizes& sample, const Sizes& window, const Sizes& start) {
  const std::size_t last = sample.size() - 1;
  const std::int64_t from = std::max<std::int64_t>(0, -start[last]);
  const std::int64_t to = std::min(window[last], sample[last] - start[last]);
  std::vector<Stretch> all;
  for (std::int64_t row = 0; row < product(window) / window[last]; ++row) {
    const Sizes place = unravel(row, window, last);
    std::int64_t in_sample = 0;
    bool inside = true;
    for (std::size_t axis = 0; axis < last; ++axis) {
      const std::int64_t at = place[axis] + start[axis];
      inside = inside && at >= 0 && at < sample[axis];
      in_sample = in_sample * sample[axis] + at;
    }
    if (inside)
      all.push_back(
          {row * window[last] + from, in_sample * sample[last] + start[last] + from, to - from});
  }
  return all;
}

struct WholeOptions {
  std::vector<std::int64_t> mirror_axes;
};

class Whole final : public Inferer {
 public:
  explicit Whole(WholeOptions options) : o_(std::move(options)) {}
  std::vector<Tensor> operator()(const Tensor& image, const Network& network) const override {
    std::vector<Tensor> maps = mirrored(network, o_.mirror_axes)(image);
    for (Tensor& map : maps) map = ops::to(map, image.device());
    return maps;
  }
  Sizes window_of(const Sizes& sample) const override {
    check_mirror_axes(o_.mirror_axes, std::ssize(sample));
    return sample;
  }
  bool is_whole() const override { return o_.mirror_axes.empty(); }

 private:
  WholeOptions o_;
};

const schema::Fields<WholeOptions>& whole_fields() {
  using O = WholeOptions;
  static const auto fields =
      schema::Fields<O>{}.add("mirror_axes", &O::mirror_axes, schema::at_least(0), kMirrorAxesHelp);
  return fields;
}

class SlidingWindow final : public Inferer {
 public:
  explicit SlidingWindow(SlidingWindowOptions options) : o_(std::move(options)) {}

  std::vector<Tensor> operator()(const Tensor& image, const Network& network) const override {
    const Sizes sample = image.shape().part(2, image.rank()).to_vector();
    const Sizes window = window_of(sample);
    const std::vector<std::vector<Stretch>> places = places_of(sample, window);
    const std::vector<float> weights = window_weights(window, o_.mode, o_.sigma_scale);
    const std::int64_t per_sample = std::ssize(places);
    const std::int64_t windows = image.size(0) * per_sample;
    const Network seen = mirrored(network, o_.mirror_axes);
    std::vector<Tensor> sums;
    for (std::int64_t first = 0; first < windows; first += o_.sw_batch_size) {
      const std::int64_t count = std::min(o_.sw_batch_size, windows - first);
      std::vector<Tensor> maps = seen(cut(image, window, places, first, count));
      for (std::size_t m = 0; m < maps.size(); ++m) {
        const Tensor map = on_window(maps[m], window, image.device());
        if (m == sums.size()) sums.push_back(empty_sum(image, map.size(1)));
        for (std::int64_t i = 0; i < count; ++i) {
          const std::int64_t number = first + i;
          add(map.rows(i, i + 1), places[static_cast<std::size_t>(number % per_sample)], weights,
              sums[m].rows(number / per_sample, number / per_sample + 1));
        }
      }
    }
    const std::vector<float> total = total_weights(product(sample), places, weights);
    for (const Tensor& sum : sums) divide(sum, total);
    return sums;
  }

  Sizes window_of(const Sizes& sample) const override {
    const std::size_t given = o_.roi_size.size();
    FOVEA_CHECK(given <= 1 || given == sample.size(), ConfigError,
                fmt::format("eval.inferer.roi_size: {} numbers for samples of {} axes; expected "
                            "one for each, or one for all",
                            given, sample.size()));
    check_mirror_axes(o_.mirror_axes, std::ssize(sample));
    Sizes window = sample;
    for (std::size_t axis = 0; axis < window.size() && given > 0; ++axis) {
      const std::int64_t size = o_.roi_size[given == 1 ? 0 : axis];
      if (size > 0) window[axis] = size;
    }
    return window;
  }

 private:
  std::vector<std::vector<Stretch>> places_of(const Sizes& sample, const Sizes& window) const {
    std::vector<Sizes> starts;
    Sizes counts;
    for (std::size_t axis = 0; axis < sample.size(); ++axis) {
      const std::int64_t more = window[axis] - sample[axis];
      starts.push_back(more > 0 ? Sizes{-(more / 2)}
                                : window_starts(sample[axis], window[axis], o_.overlap));
      counts.push_back(std::ssize(starts.back()));
    }
    std::vector<std::vector<Stretch>> places;
    for (std::int64_t n = 0; n < product(counts); ++n) {
      Sizes start = unravel(n, counts, counts.size());
      for (std::size_t axis = 0; axis < start.size(); ++axis)
        start[axis] = starts[axis][static_cast<std::size_t>(start[axis])];
      places.push_back(shared(sample, window, start));
    }
    return places;
  }

  // Windows number first, first + 1, ..., those of a sample after each other: (count, c,
  // window...).
  static Tensor cut(const Tensor& image, const Sizes& window,
                    const std::vector<std::vector<Stretch>>& places, std::int64_t first,
                    std::int64_t count) {
    const std::int64_t channels = image.size(1);
    const std::int64_t per_sample = std::ssize(places);
    Shape shape{count, channels};
    for (const std::int64_t size : window) shape.push_back(size);
    const Tensor windows = ops::zeros(shape, DType::kFloat32, image.device());
    const std::int64_t image_pixels = image.numel() / image.size(0) / channels;
    const std::int64_t window_pixels = product(window);
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t sample = (first + i) / per_sample;
      const auto& place = places[static_cast<std::size_t>((first + i) % per_sample)];
      for (std::int64_t c = 0; c < channels; ++c) {
        const float* from = image.data<float>() + (sample * channels + c) * image_pixels;
        float* to = windows.data<float>() + (i * channels + c) * window_pixels;
        for (const Stretch& s : place) std::copy_n(from + s.in_sample, s.pixels, to + s.in_window);
      }
    }
    return windows;
  }

  static Tensor on_window(const Tensor& map, const Sizes& window, const Device& host) {
    const Tensor here = ops::cast(ops::to(map, host), DType::kFloat32);
    const bool fits = here.shape().part(2, here.rank()).to_vector() == window;
    return fits ? here : ops::resize(here, window, ops::Interpolation::kLinear);
  }

  static Tensor empty_sum(const Tensor& image, std::int64_t planes) {
    Shape shape = image.shape();
    shape[1] = planes;
    return ops::zeros(shape, DType::kFloat32, image.device());
  }

  // map: (1, k, window...), sum: (1, k, sample...).
  static void add(const Tensor& map, const std::vector<Stretch>& place,
                  const std::vector<float>& weights, const Tensor& sum) {
    const std::int64_t planes = map.size(1);
    for (std::int64_t k = 0; k < planes; ++k) {
      const float* from = map.data<float>() + k * (map.numel() / planes);
      float* to = sum.data<float>() + k * (sum.numel() / planes);
      for (const Stretch& s : place) {
        const float* weight = weights.data() + s.in_window;
        for (std::int64_t i = 0; i < s.pixels; ++i)
          to[s.in_sample + i] += weight[i] * from[s.in_window + i];
      }
    }
  }

  static std::vector<float> total_weights(std::int64_t pixels,
                                          const std::vector<std::vector<Stretch>>& places,
                                          const std::vector<float>& weights) {
    std::vector<float> total(static_cast<std::size_t>(pixels), 0.0f);
    for (const auto& place : places) {
      for (const Stretch& s : place) {
        for (std::int64_t i = 0; i < s.pixels; ++i)
          total[static_cast<std::size_t>(s.in_sample + i)] +=
              weights[static_cast<std::size_t>(s.in_window + i)];
      }
    }
    return total;
  }

  // Every pixel lies in a window, and weights are above 0.
  static void divide(const Tensor& sum, const std::vector<float>& total) {
    const auto values = sum.values<float>();
    for (std::size_t i = 0; i < values.size(); ++i) values[i] /= total[i % total.size()];
  }

  SlidingWindowOptions o_;
};

const schema::Fields<SlidingWindowOptions>& sliding_window_fields() {
  using O = SlidingWindowOptions;
  static const auto fields =
      schema::Fields<O>{}
          .add("roi_size", &O::roi_size, schema::at_least(0),
               "size of a window in pixels, one number an axis or one for all; 0: the whole axis")
          .add("sw_batch_size", &O::sw_batch_size, schema::at_least(1),
               "windows in a pass of the network")
          .add("overlap", &O::overlap, schema::at_least(0) && schema::less_than(1),
               "share of a window that the next one covers too")
          .add_enum("mode", &O::mode,
                    {{"constant", WindowMode::kConstant}, {"gaussian", WindowMode::kGaussian}},
                    "weights where windows overlap: equal, or less towards their borders")
          .add("sigma_scale", &O::sigma_scale, schema::greater_than(0),
               "of gaussian: standard deviation in sizes of the window")
          .add("mirror_axes", &O::mirror_axes, schema::at_least(0), kMirrorAxesHelp);
  return fields;
}

}  // namespace

std::vector<float> window_weights(const Sizes& size, WindowMode mode, double sigma_scale) {
  std::vector<double> weights(static_cast<std::size_t>(product(size)), 1.0);
  if (mode == WindowMode::kGaussian) {
    for (std::size_t n = 0; n < weights.size(); ++n) {
      const Sizes place = unravel(static_cast<std::int64_t>(n), size, size.size());
      double exponent = 0;
      for (std::size_t axis = 0; axis < size.size(); ++axis) {
        const auto pixels = static_cast<double>(size[axis]);
        const double x = static_cast<double>(place[axis]) - (pixels - 1) / 2;
        exponent -= x * x / (2 * sigma_scale * pixels * sigma_scale * pixels);
      }
      weights[n] = std::exp(exponent);
    }
  }
  const double least = std::max(1e-3, *std::min_element(weights.begin(), weights.end()));
  std::vector<float> result;
  for (const double weight : weights) result.push_back(static_cast<float>(std::max(weight, least)));
  return result;
}

Sizes window_starts(std::int64_t axis, std::int64_t size, double overlap) {
  const auto step = std::max<std::int64_t>(
      1, static_cast<std::int64_t>(static_cast<double>(size) * (1 - overlap)));
  Sizes starts;
  for (std::int64_t at = 0; at + size < axis; at += step) starts.push_back(at);
  starts.push_back(axis - size);
  return starts;
}

std::unique_ptr<const Inferer> make_sliding_window(const SlidingWindowOptions& options) {
  return std::make_unique<SlidingWindow>(options);
}

schema::Choices inferer_choices() {
  return {"inferer", [] {
            const auto fields = std::make_shared<const schema::Fields<SlidingWindowOptions>>(
                sliding_window_fields());
            return std::vector<schema::Choice>{
                {kWhole, "one pass of the network over the whole sample",
                 std::make_shared<const schema::Fields<WholeOptions>>(whole_fields())},
                {kSlidingWindow, "the weighted mean over windows that overlap, as MONAI's", fields},
                {kNnUnetWindows,
                 "the weighted mean of the logits or probabilities of windows, as nnU-Net's "
                 "(dformer 7.7)",
                 std::make_shared<const schema::Fields<NnUnetWindowsOptions>>(
                     nnunet_windows_fields())}};
          }};
}

std::unique_ptr<const Inferer> make_inferer(const schema::Component& component) {
  const std::string type =
      schema::find_choice(inferer_choices(), component.type, "eval.inferer.type").name;
  schema::Component complete = component;
  if (complete.options.is_null()) complete.options.set("type", component.type);
  if (type == kWhole)
    return std::make_unique<Whole>(whole_fields().parse(complete, "eval.inferer"));
  if (type == kNnUnetWindows)
    return make_nnunet_windows(nnunet_windows_fields().parse(complete, "eval.inferer"));
  return make_sliding_window(sliding_window_fields().parse(complete, "eval.inferer"));
}

}  // namespace fovea::training
