// Speed and remaining time of a run. Used by trainer.cpp and report.cpp only.
#pragma once

#include <algorithm>
#include <chrono>
#include <deque>
#include <vector>

#include "training/trainer.h"

namespace fovea::training {

struct Trainer::Timing {
  using Clock = std::chrono::steady_clock;

  void start() { begin = last_step = window_start = Clock::now(); }

  static double between(Clock::time_point from, Clock::time_point to) {
    return std::chrono::duration<double>(to - from).count();
  }

  void step(std::int64_t samples) {
    const Clock::time_point now = Clock::now();
    if (recent.size() == 64) recent.pop_front();
    recent.push_back(between(last_step, now));
    last_step = now;
    samples_per_step = static_cast<double>(samples);
  }

  /// The median: one slow step (an evaluation, a checkpoint) must not move the estimate.
  double median_step() const {
    if (recent.empty()) return 0;
    std::vector<double> sorted(recent.begin(), recent.end());
    const auto middle = sorted.begin() + static_cast<std::ptrdiff_t>(sorted.size() / 2);
    std::nth_element(sorted.begin(), middle, sorted.end());
    return *middle;
  }

  Clock::time_point begin;
  Clock::time_point last_step;
  Clock::time_point window_start;  // of the current line of the log
  std::deque<double> recent;       // seconds of the latest steps
  double samples_per_step = 0;
};

}  // namespace fovea::training
