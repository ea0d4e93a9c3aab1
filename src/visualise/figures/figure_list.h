// All figures by name, and the way from what a user asks for to its drawing.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "visualise/figures/figure.h"

namespace fovea::visualise {

/// All of figures.def, and what was added since.
schema::Registry<Figure>& figures();

/// An option of figures: a key that one or several of them have.
struct FigureOption {
  std::string key;   // "start_layer"
  std::string flag;  // "--start-layer"
  schema::Type type;
  schema::Range range;              // that of numbers; words of all figures together
  std::string help;                 // what it is to each figure
  std::vector<std::string> owners;  // the figures that have it
};
/// Every key once, in the order of the figures. Throws ConfigError for one that two figures have
/// with different types.
std::vector<FigureOption> figure_options();

/// Words for the options that were given, by key; of a switch none.
using GivenOptions = std::map<std::string, std::vector<std::string>>;

/// What a user asks for: a figure by name, by flags of their own (FigureInfo::flag; names of the
/// figures), or by an option that is called as a figure. Null for none. Throws ConfigError for an
/// unknown name, with the nearest known one, and for more than one figure.
const Figure* asked_figure(const std::string& name, const std::vector<std::string>& flags,
                           const GivenOptions& given);

/// Throws ConfigError where no figure was asked for and an option is none of a standard figure:
/// what can be said before runs are opened.
void check_options(const Figure* asked, const GivenOptions& given);

/// Draws the figure that was asked for or, without one, the standard figure that fits the runs.
/// Throws ConfigError for runs that do not fit it, or each other, with the names of the figures
/// that fit, and what drawing throws. Options that the figure does not have: those of a figure that
/// was asked for have no effect, and a note says so; else ConfigError.
void draw_figure(const Figure* asked, const FigureRequest& request, const GivenOptions& given);

/// For a help: every figure with what it draws and its files.
std::string figure_lines();

}  // namespace fovea::visualise
