// The figures of visualise-attention on the command line: --figure, their flags and options.
#pragma once

#include <deque>
#include <string>
#include <vector>

#include "common/options.h"
#include "visualise/figures/figure_list.h"

namespace fovea::apps {

class FigureFlags {
 public:
  /// Adds --figure, a flag for every figure that has one, and the options of all figures.
  explicit FigureFlags(Options cli);
  FigureFlags(const FigureFlags&) = delete;
  FigureFlags& operator=(const FigureFlags&) = delete;

  /// After parsing: the options that were given.
  visualise::GivenOptions given() const;
  /// The figure that is asked for, or null. Throws as visualise::asked_figure().
  const visualise::Figure* asked() const;

 private:
  struct Switch {
    std::string name;  // of a figure, or the key of an option
    bool on = false;
  };
  struct Words {
    std::string key;
    std::string one;                // of options that are given once
    std::vector<std::string> list;  // of others
  };
  void add_option(Options cli, const visualise::FigureOption& option);

  std::string figure_;
  std::deque<Switch> figures_, switches_;  // what is parsed stays where it is
  std::deque<Words> words_;
};

}  // namespace fovea::apps
