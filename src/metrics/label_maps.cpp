#include "metrics/label_maps.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <utility>

#include "base/distinct_names.h"
#include "base/error.h"
#include "base/suggest.h"
#include "tensor/xtensor.h"

namespace fovea::metrics {
namespace {

template <class T>
XTensorView<const T, 1> array(const std::vector<T>& values) {
  return as_xtensor(std::span(values), {std::ssize(values)});
}

std::vector<double> values_of(const xt::xtensor<double, 1>& shares) {
  return {shares.begin(), shares.end()};
}

ClassCounts summed(const std::vector<ClassCounts>& images, std::size_t classes) {
  const std::vector<std::int64_t> none(classes, 0);
  ClassCounts all{none, none, none};
  for (const ClassCounts& image : images) {
    for (std::size_t c = 0; c < classes; ++c) {
      all.truth[c] += image.truth[c];
      all.predicted[c] += image.predicted[c];
      all.both[c] += image.both[c];
    }
  }
  return all;
}

// The mean over the images, in percent, of one share of 1 for each image.
Measurement mean_over_images(const MetricInfo& info, const std::vector<double>& shares) {
  Measurement metric{info, 0, {}};
  for (const double share : shares) metric.per_sample.push_back(100 * share);
  metric.value = 100 * class_mean(shares, 0, Empty::kLeftOut);
  metric.coverage = coverage_of({shares});
  if (metric.coverage.complete()) metric.coverage = {};
  return metric;
}

// The mean over the classes that have a share, in percent.
Measurement mean_over_classes(const MetricInfo& info, const std::vector<double>& shares) {
  Measurement metric{info, 100 * class_mean(shares, 0, Empty::kLeftOut), {}};
  metric.coverage = coverage_of({shares});
  if (metric.coverage.complete()) metric.coverage = {};
  return metric;
}

}  // namespace

Tensor predicted_labels(const Tensor& logits) {
  FOVEA_CHECK(logits.rank() >= 3 && logits.size(1) >= 1, ShapeError,
              fmt::format("labels: logits are {}, expected (b, classes, spatial...)",
                          to_string(logits.shape())));
  Shape shape{logits.size(0)};
  for (int axis = 2; axis < logits.rank(); ++axis) shape.push_back(logits.size(axis));
  const Tensor labels = Tensor::empty(shape, DType::kInt64, logits.device());
  const std::int64_t classes = logits.size(1);
  const std::int64_t pixels = logits.shape().part(2, logits.rank()).numel();
  dispatch_float("labels", logits.dtype(), [&]<class T>(T) {
    std::vector<T> best(static_cast<std::size_t>(pixels));
    for (std::int64_t i = 0; i < logits.size(0); ++i) {
      const T* plane = logits.data<T>() + i * classes * pixels;
      std::int64_t* label = labels.data<std::int64_t>() + i * pixels;
      std::copy(plane, plane + pixels, best.begin());
      std::fill(label, label + pixels, 0);
      for (std::int64_t c = 1; c < classes; ++c) {
        plane += pixels;
        for (std::size_t p = 0; p < best.size(); ++p) {
          if (!(plane[p] > best[p]) && !(std::isnan(best[p]) && !std::isnan(plane[p]))) continue;
          best[p] = plane[p];
          label[p] = c;
        }
      }
    }
  });
  return labels;
}

// 0 / 0 is NaN.
std::vector<double> class_dice(const ClassCounts& counts) {
  return values_of(2.0 * array(counts.both) / (array(counts.truth) + array(counts.predicted)));
}

std::vector<double> class_iou(const ClassCounts& counts) {
  const auto both = array(counts.both);
  return values_of(1.0 * both / (array(counts.truth) + array(counts.predicted) - both));
}

double class_mean(const std::vector<double>& shares, std::size_t first, Empty none) {
  const auto all = array(shares);
  const double mean = xt::nanmean(xt::view(all, xt::range(first, shares.size())))();
  return std::isnan(mean) ? of_nothing(none) : mean;
}

std::vector<std::size_t> chosen_classes(const std::vector<std::string>& chosen,
                                        const std::vector<std::string>& class_names,
                                        std::size_t first) {
  std::vector<std::size_t> places;
  if (chosen.empty()) {
    for (std::size_t c = first; c < class_names.size(); ++c) places.push_back(c);
    return places;
  }
  for (const std::string& name : chosen) {
    const auto found = std::find(class_names.begin(), class_names.end(), name);
    FOVEA_CHECK(found != class_names.end(), ConfigError,
                fmt::format("eval.classes: no class called \"{}\"{} (known: {})", name,
                            did_you_mean(name, class_names), fmt::join(class_names, ", ")));
    const auto place = static_cast<std::size_t>(found - class_names.begin());
    FOVEA_CHECK(
        place >= first, ConfigError,
        fmt::format("eval.classes: \"{}\" is the background; expected other classes", name));
    FOVEA_CHECK(std::find(places.begin(), places.end(), place) == places.end(), ConfigError,
                fmt::format("eval.classes: \"{}\" is given twice", name));
    places.push_back(place);
  }
  return places;
}

std::vector<double> shares_at(const std::vector<double>& shares,
                              const std::vector<std::size_t>& places) {
  std::vector<double> taken;
  for (const std::size_t place : places) taken.push_back(shares[place]);
  return taken;
}

bool any_counts(const ClassCounts& image) {
  return std::ranges::any_of(image.truth, [](std::int64_t pixels) { return pixels > 0; });
}

double image_share(const ClassCounts& image, const std::vector<double>& shares,
                   const std::vector<std::size_t>& places) {
  // Without any pixel that counts there is nothing to be right about.
  return class_mean(shares_at(shares, places), 0,
                    any_counts(image) ? Empty::kOne : Empty::kLeftOut);
}

std::vector<Measurement> measure_label_maps(double loss, const std::vector<ClassCounts>& images,
                                            const std::vector<std::string>& class_names,
                                            const std::vector<std::size_t>& chosen) {
  const std::vector<std::size_t> places = chosen.empty() ? chosen_classes({}, class_names) : chosen;
  const ClassCounts all = summed(images, class_names.size());
  std::vector<double> image_dice, image_iou;
  for (const ClassCounts& image : images) {
    image_dice.push_back(image_share(image, class_dice(image), places));
    image_iou.push_back(image_share(image, class_iou(image), places));
  }
  const std::vector<double> dice = class_dice(all), iou = class_iou(all);
  const double right = static_cast<double>(xt::sum(array(all.both))());
  std::vector<Measurement> measured = {
      {kLoss, loss, {}},
      {kPooledDice, 100 * class_mean(shares_at(dice, places), 0, Empty::kLeftOut), {}},
      {kMiou, 100 * class_mean(iou, 0, Empty::kLeftOut), {}},
      {kPixelAccuracy, 100 * right / static_cast<double>(xt::sum(array(all.truth))()), {}},
      mean_over_classes(kMeanClassAccuracy, class_accuracy(all)),
      mean_over_images(kDicePerImage, image_dice),
      mean_over_images(kIouPerImage, image_iou)};
  const std::vector<std::string> words = class_words(class_names);
  for (std::size_t c = 0; c < words.size(); ++c)
    measured.push_back({of_class(kClassDice, words[c]), 100 * dice[c], {}});
  for (std::size_t c = 0; c < words.size(); ++c)
    measured.push_back({of_class(kClassIou, words[c]), 100 * iou[c], {}});
  return measured;
}

std::vector<Measurement> measure_regions(double loss, const std::vector<ClassCounts>& images,
                                         const std::vector<std::string>& class_names,
                                         const std::vector<std::size_t>& chosen) {
  std::vector<Measurement> measured = measure_label_maps(loss, images, class_names, chosen);
  std::vector<std::string> left_out = {kMiou.name, kPixelAccuracy.name, kMeanClassAccuracy.name};
  if (!class_names.empty()) {
    for (const MetricInfo& info : {kClassDice, kClassIou})
      left_out.push_back(of_class(info, class_words(class_names).front()).name);
  }
  std::erase_if(measured, [&](const Measurement& one) {
    return std::find(left_out.begin(), left_out.end(), one.info.name) != left_out.end();
  });
  return measured;
}

std::vector<MetricInfo> region_metrics(const std::vector<std::string>& class_names) {
  std::vector<MetricInfo> infos = infos_of(measure_regions(0, {}, class_names));
  if (class_names.empty()) infos.insert(infos.end(), {kClassDice, kClassIou});
  return infos;
}

std::vector<MetricInfo> label_map_metrics(const std::vector<std::string>& class_names) {
  std::vector<MetricInfo> infos = infos_of(measure_label_maps(0, {}, class_names));
  if (class_names.empty()) infos.insert(infos.end(), {kClassDice, kClassIou});
  return infos;
}

std::vector<std::string> class_words(const std::vector<std::string>& class_names,
                                     std::set<std::string> taken) {
  for (const MetricInfo& info : {kDicePerImage, kIouPerImage})
    taken.insert(info.name.substr(info.name.find('_') + 1));
  std::vector<std::string> words;
  for (std::size_t c = 0; c < class_names.size(); ++c) {
    std::string word = slug(class_names[c]);
    // "hd95_mm" is the metric in millimetres.
    if (word == "mm" || word.starts_with("mm_")) word.insert(0, "class_");
    while (!taken.insert(word).second) word += fmt::format("_{}", c);
    words.push_back(word);
  }
  return words;
}

}  // namespace fovea::metrics
