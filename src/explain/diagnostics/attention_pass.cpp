#include "explain/diagnostics/attention_pass.h"

#include <algorithm>
#include <utility>

#include "autograd/mode.h"
#include "ops/elementwise.h"
#include "tensor/host.h"
#include "visualise/maps/rollouts/rollout.h"

namespace fovea::explain {
namespace {

using attention::Probe;
using Keys = LayerMap::Keys;

std::vector<double> values_of(const Tensor& x, std::int64_t item) {
  return host_doubles(x.rows(item, item + 1));
}

Keys keys_of(const Probe::Record& record) {
  if (record.name == "unit_attn") return Keys::kOfWindow;
  return record.name == "reduced_attn" ? Keys::kReduced : Keys::kAllTokens;
}

// Attentions over layers record maps too, of other sizes.
bool is_over_tokens(const Probe::Record& record) {
  if (record.name == "unit_attn") return true;
  if (record.value.rank() != 4) return false;
  return record.name == "reduced_attn" ||
         (record.name == "attn" && record.value.size(2) == record.value.size(3));
}

// The members of a window that are tokens, as their numbers.
std::vector<std::vector<std::int64_t>> members_of(const Tensor& tokens) {
  const auto all = tokens.host_values<std::int64_t>();
  const std::int64_t members = tokens.size(1);
  std::vector<std::vector<std::int64_t>> windows(as_index(tokens.size(0)));
  for (std::size_t k = 0; k < all.size(); ++k) {
    if (all[k] >= 0) windows[k / as_index(members)].push_back(all[k]);
  }
  std::erase_if(windows, [](const auto& window) { return window.empty(); });
  return windows;
}

// The weights of windows without places that are no tokens.
void fill_windows(const Probe::Record& record, std::int64_t item, LayerMap& map) {
  const std::vector<double> all =
      values_of(record.value, item);  // (heads, units, members, members)
  const auto tokens = record.tokens.host_values<std::int64_t>();
  const std::int64_t members = record.tokens.size(1);
  for (const std::vector<std::int64_t>& window : members_of(record.tokens))
    map.parts.push_back({std::ssize(window), std::ssize(window)});
  const std::size_t each = as_index(members);
  for (std::size_t k = 0; k < all.size(); ++k) {
    const std::size_t key = k % each, row = k / each % tokens.size();  // unit and member
    if (tokens[row] >= 0 && tokens[row / each * each + key] >= 0) map.values.push_back(all[k]);
  }
}

}  // namespace

AttentionPass::AttentionPass(models::Model& model, const Tensor& inputs, const Wanted& wanted)
    : batch_(inputs.size(0)), layout_(model.geometry()) {
  const autograd::NoGrad no_grad;
  const Tensor there = ops::to(inputs, model.parameters().front().tensor.device());
  Probe probe;
  if (!wanted.maps) probe.without_maps();
  model(models::only_input(model.interface(), there), &probe);
  if (inputs.rank() == 4) {
    height_ = static_cast<double>(inputs.size(2));
    width_ = static_cast<double>(inputs.size(3));
  }
  if (model.interface() == models::Interface::kTextClassifier) {
    for (const double id : host_doubles(inputs)) words_.push_back(id != 0 ? 1 : 0);
  }
  read(probe);
  if (!wanted.tokens) blocks_.clear();
  if (!wanted.distances || height_ == 0) return;
  for (Attention& one : attentions_) {
    if (one.grid.count() > 0) measure_distances(one);
  }
}

void AttentionPass::read(const Probe& probe) {
  Tensor positive, negative;
  std::size_t without_grid = 0;
  for (const Probe::Record& record : probe.records()) {
    if (record.name == "attn_positive") positive = record.value;
    if (record.name == "attn_negative") negative = record.value;
    if (is_over_tokens(record)) {
      attentions_.push_back({record, {}, {}, {}, {}});
      if (record.is_signed) std::swap(attentions_.back().positive, positive);
      if (record.is_signed) std::swap(attentions_.back().negative, negative);
      positive = negative = {};
    }
    if (record.name != "features") continue;
    blocks_.push_back(record);
    // A block's features know the grid of its attention, which comes before.
    for (; without_grid < attentions_.size(); ++without_grid) {
      Attention& one = attentions_[without_grid];
      GridSize grid{layout_.grid_h, layout_.grid_w};
      if (record.value.rank() == 4) grid = {record.value.size(2), record.value.size(3)};
      const std::int64_t prefix = record.value.rank() == 4 ? 0 : layout_.prefix_tokens;
      const bool fits = keys_of(one.map) == Keys::kOfWindow
                            ? record.value.rank() == 4
                            : grid.count() > 0 && prefix + grid.count() == one.map.value.size(2);
      if (fits) one.grid = grid;
    }
  }
}

void AttentionPass::measure_distances(Attention& one) const {
  const std::pair<double, double> side{height_ / static_cast<double>(one.grid.h),
                                       width_ / static_cast<double>(one.grid.w)};
  switch (keys_of(one.map)) {
    case Keys::kReduced:  // a key stands for tokens at several places
      return;
    case Keys::kAllTokens:
      one.distances =
          patch_distances(one.map.value.size(2) - one.grid.count(), {one.grid.h, one.grid.w}, side);
      return;
    case Keys::kOfWindow:
      for (const std::vector<std::int64_t>& window : members_of(one.map.tokens)) {
        const std::vector<double> inside = patch_distances(window, one.grid.w, side);
        one.distances.insert(one.distances.end(), inside.begin(), inside.end());
      }
  }
}

std::vector<std::string> AttentionPass::attentions() const {
  std::vector<std::string> names;
  for (const Attention& one : attentions_) names.push_back(one.map.module);
  return names;
}

std::vector<std::string> AttentionPass::blocks() const {
  std::vector<std::string> names;
  for (const Probe::Record& block : blocks_) names.push_back(block.module);
  return names;
}

std::vector<std::uint8_t> AttentionPass::valid_of(std::int64_t item, std::int64_t prefix) const {
  if (words_.empty()) return {};
  const std::int64_t n = std::ssize(words_) / batch_;
  std::vector<std::uint8_t> valid(as_index(prefix), 1);
  valid.insert(valid.end(), words_.begin() + item * n, words_.begin() + (item + 1) * n);
  return valid;
}

LayerMap AttentionPass::map(std::size_t attention, std::int64_t item) const {
  const Attention& one = attentions_[attention];
  const Tensor& value = one.map.value;
  LayerMap map{.heads = value.size(1), .keys = keys_of(one.map), .distances = one.distances};
  if (map.keys == Keys::kOfWindow) {
    fill_windows(one.map, item, map);
    return map;
  }
  const std::vector<std::uint8_t> valid = valid_of(item, layout_.prefix_tokens);
  const auto seen = [&](const Tensor& all) {
    if (!all.defined()) return std::vector<double>();
    std::vector<double> values = values_of(all, item);
    if (valid.empty()) return values;
    return visualise::crop({map.heads, value.size(3), std::move(values)}, valid).values;
  };
  map.values = seen(value);
  map.positive = seen(one.positive);
  map.negative = seen(one.negative);
  // A learned factor below 0 makes of the difference a sum.
  if (std::ranges::any_of(map.negative, [](double v) { return v < 0; }))
    map.positive = map.negative = {};
  const std::int64_t rows = valid.empty() ? value.size(2) : std::ranges::count(valid, 1);
  map.parts = {{rows, valid.empty() ? value.size(3) : rows}};
  return map;
}

SeenTokens AttentionPass::tokens(std::size_t block, std::int64_t item) const {
  const Tensor& value = blocks_[block].value;
  std::vector<double> all = values_of(value, item);
  if (value.rank() != 3) {  // (c, places...)
    SeenTokens seen{std::ssize(all) / value.size(1), std::vector<double>(all.size())};
    const std::size_t dim = as_index(value.size(1)), n = as_index(seen.n);
    for (std::size_t k = 0; k < all.size(); ++k) seen.values[k % n * dim + k / n] = all[k];
    return seen;
  }
  std::vector<std::uint8_t> kept = valid_of(item, layout_.prefix_tokens);
  kept.resize(as_index(value.size(1)), 1);
  const std::int64_t class_tokens = layout_.class_token ? 1 : 0;
  for (std::int64_t i = class_tokens; i < layout_.prefix_tokens; ++i) kept[as_index(i)] = 0;
  SeenTokens seen;
  const std::int64_t dim = value.size(2);
  for (std::int64_t i = 0; i < value.size(1); ++i) {
    if (kept[as_index(i)] == 0) continue;
    seen.values.insert(seen.values.end(), all.begin() + i * dim, all.begin() + (i + 1) * dim);
    ++seen.n;
  }
  return seen;
}

}  // namespace fovea::explain
