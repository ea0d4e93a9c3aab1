// A split of a data set, ready for training: the interface that loaders and tasks use for every
// kind of data. Kinds derive from it: images with classes or masks (image_dataset.h), texts
// (text_dataset.h).
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "data/augment/noise.h"
#include "data/batch.h"
#include "data/collate.h"
#include "data/part.h"
#include "data/parts/split.h"
#include "schema/json/value.h"

namespace fovea::data {

/// How prepare() changes a sample. All randomness is a function of seed, split, epoch, the sample's
/// place in its files, and the noise's type and level.
struct Draw {
  std::uint64_t seed = 0;
  std::int64_t epoch = 0;                     // 0 for evaluation
  std::int64_t copy = 0;                      // which of a sample's repeats in an epoch (plan.h)
  bool augment = false;                       // augmentation and training noise
  std::optional<NoiseLevel> corruption = {};  // evaluation noise, on every sample
  std::int64_t position = 0;                  // in the epoch
  std::int64_t place = 0, batch_size = 1;     // in its batch, and the batch's size

  /// Whether the sample is one of the last of its batch that make up this share of it, as those of
  /// nnU-Net that lie around foreground.
  bool in_last(double share) const;
};

/// The shape of a data set's samples; 0 where it does not apply.
struct SampleShape {
  std::int64_t channels = 0, height = 0, width = 0;
  std::int64_t classes = 0;  // outputs
  std::int64_t vocab_size = 0, max_len = 0;
  bool label_maps = false;            // every pixel has a class
  std::int64_t depth = 0;             // of volumes; 0: images are flat
  bool regions = false;               // of label maps: the outputs are regions, not the classes
  std::int64_t mels = 0, frames = 0;  // of recordings: channels of features, frames of the longest

  bool operator==(const SampleShape&) const = default;
};

/// Thread-safe after construction.
class Dataset {
 public:
  virtual ~Dataset() = default;
  Dataset(const Dataset&) = delete;
  Dataset& operator=(const Dataset&) = delete;

  Split split() const { return split_; }
  std::int64_t size() const { return std::ssize(indices_); }
  const std::vector<std::string>& class_names() const { return part_->class_names(); }
  std::int64_t num_classes() const { return std::ssize(class_names()); }
  bool has_background() const { return part_->has_background(); }
  /// The names of a network's outputs: the classes, or regions made of them.
  virtual const std::vector<std::string>& output_names() const { return class_names(); }
  /// Samples left out when the data set was opened, with the reason.
  const std::vector<std::string>& left_out() const { return left_out_; }

  // As Part.
  std::vector<std::string> notes() const;
  std::vector<std::filesystem::path> files() const { return part_->files(); }
  std::string recipe() const { return part_->recipe(); }
  /// The folder that the files lie in.
  const std::string& root() const { return root_; }

  // i in [0, size()).
  std::int64_t label(std::int64_t i) const { return part_->labels()[place(i)]; }
  std::string name(std::int64_t i) const { return part_->name(source_index(i)); }
  /// Place in the files, independent of limit and split.
  std::int64_t source_index(std::int64_t i) const;

  /// What a sample consists of, and how batches are made of it.
  virtual const std::vector<Field>& fields() const = 0;
  bool has(std::string_view field) const;
  virtual SampleShape shape() const = 0;
  /// The sample as a network sees it. `into` comes from a Collator and has the tensors of stacked
  /// fields. Sets everything but the name. Throws FileError if the sample cannot be read.
  virtual void prepare(std::int64_t i, const Draw& draw, Sample& into) const = 0;
  /// Changes a batch of prepared samples as a whole, in memory of the host; a function of the draw
  /// and the batch's number.
  virtual void mix(Batch& /*batch*/, const Draw& /*draw*/) const {}
  /// The sample for people to look at. Throws FileError.
  virtual Sample get(std::int64_t i) const = 0;
  /// A sample with its stacked tensors allocated in host memory, ready for prepare().
  Sample blank() const;

