#include "ops/decoding/ctc_decoding.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "base/error.h"

namespace fovea::ops {
namespace {

constexpr double kImpossible = -std::numeric_limits<double>::infinity();

double log_sum(double a, double b) {
  if (a == kImpossible) return b;
  if (b == kImpossible) return a;
  const double high = std::max(a, b);
  return high + std::log1p(std::exp(std::min(a, b) - high));
}

void check_frames(const FrameLogits& logits) {
  FOVEA_CHECK(logits.symbols >= 1 && logits.blank >= 0 && logits.blank < logits.symbols &&
                  std::ssize(logits.values) % logits.symbols == 0,
              ShapeError,
              fmt::format("ctc decoding: {} logits of {} symbols with blank {}; expected frames of "
                          "symbols, of which one is the blank",
                          logits.values.size(), logits.symbols, logits.blank));
}

// log softmax of one frame.
std::vector<double> log_softmax_of(const FrameLogits& logits, std::int64_t frame) {
  const auto row = logits.values.subspan(static_cast<std::size_t>(frame * logits.symbols),
                                         static_cast<std::size_t>(logits.symbols));
  const auto top = static_cast<double>(*std::max_element(row.begin(), row.end()));
  double sum = 0;
  for (const float value : row) sum += std::exp(static_cast<double>(value) - top);
  std::vector<double> logs;
  for (const float value : row) logs.push_back(static_cast<double>(value) - top - std::log(sum));
  return logs;
}

// Prefixes as a tree; those of the beam have their probabilities.
class PrefixBeam {
 public:
  PrefixBeam(const FrameLogits& logits, const BeamOptions& options) : logits_(logits), o_(options) {
    prefixes_.push_back({.ends_in_blank = 0});
    if (o_.language != nullptr) prefixes_[0].state = o_.language->start();
    beam_ = {0};
  }

  void step(std::int64_t frame) {
    const std::vector<double> logs = log_softmax_of(logits_, frame);
    const double least = *std::max_element(logs.begin(), logs.end()) - o_.threshold;
    candidates_.clear();
    places_.clear();
    for (const std::size_t at : beam_) {
      const Prefix& prefix = prefixes_[at];
      const double total = prefix.total();
      Candidate& stays = candidate(at);
      stays.ends_in_blank = log_sum(stays.ends_in_blank, total + log_of(logs, logits_.blank));
      if (prefix.symbol >= 0)
        stays.ends_in_symbol =
            log_sum(stays.ends_in_symbol, prefix.ends_in_symbol + log_of(logs, prefix.symbol));
    }
    for (const std::size_t at : beam_) {
      for (std::int64_t symbol = 0; symbol < logits_.symbols; ++symbol) {
        if (symbol == logits_.blank || log_of(logs, symbol) < least) continue;
        extend(at, symbol, log_of(logs, symbol));
      }
    }
    keep_best();
  }

  std::vector<Hypothesis> hypotheses() const {
    std::vector<Hypothesis> all;
    for (const std::size_t at : beam_) {
      Hypothesis one;
      for (std::size_t i = at; i != 0; i = prefixes_[i].parent)
        one.symbols.push_back(prefixes_[i].symbol);
      std::reverse(one.symbols.begin(), one.symbols.end());
      one.score = prefixes_[at].total() + prefixes_[at].extra;
      if (o_.language != nullptr)
        one.score += o_.language_weight * o_.language->log_p_end(prefixes_[at].state);
      all.push_back(std::move(one));
    }
    std::stable_sort(all.begin(), all.end(),
                     [](const auto& a, const auto& b) { return a.score > b.score; });
    return all;
  }

 private:
  struct Prefix {
    std::size_t parent = 0;
    std::int64_t symbol = -1;  // its last one; of the empty prefix none
    double ends_in_blank = kImpossible, ends_in_symbol = kImpossible;
    double extra = 0;  // of language model and bonuses
    NgramModel::State state = 0;
    std::map<std::int64_t, std::size_t> longer = {};
    double total() const { return log_sum(ends_in_blank, ends_in_symbol); }
  };
  // After the frame: a prefix of the tree, or one more symbol behind one.
  struct Candidate {
    std::size_t prefix = 0;
    std::int64_t symbol = -1;  // to be added; -1: none
    double ends_in_blank = kImpossible, ends_in_symbol = kImpossible;
    double extra = 0;
    NgramModel::State state = 0;
    double score() const { return log_sum(ends_in_blank, ends_in_symbol) + extra; }
  };

  static double log_of(const std::vector<double>& logs, std::int64_t symbol) {
    return logs[static_cast<std::size_t>(symbol)];
  }

  Candidate& candidate(std::size_t prefix) {
    const auto [found, fresh] = places_.try_emplace(prefix, candidates_.size());
    if (fresh)
      candidates_.push_back(
          {.prefix = prefix, .extra = prefixes_[prefix].extra, .state = prefixes_[prefix].state});
    return candidates_[found->second];
  }

