// A model of n-grams of symbols, which says how likely a symbol follows others: the language model
// of a beam search. Witten and Bell, "The zero-frequency problem", IEEE Trans. Inf. Theory 1991;
// Chen and Goodman, "An empirical study of smoothing techniques for language modeling", 1999.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

namespace fovea::ops {

class NgramModel {
 public:
  /// Counts all n-grams up to `order` of sequences of symbols in [0, symbols), each with its end.
  /// Throws ShapeError for an order below 1 and symbols outside.
  NgramModel(const std::vector<std::vector<std::int64_t>>& sequences, std::int64_t order,
             std::int64_t symbols);

  /// What has been seen so far, as far as it matters.
  using State = std::size_t;
  State start() const { return start_; }
  struct Step {
    double log_p = 0;
    State state = 0;
  };
  /// log p(symbol | state) and the state after it. Shorter contexts take over by the share that
  /// Witten and Bell give to what is new behind a context; in the shortest all symbols and the end
  /// are equally likely.
  Step next(State state, std::int64_t symbol) const;
  /// log p(end | state).
  double log_p_end(State state) const { return log_probability(state, symbols_); }
  /// exp(-mean log p) over all symbols and ends of the sequences.
  double perplexity(const std::vector<std::vector<std::int64_t>>& sequences) const;

 private:
  struct Context {
    State shorter = 0;                      // without its first symbol
    std::map<std::int64_t, double> counts;  // of what follows
    double total = 0;
    std::map<std::int64_t, State> longer;  // with one more symbol behind it
    std::int64_t length = 0;
  };
  State state_of(const std::vector<std::int64_t>& context);
  double log_probability(State state, std::int64_t symbol) const;
  double probability(State state, std::int64_t symbol) const;

  std::int64_t order_, symbols_;
  std::vector<Context> contexts_;  // the empty one first
  State start_ = 0;
};

}  // namespace fovea::ops
