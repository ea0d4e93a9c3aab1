// A run whose attention is drawn, and the parts of the output that are the same for images and
// texts.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/file.h"
#include "experiment/run/open_run.h"
#include "visualise/maps/attention_maps.h"
#include "visualise/pages/explorer.h"
#include "visualise_attention/arguments.h"

namespace fovea::apps {

/// A run with its network and what it saw.
struct Subject {
  std::string name;  // different for all subjects
  std::unique_ptr<experiment::Run> run;
  experiment::WeightsUsed weights;
  bool signed_maps = false;
  visualise::RolloutOptions rollout;
  std::vector<visualise::Observation> seen;  // one for each input

  /// The class that the run sees in an input.
  const std::string& predicted(std::size_t input) const;
  /// What its rollouts are.
  visualise::Quantity quantity() const;
  /// The even share of its rollout of an input.
  double even_share(std::size_t input) const;
  /// "raw, sum".
  std::string policy() const;
};

/// What was drawn: names of the inputs, and of the files in the folder.
struct Drawn {
  std::vector<std::string> inputs;
  std::vector<std::string> files;
};

/// The `place`-th of the runs and experiment files. Throws ConfigError unless every experiment file
/// has a file of weights and every file of weights an experiment file.
experiment::Opened open_run(std::size_t place, const Arguments& args);
/// All of them. Throws like open_run().
std::vector<experiment::Opened> open_runs(const Arguments& args);
/// The part of the data that is asked for, or the one that the run reports.
std::string split_of(const Arguments& args, experiment::Run& run);
/// The runs by the names of their folders or files, numbered where these are the same.
std::vector<std::string> folder_names(const Arguments& args);
/// Which weights are drawn, and what of them is random.
std::string weights_text(const experiment::WeightsUsed& weights);
/// The runs of `args` that were opened. Runs of one name are told apart by their folders, or
/// numbered. Throws ConfigError for a network without attention to roll out.
std::vector<Subject> subjects_of(std::vector<experiment::Opened> opened, const Arguments& args);

/// Throws ConfigError for a word of an option that is none of those known.
void check_word(const std::string& flag, const std::string& word,
                const std::vector<std::string>& known);

/// A number of a sample of a split with `size` samples. Throws ConfigError.
bool is_index(const std::string& text);
std::int64_t sample_index(const std::string& text, std::int64_t size);

/// The place of the layer that --layer names, by its number or its name. Throws ConfigError.
std::size_t layer_place(const std::vector<std::string>& names, const std::string& wanted,
                        const std::string& run);

/// The palette of quantities without sign; inferno, unless --colours names another.
visualise::ColourMap colours_of(const Arguments& args);
/// Where colours begin and end: --scale.
visualise::HeatScale scale_of(const Arguments& args);
/// How heads are drawn: --scale, --colours and --smooth.
visualise::HeadLook head_look_of(const Arguments& args);
/// The share of the image in overlays: --overlay, or one half.
double overlay_of(const Arguments& args);

/// maps.safetensors: <run>/<input>/attn/<layer> (heads, n, n) and <run>/<input>/rollout (n, n);
/// metadata <run>: which weights these are of.
void write_maps(const io::fs::path& path, const std::vector<Subject>& subjects,
                const std::vector<std::string>& inputs);

/// Everything but what the tokens are.
visualise::ExplorerModel explorer_model(const Subject& subject, std::size_t input);

}  // namespace fovea::apps