  /// The length by which samples are grouped into batches (plan.h); 0 where all are equal.
  virtual std::int64_t length(std::int64_t /*i*/) const { return 0; }
  /// Shuffled samples are sorted by length within this many batches; 0: not sorted.
  virtual std::int64_t bucket_batches() const { return 0; }
  /// How often a training epoch takes a sample (PlanOptions::repeats).
  virtual std::int64_t repeats() const { return 1; }
  /// Samples that an epoch of training draws with replacement; 0: every sample once.
  virtual std::int64_t draws_per_epoch() const { return 0; }
  /// The samples as evaluations see them; null: no different.
  virtual std::shared_ptr<const Dataset> for_evaluation() const { return nullptr; }
  /// Whether a sample that prepare() cannot read is left out of its batch.
  virtual bool skips_bad_samples() const { return false; }

  /// The grid of types and levels that a robustness evaluation walks through.
  const Noise& eval_noise() const { return eval_noise_; }
  /// Every type of noise there is.
  const std::vector<std::string>& noise_types() const { return noise_types_; }

  /// What all samples have in common, which weights keep beside them so that they serve without the
  /// data (described/sample_infos.h): {"images": {...}}.
  virtual schema::Value description() const = 0;
  /// Other files that belong to the weights, e.g. a vocabulary: name and text.
  virtual std::map<std::string, std::string> weight_files() const { return {}; }
  /// Throws FileError if such files from `folder`, where weights lie, do not fit this data set.
  virtual void check_weight_files(const std::map<std::string, std::string>& /*files*/,
                                  const std::string& /*folder*/) const {}

 protected:
  Dataset(std::shared_ptr<const Part> part, Split split, const SplitOptions& options,
          const NoiseBySplit& noise, const NoiseKind& kind);

  /// Sets indices_ to the good samples among `indices`, and left_out_ to the messages of the
  /// others. Throws FileError for a bad sample unless skips_bad_samples(), and where no sample is
  /// left.
  void choose(const std::vector<std::int64_t>& indices);
  /// The stream of one sample in one epoch, or of one of its repeats.
  RandomStream stream(const Draw& draw, std::int64_t source_index) const;
  /// The stream of one batch.
  RandomStream batch_stream(const Draw& draw, std::int64_t number) const;
  const Noise& train_noise() const { return train_noise_; }
  const Device& host() const { return host_; }

  std::vector<std::int64_t> indices_;  // of the samples of the part, ascending
  std::vector<std::string> left_out_;
  std::vector<std::string> own_notes_;  // besides those of the part

 private:
  std::size_t place(std::int64_t i) const { return static_cast<std::size_t>(source_index(i)); }

  std::shared_ptr<const Part> part_;
  Split split_;
  std::string root_;
  Noise train_noise_, eval_noise_;
  std::vector<std::string> noise_types_;
  Device host_;  // memory of samples that are not part of a batch
};

/// The parts of one data set; any may be null.
struct Splits {
  std::shared_ptr<const Dataset> train, val, test;
  /// The data set without samples, where no part is open (OpenParts::kNone); else null.
  std::shared_ptr<const Dataset> described = nullptr;
  /// Notes for the user on how the parts were made.
  std::vector<std::string> notes = {};

  /// Null for a part that is not there.
  const std::shared_ptr<const Dataset>& find(Split split) const;
  /// Throws ConfigError for a part that is not there.
  const Dataset& at(Split split) const;
  /// All parts that exist; none of a data set that is described alone.
  std::vector<std::shared_ptr<const Dataset>> all() const;
  /// The notes of all parts, each once.
  std::vector<std::string> all_notes() const;
  /// For what all parts share. It may have no samples.
  const Dataset& any() const { return train ? *train : val ? *val : test ? *test : *described; }
};

}  // namespace fovea::data
