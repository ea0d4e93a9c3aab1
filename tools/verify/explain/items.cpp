#include "verify/explain/items.h"

#include <fmt/format.h>

#include "base/error.h"
#include "verify/explain/network.h"

namespace fovea::verify {
namespace {

constexpr std::int64_t kBatch = 7;  // images or texts that a network is asked about at once

template <class T>
std::vector<std::vector<T>> split(const Case& c, const std::string& key) {
  const Tensor& x = c.at(key);
  const std::vector<double> values = to_doubles(x);
  const std::int64_t b = x.size(0), size = std::ssize(values) / b;
  std::vector<std::vector<T>> items(static_cast<std::size_t>(b));
  for (std::size_t k = 0; k < values.size(); ++k)
    items[k / static_cast<std::size_t>(size)].push_back(static_cast<T>(values[k]));
  return items;
}

}  // namespace

std::vector<std::vector<double>> items_of(const Case& c, const std::string& key) {
  return split<double>(c, key);
}

std::vector<std::vector<std::uint8_t>> masks_of(const Case& c, const std::string& key) {
  return split<std::uint8_t>(c, key);
}

explain::BaselineOptions baseline_of(const Case& c, const char* key) {
  explain::BaselineOptions options;
  options.baseline = c.config().choice(key,
                                       {{"zero", explain::Baseline::kZero},
                                        {"mean", explain::Baseline::kMean},
                                        {"black", explain::Baseline::kBlack},
                                        {"blur", explain::Baseline::kBlur}},
                                       explain::Baseline::kZero);
  if (c.given("sigma")) options.sigma = c.number("sigma");
  return options;
}

std::int64_t target_of(const Case& c, std::int64_t predicted) {
  const std::int64_t target = c.integer("target", -1);
  if (target < -1) c.config().refuse("target");
  return target == -1 ? predicted : target;
}

ExplainedImages::ExplainedImages(const Case& c, Checker& check)
    : model_(network_of(c, check)),
      questions_(std::make_unique<explain::Questions>(explain::logits_of(*model_), kBatch)) {
  const Tensor& x = c.at("input/x");
  const std::vector<std::int64_t> grid = c.config().integers("units");
  if (grid.size() != 2 || x.rank() != 4) c.config().refuse("units");
  std::vector<std::vector<double>> relevance(static_cast<std::size_t>(x.size(0)));
  if (c.has("input/relevance")) relevance = items_of(c, "input/relevance");
  for (std::int64_t i = 0; i < x.size(0); ++i) {
    explain::Explained item;
    item.relevance = relevance.at(static_cast<std::size_t>(i));
    item.network = questions_.get();
    item.image = explain::image_at(x, i);
    if (c.given("mean")) item.colours = {c.config().numbers("mean"), c.config().numbers("std")};
    item.units.emplace(grid[0], grid[1], x.size(2), x.size(3));
    item.target = target_of(c, questions_->predicted(item.image));
    items_.push_back(std::move(item));
  }
}

}  // namespace fovea::verify