  void extend(std::size_t at, std::int64_t symbol, double log_p) {
    const Prefix& prefix = prefixes_[at];
    // The same symbol again is another one only behind a blank.
    const double value = (symbol == prefix.symbol ? prefix.ends_in_blank : prefix.total()) + log_p;
    if (value == kImpossible) return;
    if (const auto known = prefix.longer.find(symbol); known != prefix.longer.end()) {
      Candidate& to = candidate(known->second);
      to.ends_in_symbol = log_sum(to.ends_in_symbol, value);
      return;
    }
    Candidate fresh{.prefix = at, .symbol = symbol, .ends_in_symbol = value};
    fresh.extra = prefix.extra + o_.symbol_bonus;
    if (o_.language != nullptr) {
      const NgramModel::Step step = o_.language->next(prefix.state, symbol);
      fresh.extra += o_.language_weight * step.log_p;
      fresh.state = step.state;
    }
    candidates_.push_back(fresh);
  }

  void keep_best() {
    const auto better = [](const Candidate& a, const Candidate& b) {
      if (a.score() != b.score()) return a.score() > b.score();
      return std::pair(a.prefix, a.symbol) < std::pair(b.prefix, b.symbol);
    };
    const auto kept = std::min<std::ptrdiff_t>(o_.width, std::ssize(candidates_));
    std::partial_sort(candidates_.begin(), candidates_.begin() + kept, candidates_.end(), better);
    beam_.clear();
    for (const Candidate& one : std::span(candidates_).first(static_cast<std::size_t>(kept))) {
      std::size_t at = one.prefix;
      if (one.symbol >= 0) {
        at = prefixes_.size();
        prefixes_.push_back({.parent = one.prefix, .symbol = one.symbol});
        prefixes_[one.prefix].longer[one.symbol] = at;
      }
      Prefix& prefix = prefixes_[at];
      prefix.ends_in_blank = one.ends_in_blank;
      prefix.ends_in_symbol = one.ends_in_symbol;
      prefix.extra = one.extra;
      prefix.state = one.state;
      beam_.push_back(at);
    }
  }

  FrameLogits logits_;
  BeamOptions o_;
  std::vector<Prefix> prefixes_;  // the empty one first
  std::vector<std::size_t> beam_;
  std::vector<Candidate> candidates_;
  std::map<std::size_t, std::size_t> places_;  // of prefixes of the tree among the candidates
};

}  // namespace

std::vector<std::int64_t> ctc_greedy(const FrameLogits& logits) {
  check_frames(logits);
  std::vector<std::int64_t> symbols;
  std::int64_t before = logits.blank;
  for (std::int64_t t = 0; t < logits.frames(); ++t) {
    const auto row = logits.values.begin() + t * logits.symbols;
    const std::int64_t best = std::max_element(row, row + logits.symbols) - row;
    if (best != before && best != logits.blank) symbols.push_back(best);
    before = best;
  }
  return symbols;
}

std::vector<Hypothesis> ctc_beam_search(const FrameLogits& logits, const BeamOptions& options) {
  check_frames(logits);
  FOVEA_CHECK(options.width >= 1, ShapeError,
              fmt::format("ctc decoding: width {}; expected 1 or more", options.width));
  PrefixBeam beam(logits, options);
  for (std::int64_t t = 0; t < logits.frames(); ++t) beam.step(t);
  return beam.hypotheses();
}

// Viterbi's path through the target with blanks around every symbol.
std::vector<std::int64_t> ctc_alignment(const FrameLogits& logits,
                                        const std::vector<std::int64_t>& target) {
  check_frames(logits);
  const std::int64_t frames = logits.frames(), states = 2 * std::ssize(target) + 1;
  const auto symbol_of = [&](std::int64_t s) {
    return s % 2 == 0 ? logits.blank : target[static_cast<std::size_t>(s / 2)];
  };
  std::vector<double> best(static_cast<std::size_t>(states), kImpossible), next(best);
  std::vector<std::int8_t> back(static_cast<std::size_t>(frames * states), 0);
  for (std::int64_t t = 0; t < frames; ++t) {
    const std::vector<double> logs = log_softmax_of(logits, t);
    for (std::int64_t s = 0; s < states; ++s) {
      double from = kImpossible;
      std::int8_t steps = 0;
      const auto try_from = [&](std::int8_t count) {
        const double value = best[static_cast<std::size_t>(s - count)];
        if (value > from) {
          from = value;
          steps = count;
        }
      };
      if (t == 0) {
        from = s < 2 ? 0 : kImpossible;
      } else {
        try_from(0);
        if (s > 0) try_from(1);
        if (s > 1 && s % 2 == 1 && symbol_of(s) != symbol_of(s - 2)) try_from(2);
      }
      back[static_cast<std::size_t>(t * states + s)] = steps;
      next[static_cast<std::size_t>(s)] = from + logs[static_cast<std::size_t>(symbol_of(s))];
    }
    std::swap(best, next);
  }
  if (frames == 0) return {};
  std::int64_t s = states - 1;
  if (states > 1 && best[static_cast<std::size_t>(s - 1)] > best[static_cast<std::size_t>(s)]) --s;
  if (best[static_cast<std::size_t>(s)] == kImpossible) return {};
  std::vector<std::int64_t> places(static_cast<std::size_t>(frames));
  for (std::int64_t t = frames - 1; t >= 0; --t) {
    places[static_cast<std::size_t>(t)] = s % 2 == 0 ? -1 : s / 2;
    s -= back[static_cast<std::size_t>(t * states + s)];
  }
  return places;
}

}  // namespace fovea::ops
