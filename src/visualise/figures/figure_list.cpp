#include "visualise/figures/figure_list.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <sstream>

#include "base/error.h"
#include "visualise/figures/shared/given_options.h"

namespace fovea::visualise {

#define FOVEA_ENTRY(name) Figure fovea_figure_##name();
#include "visualise/figures/figures.def"
#undef FOVEA_ENTRY

namespace {

using Runs = std::vector<ShownRun>;

std::vector<const Figure*> standard_figures() {
  std::vector<const Figure*> found;
  for (const Figure& figure : figures()) {
    if (figure.info.standard) found.push_back(&figure);
  }
  return found;
}

const Figure& standard_for(const ShownRun& run) {
  for (const Figure* figure : standard_figures()) {
    if (figure->info.misfit(run).empty()) return *figure;
  }
  throw ConfigError(fmt::format("{}: reads {}, of which nothing is drawn without --figure",
                                run.name, name_of(reads_of(run))));
}

const Figure& standard_figure(const Runs& runs) {
  const Figure& figure = standard_for(runs.front());
  for (const ShownRun& run : runs) {
    FOVEA_CHECK(
        &standard_for(run) == &figure, ConfigError,
        fmt::format("{}: reads {}, {} reads {}; draw them apart", run.name, name_of(reads_of(run)),
                    runs.front().name, name_of(reads_of(runs.front()))));
  }
  return figure;
}

std::string counted(std::size_t runs) {
  return runs == 1 ? "one run" : fmt::format("at most {} runs", runs);
}

bool fits(const Figure& figure, const Runs& runs) {
  if (figure.info.most_runs > 0 && runs.size() > figure.info.most_runs) return false;
  return std::all_of(runs.begin(), runs.end(), [&](const ShownRun& run) {
    return figure.info.misfit(run).empty() && (!figure.info.network || figure.info.network(run));
  });
}

std::string fitting_text(const Runs& runs) {
  std::vector<std::string> names;
  for (const Figure& figure : figures()) {
    if (fits(figure, runs)) names.push_back(figure.name);
  }
  const char* whom = runs.size() == 1 ? "it" : "all of them";
  return names.empty() ? fmt::format("no figure fits {}", whom)
                       : fmt::format("figures that fit {}: {}", whom, fmt::join(names, ", "));
}

void check_fit(const Figure& figure, const Runs& runs) {
  const FigureInfo& info = figure.info;
  for (const ShownRun& run : runs) {
    const std::string misfit = info.misfit(run);
    FOVEA_CHECK(misfit.empty(), ConfigError,
                fmt::format("{}: {} {}; expected {}; {}", figure.asked_by(), run.name, misfit,
                            info.fits, fitting_text(runs)));
  }
  FOVEA_CHECK(info.most_runs == 0 || runs.size() <= info.most_runs, ConfigError,
              fmt::format("{}: is drawn of {}, {} are given; {}", figure.asked_by(),
                          counted(info.most_runs), runs.size(), fitting_text(runs)));
}

// Scripts may give one set of options to several figures.
void note_options(const Figure& figure, const FigureRequest& request, const GivenOptions& given) {
  for (const std::string& key : unknown_to({&figure}, given))
    request.note(fmt::format("{}; {} is drawn without it", owners_text(key), figure.name));
}

void refuse_options(const Figure& standard, const ShownRun& run, const GivenOptions& given) {
  for (const std::string& key : unknown_to({&standard}, given)) {
    throw ConfigError(fmt::format("{}; {} reads {}, of which {} is drawn", owners_text(key),
                                  run.name, name_of(reads_of(run)), standard.name));
  }
}

constexpr std::size_t kTextColumn = 16, kColumns = 110;

// Words in lines, all but the first behind kTextColumn blanks.
std::string indented(const std::string& text) {
  std::istringstream words(text);
  std::string result;
  std::size_t column = kTextColumn;
  for (std::string word; words >> word; column += word.size() + 1) {
    if (column + word.size() > kColumns) {
      result += "\n" + std::string(kTextColumn, ' ');
      column = kTextColumn;
    } else if (!result.empty()) {
      result += " ";
    }
    result += word;
  }
  return result;
}

}  // namespace

schema::Registry<Figure>& figures() {
  static schema::Registry<Figure> all = {
#define FOVEA_ENTRY(name) fovea_figure_##name(),
#include "visualise/figures/figures.def"
#undef FOVEA_ENTRY
  };
  return all;
}

const Figure* asked_figure(const std::string& name, const std::vector<std::string>& flags,
                           const GivenOptions& given) {
  std::vector<const Figure*> asked;
  if (!name.empty()) asked.push_back(&figures().find(name, "--figure"));
  std::vector<std::string> with_flags;
  for (const Figure& figure : figures()) {
    if (!figure.info.flag) continue;
    with_flags.push_back(flag_of(figure.name));
    const bool given_flag = std::find(flags.begin(), flags.end(), figure.name) != flags.end() ||
                            given.count(figure.name) > 0;
    if (given_flag && std::find(asked.begin(), asked.end(), &figure) == asked.end())
      asked.push_back(&figure);
  }
  FOVEA_CHECK(
      asked.size() <= 1, ConfigError,
      fmt::format("{}: each is drawn instead of rollouts; give one", fmt::join(with_flags, ", ")));
  return asked.empty() ? nullptr : asked.front();
}

void check_options(const Figure* asked, const GivenOptions& given) {
  if (asked != nullptr) return;
  for (const std::string& key : unknown_to(standard_figures(), given))
    throw ConfigError(owners_text(key) + "; none is given");
}

void draw_figure(const Figure* asked, const FigureRequest& request, const GivenOptions& given) {
  const Figure& figure = asked != nullptr ? *asked : standard_figure(request.runs);
  if (asked != nullptr) {
    check_fit(figure, request.runs);
    note_options(figure, request, given);
  } else {
    refuse_options(figure, request.runs.front(), given);
  }
  try {
    figure.draw(request, values_of(figure, given));
  } catch (const ConfigError& error) {
    // The options or inputs are wrong, or a network tells nothing of what is drawn.
    if (fits(figure, request.runs)) throw;
    throw ConfigError(fmt::format("{}; {}", error.what(), fitting_text(request.runs)));
  }
}

std::string figure_lines() {
  std::string lines;
  for (const Figure& figure : figures()) {
    const std::string text =
        fmt::format("{} ({})", figure.help, fmt::join(figure.info.files, ", "));
    lines += fmt::format("  {:<{}}{}\n", figure.name, kTextColumn - 2, indented(text));
  }
  return lines;
}

}  // namespace fovea::visualise
