#include "training/inference/nnunet_windows.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "backend/backend.h"
#include "base/error.h"
#include "ops/create.h"
#include "ops/elementwise.h"
#include "ops/reduce.h"
#include "ops/shape.h"
#include "training/inference/mirrored.h"

namespace fovea::training {
namespace {

using Sides = std::vector<std::int64_t>;

// Over the classes, (b, k, spatial...).
Tensor class_probabilities(const Tensor& logits) {
  const std::int64_t b = logits.size(0), k = logits.size(1);
  const Tensor rows = ops::transpose(ops::reshape(logits, {b, k, -1}), 1, 2);
  return ops::reshape(ops::transpose(ops::softmax(rows), 1, 2), logits.shape());
}

// From the place of a window in a sample to the window, or added from there to the place.
CopyArgs window_copy(const Shape& window, const Shape& sample, const Sides& start, bool add) {
  CopyArgs args;
  args.shape = window;
  const Shape strides = sample.strides();
  args.src_strides = strides.to_vector();
  args.dst_strides = window.strides().to_vector();
  for (std::size_t axis = 0; axis < start.size(); ++axis)
    args.src_offset += start[axis] * strides[static_cast<int>(axis) + 2];
  if (!add) return args;
  std::swap(args.src_strides, args.dst_strides);
  std::swap(args.src_offset, args.dst_offset);
  args.accumulate = true;
  return args;
}

class NnUnetWindows final : public Inferer {
 public:
  explicit NnUnetWindows(NnUnetWindowsOptions options) : o_(std::move(options)) {}

  std::vector<Tensor> operator()(const Tensor& image, const Network& network) const override {
    const Sides sample = image.shape().part(2, image.rank()).to_vector();
    const Sides window = window_of(sample);
    std::vector<std::pair<std::int64_t, std::int64_t>> around(2), back(2);
    for (std::size_t axis = 0; axis < sample.size(); ++axis) {
      const std::int64_t more = std::max<std::int64_t>(0, window[axis] - sample[axis]);
      around.emplace_back(more / 2, more - more / 2);
      back.emplace_back(-(more / 2), more / 2 - more);
    }
    const Tensor padded = ops::pad(image, around);
    const Network seen = seen_by(network);
    std::vector<Tensor> means;
    for (std::int64_t item = 0; item < image.size(0); ++item)
      means.push_back(mean_of(padded.rows(item, item + 1), window, seen));
    const Tensor whole = ops::pad(ops::concat(means, 0), back);
    return {o_.mean == WindowMean::kProbabilities ? ops::log(whole) : whole};
  }

  Sides window_of(const Sides& sample) const override {
    const std::size_t given = o_.roi_size.size();
    FOVEA_CHECK(given == 1 || given == sample.size(), ConfigError,
                fmt::format("eval.inferer.roi_size: {} numbers for samples of {} axes; expected "
                            "one for each, or one for all",
                            given, sample.size()));
    check_mirror_axes(o_.mirror_axes, std::ssize(sample));
    return given == 1 ? Sides(sample.size(), o_.roi_size[0]) : o_.roi_size;
  }

  bool needs_classes() const override { return o_.mean == WindowMean::kProbabilities; }

