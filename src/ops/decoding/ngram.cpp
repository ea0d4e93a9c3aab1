#include "ops/decoding/ngram.h"

#include <fmt/format.h>

#include <cmath>

#include "base/error.h"

namespace fovea::ops {

// Contexts begin with the mark of a start, symbols_ + 1; symbols_ is the end.
NgramModel::NgramModel(const std::vector<std::vector<std::int64_t>>& sequences, std::int64_t order,
                       std::int64_t symbols)
    : order_(order), symbols_(symbols), contexts_(1) {
  FOVEA_CHECK(order >= 1 && symbols >= 1, ShapeError,
              fmt::format("ngram: order {} of {} symbols; expected 1 or more", order, symbols));
  for (const std::vector<std::int64_t>& sequence : sequences) {
    std::vector<std::int64_t> seen = {symbols_ + 1};
    for (std::size_t i = 0; i <= sequence.size(); ++i) {
      const std::int64_t symbol = i < sequence.size() ? sequence[i] : symbols_;
      FOVEA_CHECK(symbol >= 0 && (symbol < symbols || i == sequence.size()), ShapeError,
                  fmt::format("ngram: symbol {}; expected 0 to {}", symbol, symbols - 1));
      const auto longest = std::min<std::int64_t>(order_ - 1, std::ssize(seen));
      for (std::int64_t length = 0; length <= longest; ++length) {
        const State state = state_of({seen.end() - length, seen.end()});
        contexts_[state].counts[symbol] += 1;
        contexts_[state].total += 1;
      }
      seen.push_back(symbol);
    }
  }
  if (order_ > 1 && !sequences.empty()) start_ = state_of({symbols_ + 1});
}

NgramModel::State NgramModel::state_of(const std::vector<std::int64_t>& context) {
  if (context.empty()) return 0;
  const std::vector<std::int64_t> before(context.begin(), context.end() - 1);
  const State shorter = state_of({context.begin() + 1, context.end()});
  const State stem = state_of(before);
  const auto found = contexts_[stem].longer.find(context.back());
  if (found != contexts_[stem].longer.end()) return found->second;
  const State made = contexts_.size();
  contexts_.emplace_back();
  contexts_[made].shorter = shorter;
  contexts_[made].length = std::ssize(context);
  contexts_[stem].longer[context.back()] = made;
  return made;
}

double NgramModel::probability(State state, std::int64_t symbol) const {
  const Context& context = contexts_[state];
  const double shorter = context.length == 0 ? 1 / static_cast<double>(symbols_ + 1)
                                             : probability(context.shorter, symbol);
  if (context.total == 0) return shorter;
  const auto found = context.counts.find(symbol);
  const double count = found == context.counts.end() ? 0 : found->second;
  const auto kinds = static_cast<double>(context.counts.size());
  return (count + kinds * shorter) / (context.total + kinds);
}

double NgramModel::log_probability(State state, std::int64_t symbol) const {
  return std::log(probability(state, symbol));
}

NgramModel::Step NgramModel::next(State state, std::int64_t symbol) const {
  Step step{log_probability(state, symbol), 0};
  // The longest known context that ends with the symbol.
  for (State from = state;; from = contexts_[from].shorter) {
    const Context& context = contexts_[from];
    const auto found = context.longer.find(symbol);
    if (context.length < order_ - 1 && found != context.longer.end()) {
      step.state = found->second;
      return step;
    }
    if (context.length == 0) return step;
  }
}

double NgramModel::perplexity(const std::vector<std::vector<std::int64_t>>& sequences) const {
  double sum = 0, count = 0;
  for (const std::vector<std::int64_t>& sequence : sequences) {
    State state = start_;
    for (const std::int64_t symbol : sequence) {
      const Step step = next(state, symbol);
      sum += step.log_p;
      state = step.state;
    }
    sum += log_p_end(state);
    count += static_cast<double>(sequence.size() + 1);
  }
  return count == 0 ? 1 : std::exp(-sum / count);
}

}  // namespace fovea::ops
