// Networks with their weights, opened to be scored or looked at.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "experiment/run/runner.h"
#include "schema/json/value.h"
#include "training/store/checkpoint.h"

namespace fovea::experiment {

/// Which weights a network has; goes beside every number and picture made with them.
struct WeightsUsed {
  std::string checkpoint;           // "best", "last", "step-00001234"; "" for a file
  std::int64_t step = 0;            // of the checkpoint
  bool averaged = false;            // of the checkpoint's two sets, the averages
  std::filesystem::path file;       // of another program
  std::vector<std::string> random;  // tensors that have random numbers
  std::vector<std::string> unused;  // tensors of the file that the network does not have
  std::string random_text;          // what is random and why, or not used, as a sentence; or ""
  std::string note;                 // why this checkpoint; "" where that is plain

  /// "checkpoint best, step 40, averaged weights" or "weights x.safetensors", and the note.
  std::string text() const;
  /// Sets "checkpoint", "step", "averaged" or "weights", "unused"; in both cases "random".
  void describe(schema::Value& record) const;
};

/// Beside the checkpoints of a run, and in the file that export makes of it
/// (inference/postprocessing_file.h).
inline constexpr const char* kPostprocessingFile = "postprocessing.json";

struct Opened {
  std::unique_ptr<Run> run;
  WeightsUsed weights;
  schema::Value data = {};  // fingerprint of what the weights were trained on; null: unknown
  std::string postprocessing = {};  // the content of kPostprocessingFile; "" where there is none
};

/// Which samples of its data set an opened network is asked for.
struct WantedSamples {
  data::OpenParts parts = data::OpenParts::kReported;
  std::optional<data::Split> only = {};  // this part alone

  static WantedSamples none() { return {data::OpenParts::kNone}; }
  /// Of a part by its name; "" for the one that a run reports. Throws ConfigError.
  static WantedSamples of(const std::string& split);
};

/// A run made by train.
struct TrainedRun {
  std::filesystem::path folder;  // or the model file that export made of it
  /// "best", "last" or "step-00001234"; empty: those that summary.json is about, and the last ones
  /// of a run that has none.
  std::string checkpoint = {};
  /// The averaged weights (train.ema_decay) or the others; nothing: the averaged ones if train
  /// chose by their metric (train.monitor=ema_...).
  std::optional<bool> averaged = {};
  int threads = 0;
  std::vector<std::string> overrides = {};  // "key=value" over config.json
  WantedSamples samples = {};
};

/// Generators of images are used with averaged weights wherever a run has them, as in the
/// literature: true for such a configuration; nothing for others.
std::optional<bool> averaged_for_images(const schema::Value& config);

/// What a run folder, or a model file, holds of a run: its settings and a checkpoint, before data
/// or network are opened.
struct StoredRun {
  schema::Value config;  // with the overrides, resolved
  training::Checkpoint checkpoint;
  std::filesystem::path folder;  // of the checkpoint
  std::string file;              // of the weights
  WeightsUsed weights;
  std::vector<std::string> notes;

  /// The weights that `weights` says.
  const std::map<std::string, Tensor>& tensors() const {
    return weights.averaged ? checkpoint.ema : checkpoint.model;
  }
};
/// Throws FileError and ConfigError.
StoredRun read_run(const TrainedRun& run);

/// A run with the weights of a checkpoint and what lies beside them: a vocabulary, the plan of
/// volumes, the description of the data, of which no more is opened than what is asked for. A
/// checkpoint of an older program describes none: the whole data set is opened, with a note. Throws
/// FileError and ConfigError.
Opened open_run(const TrainedRun& run);

/// Whether a path is that of an experiment file, not of a run folder or model file.
bool is_experiment_file(const std::filesystem::path& path);

/// An experiment file, or config.json of a run, with weights of another program.
struct ForeignRun {
  std::filesystem::path experiment;
  training::ForeignWeights weights;
  int threads = 0;
  std::vector<std::string> overrides = {};
  WantedSamples samples = {};
};

/// Nothing is trained. For texts, vocabulary.txt beside the file of weights is the vocabulary;
/// where there is none it is counted on train. Without samples the data set is what its type, the
/// options and model.num_classes say of it; classes have numbers for names. Throws FileError and
/// ConfigError.
Opened open_experiment(const ForeignRun& from);

}  // namespace fovea::experiment
