// A figure: what it draws, of which runs, with which options. A figure is one source file, which
// ends in FOVEA_FIGURE, and one line in figures.def; numbers that it draws come from maps/,
// pictures from layouts/ and drawing/.
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "schema/fields.h"
#include "schema/registry.h"
#include "visualise/figures/shared/shown_run.h"

namespace fovea::visualise {

/// What is to be drawn, and where to.
struct FigureRequest {
  std::vector<ShownRun> runs;
  std::vector<std::string> inputs;  // numbers of samples, or files; empty: the figure chooses
  std::vector<std::string> texts;   // words to be read
  std::filesystem::path out;        // folder for the files
  /// Called with every line of results, and with what a reader should know of how they were made.
  std::function<void(const std::string& line)> say;
  std::function<void(const std::string& line)> note;

  /// Says the files of the folder that were written.
  void say_files(const std::vector<std::string>& names) const;
};

struct FigureInfo {
  std::string help;                // what is drawn, in a sentence
  std::vector<std::string> files;  // that it writes: "pca-<run>.png"
  /// What it fits: completes "expected ".
  std::string fits;
  /// Why a run does not fit, "reads texts"; "" for one that does. Looks at facts, runs nothing.
  std::function<std::string(const ShownRun&)> misfit;
  /// Whether the network records what is drawn; may run it on a sample. Asked only after a figure
  /// could not be drawn, for the names of those that can.
  std::function<bool(const ShownRun&)> network = nullptr;
  std::size_t most_runs = 0;  // 0: any number
  bool standard = false;      // drawn where no figure is asked for
  bool flag = false;          // also asked for by its name as a flag, or by its option of that name
};

/// One line of figures.def.
struct Figure : schema::Choice {
  static constexpr const char* kKind = "figure";
  FigureInfo info;
  /// `options`: what was given of its own ones, as an object. Throws ConfigError for options or
  /// inputs that do not fit, and what reading samples and writing files throws.
  std::function<void(const FigureRequest&, const schema::Value& options)> draw;

  /// "--scores", or "--figure rollout" where there is no flag.
  std::string asked_by() const;
};

/// "--start-layer" for the key "start_layer".
std::string flag_of(const std::string& key);

template <class Options>
Figure make_figure(const char* name, FigureInfo info, schema::Fields<Options> fields,
                   void (*draw)(const FigureRequest&, const Options&)) {
  auto own = std::make_shared<const schema::Fields<Options>>(std::move(fields));
  Figure figure;
  figure.name = name;
  figure.help = info.help;
  figure.fields = own;
  figure.info = std::move(info);
  figure.draw = [own, draw](const FigureRequest& request, const schema::Value& options) {
    draw(request, own->parse(options));
  };
  return figure;
}

// Common answers of FigureInfo::misfit: "" or what the run reads instead.
std::string unless_reading(Reads wanted, const ShownRun& run);
std::string unless_images(const ShownRun& run);

/// Whether `look` ends without an error of the library: for FigureInfo::network.
bool can(const std::function<void()>& look);
/// The first sample as the network takes it, (1, ...), on its device; zeros of a usual size where
/// the data are described alone.
Tensor first_sample(const ShownRun& run);

}  // namespace fovea::visualise

/// FOVEA_FIGURE(name, info, fields, draw): defines the entry that a line of figures.def refers to.
/// `draw`: void(const FigureRequest&, const Options&), Options being what the fields describe.
/// Info and fields come from functions, since no object of a file is there before its registry.
/// Inside namespace fovea::visualise.
#define FOVEA_FIGURE(name, info, fields, draw) \
  Figure fovea_figure_##name() { return make_figure(#name, info, fields, draw); }
