#include "explain/questions.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "autograd/mode.h"
#include "backend/devices.h"
#include "backend/in_parallel.h"
#include "base/error.h"
#include "base/hash.h"
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

template <class T>
std::string hash_of(const std::vector<T>& values) {
  return hash_bytes({reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)});
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
    model.train(false);
    const Device device = model.parameters().front().tensor.device();
    const std::int64_t count = (inputs.image.defined() ? inputs.image : inputs.tokens).size(0);
    // Passes that are whole in one thread wait for no other; their sizes depend on the inputs
    // alone.
    constexpr std::int64_t kParts = 16;
    const std::int64_t size = host_threads(device) > 0 ? (count + kParts - 1) / kParts : count;
    const std::int64_t parts = (count + size - 1) / size;
    std::vector<std::vector<double>> logits(at(parts));
    in_parallel(device, parts, [&](std::int64_t part) {
      const autograd::NoGrad no_grad;
      models::Inputs there = inputs;
      for (Tensor* input : {&there.image, &there.tokens, &there.valid}) {
        if (input->defined())
          *input = ops::to(input->rows(part * size, std::min(count, (part + 1) * size)), device);
      }
      logits[at(part)] = host_doubles(model(there).logits);
    });
    std::vector<double> all;
    for (const auto& part : logits) all.insert(all.end(), part.begin(), part.end());
    return all;
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

bool Questions::is_new(const Key& key, const std::vector<Key>& waiting) const {
  return !known_.contains(key) && std::ranges::find(waiting, key) == waiting.end();
}

void Questions::answer(const models::Inputs& inputs, std::vector<Key>& waiting) const {
  const auto found = answers(inputs, std::ssize(waiting), waiting.front().first);
  for (std::size_t k = 0; k < waiting.size(); ++k) known_.emplace(waiting[k], found[k]);
  waiting.clear();
}

std::vector<Answer> Questions::known(const std::vector<Key>& keys) const {
  std::vector<Answer> all;
  for (const Key& key : keys) all.push_back(known_.at(key));
  return all;
}

std::vector<Answer> Questions::ask(const Image& start, std::int64_t target, std::int64_t count,
                                   const std::function<void(std::int64_t, Image&)>& change) const {
  std::vector<Key> keys, waiting;
  std::vector<float> values;  // of those that wait
  const auto answer_waiting = [&] {
    if (waiting.empty()) return;
    const Shape shape{std::ssize(waiting), start.channels, start.height, start.width};
    answer({.image = Tensor::from(values, shape, make_cpu(1))}, waiting);
    values.clear();
  };
  for (std::int64_t k = 0; k < count; ++k) {
    Image image = start;
    change(k, image);
    keys.emplace_back(target, hash_of(image.values));
    if (!is_new(keys.back(), waiting)) continue;
    waiting.push_back(keys.back());
    values.insert(values.end(), image.values.begin(), image.values.end());
    if (std::ssize(waiting) == batch_size_) answer_waiting();
  }
  answer_waiting();
  return known(keys);
}

std::vector<Answer> Questions::ask(std::span<const std::vector<std::int64_t>> texts,
                                   std::int64_t target) const {
  std::vector<Key> keys, waiting;
  std::vector<std::vector<std::int64_t>> some;  // those that wait
  const auto answer_waiting = [&] {
    if (!waiting.empty()) answer(texts_of(some), waiting);
    some.clear();
  };
  for (const std::vector<std::int64_t>& text : texts) {
    keys.emplace_back(target, hash_of(text));
    if (!is_new(keys.back(), waiting)) continue;
    waiting.push_back(keys.back());
    some.push_back(text);
    if (std::ssize(waiting) == batch_size_) answer_waiting();
  }
  answer_waiting();
  return known(keys);
}

std::int64_t Questions::predicted(const Image& image) const {
  return ask(image, 0, 1, [](std::int64_t, Image&) {}).front().predicted;
}

std::int64_t Questions::predicted(std::span<const std::int64_t> text) const {
  const std::vector<std::vector<std::int64_t>> texts{{text.begin(), text.end()}};
  return ask(texts, 0).front().predicted;
}

}  // namespace fovea::explain