 private:
  // (1, k, ...) of one item that is no smaller than a window.
  Tensor mean_of(const Tensor& item, const Sides& window, const Network& network) const {
    std::vector<Sides> starts{{}};
    for (std::size_t axis = 0; axis < window.size(); ++axis) {
      std::vector<Sides> longer;
      for (const Sides& start : starts) {
        for (const std::int64_t at :
             nnunet_starts(item.size(static_cast<int>(axis) + 2), window[axis], o_.step)) {
          longer.push_back(start);
          longer.back().push_back(at);
        }
      }
      starts = longer;
    }
    Shape shape{1, item.size(1)}, weight_shape{1, 1};
    for (const std::int64_t side : window) {
      shape.push_back(side);
      weight_shape.push_back(side);
    }
    const Device& host = item.device();
    Tensor weights = ops::ones(weight_shape, DType::kFloat32, host);
    if (o_.gaussian && starts.size() > 1)
      weights = Tensor::from(nnunet_weights(window), weight_shape, host);
    Tensor sum;
    Shape total_shape = item.shape();
    total_shape[1] = 1;
    const Tensor total = ops::zeros(total_shape, DType::kFloat32, host);
    for (const Sides& start : starts) {
      const Tensor part = Tensor::empty(shape, DType::kFloat32, host);
      backend(part).copy(window_copy(shape, item.shape(), start, false), item, part);
      const Tensor weighted = ops::mul(network(part).front(), weights);
      if (!sum.defined()) {
        Shape sum_shape = item.shape();
        sum_shape[1] = weighted.size(1);
        sum = ops::zeros(sum_shape, DType::kFloat32, host);
      }
      backend(sum).copy(window_copy(weighted.shape(), sum.shape(), start, true), weighted, sum);
      backend(total).copy(window_copy(weights.shape(), total.shape(), start, true), weights, total);
    }
    return ops::div(sum, total);
  }

  // Logits or probabilities of a window by the finest map, mean over the mirrorings.
  Network seen_by(const Network& network) const {
    const auto finest = [this, &network](const Tensor& window) -> std::vector<Tensor> {
      const Tensor logits =
          ops::cast(ops::to(network(window).front(), window.device()), DType::kFloat32);
      return {o_.mean == WindowMean::kProbabilities ? class_probabilities(logits) : logits};
    };
    return mirrored(finest, o_.mirror_axes);
  }

  NnUnetWindowsOptions o_;
};

}  // namespace

std::vector<std::int64_t> nnunet_starts(std::int64_t axis, std::int64_t size, double step) {
  const auto room = static_cast<double>(axis - size);
  const auto more = static_cast<std::int64_t>(std::ceil(room / (static_cast<double>(size) * step)));
  Sides starts{0};
  for (std::int64_t i = 1; i <= more; ++i)
    starts.push_back(static_cast<std::int64_t>(
        std::nearbyint(static_cast<double>(i) * room / static_cast<double>(more))));
  return starts;
}

std::vector<float> nnunet_weights(const std::vector<std::int64_t>& size) {
  std::vector<double> weights{1};
  for (const std::int64_t side : size) {
    const double sigma = static_cast<double>(side) / 8;
    const auto reach = static_cast<std::int64_t>(4 * sigma + 0.5);
    std::vector<double> longer;
    for (const double weight : weights) {
      for (std::int64_t place = 0; place < side; ++place) {
        const std::int64_t x = place - side / 2;
        const auto square = static_cast<double>(x * x);
        longer.push_back(std::abs(x) > reach ? 0
                                             : weight * std::exp(-square / (2 * sigma * sigma)));
      }
    }
    weights = longer;
  }
  double least = 1;
  for (const double weight : weights) least = weight > 0 ? std::min(least, weight) : least;
  std::vector<float> result;
  for (const double weight : weights)
    result.push_back(static_cast<float>(weight > 0 ? weight : least));
  return result;
}

const schema::Fields<NnUnetWindowsOptions>& nnunet_windows_fields() {
  using O = NnUnetWindowsOptions;
  static const auto fields =
      schema::Fields<O>{}
          .add("roi_size", &O::roi_size, schema::at_least(1),
               "size of a window in pixels, one number an axis or one for all")
          .required()
          .add("step", &O::step, schema::greater_than(0) && schema::in_range(0, 1),
               "most that the next window begins later, in sizes of the window")
          .add("gaussian", &O::gaussian, "less weight towards the borders of windows")
          .add("mirror_axes", &O::mirror_axes, schema::at_least(0), kMirrorAxesHelp)
          .add_enum(
              "mean", &O::mean,
              {{"logits", WindowMean::kLogits}, {"probabilities", WindowMean::kProbabilities}},
              "of what windows and mirrorings the mean is: logits, as nnU-Net's version 2, "
              "or probabilities, as version 1 (dformer 7.7)");
  return fields;
}

std::unique_ptr<const Inferer> make_nnunet_windows(const NnUnetWindowsOptions& options) {
  return std::make_unique<NnUnetWindows>(options);
}

}  // namespace fovea::training
