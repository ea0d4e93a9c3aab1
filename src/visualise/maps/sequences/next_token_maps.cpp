#include "visualise/maps/sequences/next_token_maps.h"

#include <algorithm>
#include <cmath>

#include "autograd/mode.h"
#include "base/error.h"
#include "ops/elementwise.h"
#include "ops/shape.h"
#include "tensor/host.h"
#include "visualise/maps/probed.h"

namespace fovea::visualise {
namespace {

constexpr std::int64_t kRowsOfPass = 32;  // texts that go through the network together

Device device_of(const models::LanguageModel& network) {
  return network.parameters().front().tensor.device();
}

// ln p of `token` in a row of logits.
double log_probability(const double* row, std::int64_t vocabulary, std::int64_t token) {
  const double most = *std::max_element(row, row + vocabulary);
  double sum = 0;
  for (std::int64_t v = 0; v < vocabulary; ++v) sum += std::exp(row[v] - most);
  return row[token] - most - std::log(sum);
}

// ln p of `next` behind the last token of each of `count` texts of equal length.
std::vector<double> log_probabilities(models::LanguageModel& network,
                                      const std::vector<std::int64_t>& texts, std::int64_t count,
                                      std::int64_t next) {
  const std::int64_t n = std::ssize(texts) / count;
  const Tensor tokens = Tensor::from(texts, {count, n}, device_of(network));
  const Tensor logits = network({.tokens = tokens}).logits;
  const std::vector<double> last = host_doubles(ops::slice(logits, 1, n - 1, 1));
  std::vector<double> all;
  for (std::int64_t row = 0; row < count; ++row)
    all.push_back(log_probability(last.data() + row * logits.size(2), logits.size(2), next));
  return all;
}

}  // namespace

ReadText read_text(models::LanguageModel& network, const std::vector<std::int64_t>& tokens,
                   std::int64_t known) {
  FOVEA_CHECK(!tokens.empty(), ConfigError, "text: is empty; expected at least one token");
  attention::Probe probe;
  const std::int64_t n = std::ssize(tokens);
  const models::Outputs out =
      run_probed(network, Tensor::from(tokens, {1, n}, device_of(network)), probe);
  const std::vector<double> logits = host_doubles(out.logits);
  const std::int64_t vocabulary = out.logits.size(2);
  ReadText read;
  for (std::int64_t i = 0; i < n; ++i) {
    const double* const row = logits.data() + i * vocabulary;
    const std::int64_t best = std::max_element(row, row + std::min(known, vocabulary)) - row;
    read.next.push_back({best, std::exp(log_probability(row, vocabulary, best))});
  }
  read.layers = recorded_maps(probe);
  return read;
}

void write_on(models::LanguageModel& network, std::vector<std::int64_t>& tokens, std::int64_t count,
              std::int64_t known) {
  const autograd::NoGrad no_grad;
  network.train(false);
  models::DecoderState state;
  std::vector<std::int64_t> unread = tokens;
  for (std::int64_t written = 0; written < count; ++written) {
    const Tensor next =
        network.next(Tensor::from(unread, {1, std::ssize(unread)}, device_of(network)), state);
    const std::vector<double> logits = host_doubles(next);
    const auto end = logits.begin() + std::min(known, next.size(1));
    unread = {std::max_element(logits.begin(), end) - logits.begin()};
    tokens.push_back(unread.front());
  }
}

std::vector<double> erasure(models::LanguageModel& network,
                            const std::vector<std::int64_t>& context, std::int64_t next) {
  const std::int64_t n = std::ssize(context);
  std::vector<double> change(context.size(), 0.0);
  if (n < 2) return change;
  const autograd::NoGrad no_grad;
  network.train(false);
  const double whole = log_probabilities(network, context, 1, next).front();
  for (std::int64_t first = 0; first < n; first += kRowsOfPass) {
    const std::int64_t count = std::min(kRowsOfPass, n - first);
    std::vector<std::int64_t> texts;
    for (std::int64_t left_out = first; left_out < first + count; ++left_out) {
      texts.insert(texts.end(), context.begin(), context.begin() + left_out);
      texts.insert(texts.end(), context.begin() + left_out + 1, context.end());
    }
    const std::vector<double> without = log_probabilities(network, texts, count, next);
    for (std::int64_t k = 0; k < count; ++k)
      change[static_cast<std::size_t>(first + k)] = whole - without[static_cast<std::size_t>(k)];
  }
  return change;
}

}  // namespace fovea::visualise
