// Plain numbers of kcla: temperatures, and what its figures 2, 4 and 7 show.

#include "layer_attention/kcla.h"
#include "verify/case.h"
#include "verify/runners.h"
#include "visualise/maps/layer_statistics.h"

namespace fovea::verify {
namespace {

using visualise::KeyPairs;

void run_key_cosine(const Case& c, Checker& check) {
  const Tensor& keys = c.at("input/keys");
  const std::vector<double> values = to_doubles(keys);
  const std::int64_t bins = c.integer("bins");
  const double low = c.config().numbers("range").at(0);
  const double high = c.config().numbers("range").at(1);
  c.config().only("layout",
                  "keys [batch, head, layer, head_dim]; adjacent [b,h,T-1]; arbitrary pairs in "
                  "row-major upper-triangular order");
  c.config().only("normalisation", "fraction of samples");
  c.check_all_read();
  const auto compare = [&](const char* name, KeyPairs pairs) {
    const auto found = visualise::key_cosines(values, keys.size(2), keys.size(3), pairs);
    check.compare(std::string("output/") + name, found);
    check.compare(std::string("output/hist_") + name, visualise::histogram(found, bins, low, high));
  };
  compare("adjacent", KeyPairs::kAdjacent);
  compare("arbitrary", KeyPairs::kArbitrary);
}

void run_beta(const Case& c, Checker& check) {
  c.config().only("layout",
                  "lambda[layer, channel], layers of one stage in order; beta[l] for the last "
                  "layer, l = distance");
  c.check_all_read();
  const Tensor& lambda = c.at("input/lambda");
  const std::int64_t layers = lambda.size(0), channels = lambda.size(1);
  const std::vector<double> beta = visualise::beta_decay(to_doubles(lambda), layers, channels);
  check.compare("output/beta", beta);
  std::vector<double> mean, std, abs_mean, abs_std;
  for (std::int64_t l = 0; l < layers; ++l) {
    const std::span<const double> row(beta.data() + l * channels,
                                      static_cast<std::size_t>(channels));
    mean.push_back(visualise::spread_of(row, false).mean);
    std.push_back(visualise::spread_of(row, false).std);
    abs_mean.push_back(visualise::spread_of(row, true).mean);
    abs_std.push_back(visualise::spread_of(row, true).std);
  }
  check.compare("output/mean", mean);
  check.compare("output/std_population", std);
  check.compare("output/abs_mean", abs_mean);
  check.compare("output/abs_std_population", abs_std);
}

void run_scores(const Case& c, Checker& check) {
  c.config().only("layout",
                  "key_norms [batch, layer, head]; scores [batch, head, t, j], zero above the "
                  "diagonal");
  c.check_all_read();
  const Tensor& norms = c.at("input/key_norms");  // (batch, layers, heads)
  const std::int64_t batch = norms.size(0), layers = norms.size(1), heads = norms.size(2);
  const std::vector<double> values = to_doubles(norms);
  const std::vector<double> divisors = to_doubles(c.at("input/divisors"));
  std::vector<double> scores;
  std::vector<double> mean(static_cast<std::size_t>(heads * layers * layers), 0.0);
  for (std::int64_t b = 0; b < batch; ++b) {
    for (std::int64_t h = 0; h < heads; ++h) {
      std::vector<double> of_head;
      for (std::int64_t t = 0; t < layers; ++t) {
        of_head.push_back(values[static_cast<std::size_t>((b * layers + t) * heads + h)]);
      }
      const auto map = visualise::layer_scores(of_head, divisors[static_cast<std::size_t>(h)]);
      for (std::size_t i = 0; i < map.size(); ++i) {
        mean[static_cast<std::size_t>(h) * map.size() + i] += map[i] / static_cast<double>(batch);
      }
      scores.insert(scores.end(), map.begin(), map.end());
    }
  }
  check.compare("output/scores", scores);
  check.compare("output/mean_scores", mean);
}

// sequence_h<heads> with p, sequence_p<digits>_h<heads> with extra_p.
void run_log_uniform(const Case& c, Checker& check) {
  for (const auto& [name, tensor] : c.below("output/")) {
    const double p = c.number(name.starts_with("sequence_h") ? "p" : "extra_p");
    const auto values = layer_attention::log_uniform(p, tensor.numel());
    check.compare("output/" + name, std::vector<double>(values.begin(), values.end()));
  }
}

}  // namespace

Table kcla_figures() {
  Table table;
  table.add("figure2_key_cosine") = run_key_cosine;
  table.add("figure4_beta") = run_beta;
  table.add("figure7_scores") = run_scores;
  table.add("log_uniform_sequence") = run_log_uniform;
  return table;
}

}  // namespace fovea::verify
