#include "explain/questions.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "autograd/mode.h"
#include "backend/devices.h"
#include "base/error.h"
#include "ops/elementwise.h"
#include "tensor/host.h"

namespace fovea::explain {
namespace {

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

Answer answer_of(std::span<const double> logits, std::int64_t target) {
  const auto largest = std::ranges::max_element(logits);
  double sum = 0;
  for (const double logit : logits) sum += std::exp(logit - *largest);
  const double logit = logits[at(target)];
  return {logit, std::exp(logit - *largest) / sum, largest - logits.begin()};
}

// (k, n) ids and the mask of what counts.
models::Inputs texts_of(std::span<const std::vector<std::int64_t>> texts) {
  std::size_t longest = 1;
  for (const auto& text : texts) longest = std::max(longest, text.size());
  std::vector<std::int64_t> ids(texts.size() * longest, 0);
  std::vector<std::uint8_t> valid(ids.size(), 0);
  for (std::size_t k = 0; k < texts.size(); ++k) {
    bool any = false;
    for (std::size_t i = 0; i < texts[k].size(); ++i) {
      ids[k * longest + i] = texts[k][i];
      valid[k * longest + i] = texts[k][i] != 0 ? 1 : 0;
      any = any || texts[k][i] != 0;
    }
    if (!any) valid[k * longest] = 1;
  }
  const Shape shape{std::ssize(texts), static_cast<std::int64_t>(longest)};
  const Device host = make_cpu(1);
  return {.tokens = Tensor::from(ids, shape, host), .valid = Tensor::from(valid, shape, host)};
}

}  // namespace

Logits logits_of(models::Model& model) {
  return [&model](const models::Inputs& inputs) {
    const autograd::NoGrad no_grad;
    model.train(false);
    const Device device = model.parameters().front().tensor.device();
    models::Inputs there = inputs;
    for (Tensor* input : {&there.image, &there.tokens, &there.valid})
      if (input->defined()) *input = ops::to(*input, device);
    return host_doubles(model(there).logits);
  };
}

Image image_at(const Tensor& images, std::int64_t i) {
  FOVEA_CHECK(
      images.rank() == 4 && images.dtype() == DType::kFloat32 && i >= 0 && i < images.size(0),
      ShapeError,
      fmt::format("explain: image {} of {} {}; expected one of float32 (b, c, h, w)", i,
                  name_of(images.dtype()), to_string(images.shape())));
  Image image{images.size(1), images.size(2), images.size(3), {}};
  const std::int64_t size = image.channels * image.pixels();
  const Tensor there = images.device().is_host() ? images : images.copy_on(make_cpu(1));
  const auto values = there.host_values<float>();
  image.values.assign(values.begin() + i * size, values.begin() + (i + 1) * size);
  return image;
}

Questions::Questions(Logits logits, std::int64_t batch_size)
    : logits_(std::move(logits)), batch_size_(batch_size) {
  FOVEA_CHECK(batch_size >= 1, ConfigError,
              fmt::format("explain: batch size {}; expected at least 1", batch_size));
}

std::vector<Answer> Questions::answers(const models::Inputs& inputs, std::int64_t count,
                                       std::int64_t target) const {
  const std::vector<double> logits = logits_(inputs);
  const std::int64_t classes = std::ssize(logits) / count;
  FOVEA_CHECK(
      target < classes, ConfigError,
      fmt::format("explain: class {} of a network with {} classes; expected 0 to {}, or -1 for the "
                  "predicted one",
                  target, classes, classes - 1));
  std::vector<Answer> result;
  for (std::int64_t k = 0; k < count; ++k) {
    const auto row = std::span(logits).subspan(at(k * classes), at(classes));
    FOVEA_CHECK(std::ranges::all_of(row, [](double v) { return std::isfinite(v); }), NumericError,
                "explain: the network's logits are not finite");
    result.push_back(answer_of(row, std::max<std::int64_t>(target, 0)));
  }
  return result;
}

std::vector<Answer> Questions::ask(const Image& start, std::int64_t target, std::int64_t count,
                                   const std::function<void(std::int64_t, Image&)>& change) const {
  std::vector<Answer> all;
  for (std::int64_t first = 0; first < count; first += batch_size_) {
    const std::int64_t some = std::min(batch_size_, count - first);
    std::vector<float> values;
    values.reserve(at(some) * start.values.size());
    for (std::int64_t k = first; k < first + some; ++k) {
      Image image = start;
      change(k, image);
      values.insert(values.end(), image.values.begin(), image.values.end());
    }
    const Tensor batch =
        Tensor::from(values, {some, start.channels, start.height, start.width}, make_cpu(1));
    const std::vector<Answer> part = answers({.image = batch}, some, target);
    all.insert(all.end(), part.begin(), part.end());
  }
  return all;
}

std::vector<Answer> Questions::ask(std::span<const std::vector<std::int64_t>> texts,
                                   std::int64_t target) const {
  std::vector<Answer> all;
  for (std::size_t first = 0; first < texts.size(); first += at(batch_size_)) {
    const auto some = texts.subspan(first, std::min(at(batch_size_), texts.size() - first));
    const std::vector<Answer> part = answers(texts_of(some), std::ssize(some), target);
    all.insert(all.end(), part.begin(), part.end());
  }
  return all;
}

std::int64_t Questions::predicted(const Image& image) const {
  return ask(image, 0, 1, [](std::int64_t, Image&) {}).front().predicted;
}

std::int64_t Questions::predicted(std::span<const std::int64_t> text) const {
  const std::vector<std::vector<std::int64_t>> texts{{text.begin(), text.end()}};
  return ask(texts, 0).front().predicted;
}

}  // namespace fovea::explain
