// Trained runs whose probabilities are averaged, as nnU-Net's folds.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "data/volumes/volume_dataset.h"
#include "experiment/run/runner.h"

namespace fovea::experiment {

class Ensemble {
 public:
  /// One run or more, which outlive this; their networks are put to evaluation. Throws ConfigError
  /// for several that give no probabilities, and where they do not predict the same classes of the
  /// same inputs; it says what differs: what networks read and give, classes, of pictures to be
  /// segmented the size that networks see, of volumes channels and spacing.
  explicit Ensemble(std::vector<Run*> runs);

  const std::vector<Run*>& runs() const { return runs_; }
  /// All runs have its classes.
  Run& first() const { return *runs_.front(); }
  const data::Dataset& samples() const { return samples_of(first()); }
  bool classifies() const {
    return first().model().interface() != models::Interface::kDenseNetwork;
  }
  std::int64_t eval_batch_size() const;

  /// The samples that a run's data set makes of inputs; as many, in one order, for every run.
  using Prepare = std::function<std::shared_ptr<const data::Dataset>(const data::Dataset& like)>;
  /// Gets a batch as the first run prepared it and the mean over the runs of its probabilities
  /// (Task::probabilities_of), until it returns false.
  using Visit = std::function<bool(const data::Batch& batch, const Tensor& probabilities)>;
  /// Visits all samples, prepared as each run's own, and returns the messages of those that could
  /// not be read.
  std::vector<std::string> each_batch(const Prepare& prepare, std::int64_t batch_size,
                                      const Visit& visit) const;

  /// The mean of the probabilities of one volume in files (data::VolumeCase), (k, d, h, w), and
  /// where they lie in its file.
  /// Throws FileError.
  struct VolumeProbabilities {
    Tensor values;
    data::VolumePlace place;
  };
  VolumeProbabilities probabilities_of(const std::vector<std::filesystem::path>& images) const;

 private:
  // All parts are prepared alike.
  static const data::Dataset& samples_of(Run& run) { return run.task().source().any(); }
  static void check_alike(Run& first, Run& other, const std::string& which);

  Tensor mean(const Tensor& sum) const;

  std::vector<Run*> runs_;
};

}  // namespace fovea::experiment
