#include "explain/subject.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "autograd/graph.h"
#include "base/error.h"
#include "ops/create.h"
#include "ops/elementwise.h"
#include "ops/indexing.h"
#include "ops/reduce.h"
#include "ops/shape.h"
#include "tensor/host.h"

namespace fovea::explain {
namespace {

using models::Interface;

// 1 where a class has the largest logit of its pixel, (b, k, spatial...); of one map of logits
// where it is above 0.
Tensor predicted_mask(const Tensor& maps) {
  const std::int64_t b = maps.size(0), k = maps.size(1), places = maps.numel() / (b * k);
  const std::vector<double> values = host_doubles(maps);
  std::vector<double> mask(values.size(), 0.0);
  for (std::int64_t i = 0; i < b; ++i) {
    for (std::int64_t p = 0; p < places; ++p) {
      const auto place = [&](std::int64_t c) { return as_index((i * k + c) * places + p); };
      std::int64_t best = 0;
      for (std::int64_t c = 1; c < k; ++c) {
        if (values[place(c)] > values[place(best)]) best = c;
      }
      if (k > 1 || values[place(0)] > 0) mask[place(best)] = 1;
    }
  }
  return from_doubles(mask, maps.shape(), maps.dtype(), maps.device());
}

// A region of pixels (b, spatial...) for every class of maps (b, k, spatial...).
Tensor repeated_over_classes(const std::vector<double>& region, const Tensor& maps) {
  const auto places = as_index(maps.numel() / (maps.size(0) * maps.size(1)));
  std::vector<double> mask;
  for (std::size_t first = 0; first < region.size(); first += places) {
    const auto begin = region.begin() + static_cast<std::ptrdiff_t>(first);
    for (std::int64_t c = 0; c < maps.size(1); ++c)
      mask.insert(mask.end(), begin, begin + static_cast<std::ptrdiff_t>(places));
  }
  return from_doubles(mask, maps.shape(), maps.dtype(), maps.device());
}

}  // namespace

void check_targets(const std::vector<std::int64_t>& targets, const Tensor& scores) {
  const std::int64_t classes = scores.size(1);
  FOVEA_CHECK(std::ssize(targets) == scores.size(0), ConfigError,
              fmt::format("target: {} classes for {} inputs; expected one each", targets.size(),
                          scores.size(0)));
  for (const std::int64_t target : targets) {
    FOVEA_CHECK(target >= 0 && target < classes, ConfigError,
                fmt::format("target: class {}; expected 0..{}", target, classes - 1));
  }
}

Tensor repeated(const Tensor& x, std::int64_t k) {
  return k == 1 ? x : ops::concat(std::vector<Tensor>(as_index(k), x), 0);
}

models::Inputs Subject::inputs_of(const Tensor& input, std::int64_t groups) const {
  models::Inputs in = models::only_input(model_.interface(), input);
  if (given_valid_.defined()) in.valid = repeated(given_valid_, groups);
  return in;
}

Subject::Subject(models::Model& model, const Tensor& input, const Tensor& valid,
                 const Tensor& region)
    : model_(model),
      given_valid_(valid),
      region_(region),
      text_(model.interface() == Interface::kTextClassifier) {
  const bool dense = model.interface() == Interface::kDenseNetwork;
  FOVEA_CHECK(text_ || dense || model.interface() == Interface::kImageClassifier, ConfigError,
              fmt::format("explain: the network is {}; expected a classifier of images, of their "
                          "pixels or of texts",
                          models::info_of(model.interface()).name));
  FOVEA_CHECK(dense || !region.defined(), ConfigError,
              "region: the network gives no class to pixels; expected a segmentation");
  FOVEA_CHECK(dense || model.has_head(), ConfigError,
              "explain: the network has no head; expected one with classes");
  model.train(false);
  for (const nn::NamedTensor& parameter : model.parameters()) {
    parameters_.emplace_back(parameter.tensor, parameter.tensor.requires_grad());
    parameter.tensor.set_requires_grad(false);
  }
  input_ = ops::to(input, parameters_.front().first.device());
  if (valid.defined()) given_valid_ = ops::to(valid, input_.device());
  const attention::Context geometry = model.geometry();
  layout_ = {geometry.prefix_tokens, model.reads_class_token() ? Pooling::kClass : Pooling::kMean};
  grid_ = {geometry.grid_h, geometry.grid_w};
  const autograd::NoGrad no_grad;
  if (!text_) {
    x_ = input_;
    if (dense) watch_pixels(model(models::only_input(model.interface(), x_)).maps.at(0));
  } else {
    for (const double id : host_doubles(valid.defined() ? valid : input_))
      valid_.push_back(id != 0);
    const autograd::ModuleHook see = [&](const std::string& name, const Tensor& rows) {
      if (name == models::kWordRows) x_ = ops::clone(rows);
      return rows;
    };
    const autograd::HookModules hooks(see);
    model(inputs_of(input_, 1));
    FOVEA_CHECK(x_.defined(), ConfigError,
                "explain: the network does not show the vectors of its words");
  }
  clean_ = scores(x_);
}

Subject::~Subject() {
  for (const auto& [parameter, required] : parameters_) parameter.set_requires_grad(required);
}

GridSize Subject::size() const {
  if (text_) return {1, input_.size(1)};
  return {input_.size(-2), input_.size(-1), input_.rank() == 5 ? input_.size(2) : 1};
}

std::vector<std::uint8_t> Subject::valid_tokens(std::int64_t item) const {
  std::vector<std::uint8_t> all(as_index(layout_.prefix), 1);
  const auto first = valid_.begin() + item * input_.size(1);
  all.insert(all.end(), first, first + input_.size(1));
  return all;
}

Tensor Subject::run(const Tensor& x, attention::Probe* probe) const {
  const std::int64_t groups = x.size(0) / batch();
  FOVEA_CHECK(groups * batch() == x.size(0), ShapeError,
              fmt::format("explain: {} inputs; expected a multiple of the batch of {}", x.size(0),
                          batch()));
  if (!text_) {
    const models::Outputs out = model_(models::only_input(model_.interface(), x), probe);
    if (!mask_.defined()) return out.logits;
    const Tensor kept = ops::mul(out.maps.at(0), repeated(mask_, groups));
    return ops::sum(ops::reshape(kept, {x.size(0), kept.size(1), -1}), {2});
  }
  const autograd::ModuleHook replace = [&](const std::string& name, const Tensor& output) {
    return name == models::kWordRows ? x : output;
  };
  const autograd::ModuleHook* outer = autograd::mode().hook;
  const autograd::ModuleHook both = [&](const std::string& name, const Tensor& output) {
    const Tensor replaced = replace(name, output);
    return outer == nullptr ? replaced : (*outer)(name, replaced);
  };
  const autograd::HookModules hooks(both);
  const Tensor ids = repeated(input_, groups);
  return model_(inputs_of(ids, groups), probe).logits;
}

Tensor Subject::scores(const Tensor& x, attention::Probe* probe) const { return run(x, probe); }

// Which pixels a score sums over, and how many of them have which class.
void Subject::watch_pixels(const Tensor& maps) {
  mask_ = predicted_mask(maps);
  const std::int64_t classes = maps.size(1), places = maps.numel() / (maps.size(0) * classes);
  std::vector<double> mask = host_doubles(mask_);
  if (region_.defined()) {
    FOVEA_CHECK(region_.numel() == maps.size(0) * places, ConfigError,
                fmt::format("region: has {} pixels for images of {}; expected as many",
                            region_.numel() / maps.size(0), places));
    const std::vector<double> region = host_doubles(region_);
    for (std::size_t i = 0; i < mask.size(); ++i) {
      const auto place = static_cast<std::int64_t>(i);
      mask[i] *= region[as_index(place / (classes * places) * places + place % places)];
    }
    mask_ = repeated_over_classes(region, maps);
  }
  for (std::size_t first = 0; first < mask.size(); first += as_index(places)) {
    const auto begin = mask.begin() + static_cast<std::ptrdiff_t>(first);
    predicts_.push_back(std::accumulate(begin, begin + places, 0.0));
  }
}

std::vector<double> Subject::shares_of_region(const GridSize& grid, std::int64_t item) const {
  const GridSize pixels = size();
  const std::vector<double> region = host_doubles(region_.rows(item, item + 1));
  std::vector<double> shares(as_index(grid.count()), 0.0);
  double sum = 0;
  for (std::int64_t i = 0; i < pixels.count(); ++i) {
    shares[as_index(place_on(i, pixels, grid))] += region[as_index(i)];
    sum += region[as_index(i)];
  }
  FOVEA_CHECK(sum > 0, ConfigError, "region: has no pixel; expected at least one");
  for (double& share : shares) share /= sum;
  return shares;
}

std::vector<std::int64_t> Subject::predicted() const {
  const std::int64_t classes = clean_.size(1);
  std::vector<double> values = segments() ? predicts_ : host_doubles(clean_);
  for (std::size_t i = 0; segments() && !has_region() && classes > 1 && i < values.size();
       i += as_index(classes))
    values[i] = std::min(values[i], 0.5);  // class 0 where no pixel has another
  std::vector<std::int64_t> best;
  for (std::int64_t i = 0; i < batch(); ++i) {
    const auto first = values.begin() + i * classes;
    best.push_back(std::max_element(first, first + classes) - first);
  }
  return best;
}

std::vector<double> Subject::target_scores(const Tensor& x,
                                           const std::vector<std::int64_t>& targets,
                                           bool probabilities) const {
  const autograd::NoGrad no_grad;
  const Tensor all = scores(x);
  const std::int64_t classes = all.size(1);
  const std::vector<double> values = host_doubles(all);
  std::vector<double> result;
  for (std::int64_t i = 0; i < x.size(0); ++i) {
    const auto row = values.begin() + i * classes;
    const double score = row[targets[as_index(i % batch())]];
    if (!probabilities) {
      result.push_back(score);
      continue;
    }
    const double most = *std::max_element(row, row + classes);
    double sum = 0;
    for (auto value = row; value != row + classes; ++value) sum += std::exp(*value - most);
    result.push_back(std::exp(score - most) / sum);
  }
  return result;
}

Tensor Subject::gradient(const Tensor& x, const std::vector<std::int64_t>& targets,
                         attention::Probe* probe) const {
  check_targets(targets, clean_);
  const autograd::EnableGrad with_grad;
  const Tensor leaf = x.alias(x.shape());
  leaf.set_requires_grad(true);
  const Tensor all = scores(leaf, probe);
  std::vector<double> chosen(as_index(all.numel()), 0.0);
  for (std::int64_t i = 0; i < all.size(0); ++i)
    chosen[as_index(i * all.size(1) + targets[as_index(i % batch())])] = 1;
  autograd::backward(all, from_doubles(chosen, all.shape(), all.dtype(), all.device()));
  return leaf.grad();
}

}  // namespace fovea::explain
