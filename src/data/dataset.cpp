#include "data/dataset.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <utility>

#include "base/error.h"

namespace fovea::data {
namespace {

std::vector<double> one_per_channel(const char* key, const std::vector<double>& given,
                                    const std::vector<double>& standard, std::int64_t channels) {
  const std::vector<double>& values = given.empty() ? standard : given;
  const auto count = static_cast<std::size_t>(channels);
  if (values.size() == 1) return std::vector<double>(count, values[0]);
  FOVEA_CHECK(values.size() == count, ConfigError,
              fmt::format("dataset.{}: {} values for images of {} channels; give {} or 1", key,
                          values.size(), channels, channels));
  return values;
}

}  // namespace

// Decoded pixels by source index. A slot is claimed by one thread, filled, then published; until
// then others decode for themselves, so nobody waits and the content cannot depend on timing.
struct Dataset::Cache {
  enum State : std::uint8_t { kEmpty, kClaimed, kFilled };
  Cache(std::int64_t samples, std::int64_t bytes)
      : states(static_cast<std::size_t>(samples)), images(states.size()), left(bytes) {}

  std::vector<std::atomic<std::uint8_t>> states;
  std::vector<Decoded> images;
  std::atomic<std::int64_t> left;

  const Decoded* find(std::int64_t index) const {
    const auto i = static_cast<std::size_t>(index);
    return states[i].load(std::memory_order_acquire) == kFilled ? &images[i] : nullptr;
  }

  void keep(std::int64_t index, Decoded&& image) {
    const auto i = static_cast<std::size_t>(index);
    std::uint8_t expected = kEmpty;
    if (!states[i].compare_exchange_strong(expected, kClaimed)) return;
    const std::int64_t bytes = image.image.bytes() + image.mask.bytes();
    if (left.fetch_sub(bytes) < bytes) {
      left.fetch_add(bytes);
      states[i].store(kEmpty);
      return;
    }
    images[i] = std::move(image);
    states[i].store(kFilled, std::memory_order_release);
  }
};

Dataset::Dataset(std::shared_ptr<const Source> source, Split split,
                 std::vector<std::int64_t> indices, CommonOptions options)
    : source_(std::move(source)),
      split_(split),
      options_(std::move(options)),
      train_noise_(make_noise(options_.noise.train)),
      eval_noise_(make_noise(options_.noise.eval)) {
  for (const schema::Component& transform : options_.augment) {
    augment_.push_back(make_transform(transform, "dataset.augment"));
  }
  const SourceInfo& info = source_->info();
  cuts_files_ =
      info.own_sizes && split_ == Split::kTrain && !augment_.empty() && augment_[0]->cuts();
  mean_ = {0.0};
  std_ = {1.0};
  if (options_.normalise) {
    mean_ = options_.mean.empty() ? info.mean : options_.mean;
    std_ = options_.std.empty() ? info.std : options_.std;
  }
  mean_ = one_per_channel("mean", mean_, {0.0}, info.channels);
  std_ = one_per_channel("std", std_, {1.0}, info.channels);
  for (const double value : std_) {
    FOVEA_CHECK(value > 0.0, ConfigError,
                fmt::format("dataset.std: holds {}; every value must be above 0", value));
  }
  std::vector<bool> bad(static_cast<std::size_t>(source_->size()), false);
  for (const Problem& problem : source_->problems()) {
    if (!std::binary_search(indices.begin(), indices.end(), problem.index)) continue;
    FOVEA_CHECK(options_.on_bad_sample == OnBadSample::kSkip, FileError, problem.message);
    bad[static_cast<std::size_t>(problem.index)] = true;
    left_out_.push_back(problem.message);
  }
  for (const std::int64_t i : indices) {
    if (!bad[static_cast<std::size_t>(i)]) indices_.push_back(i);
  }
  FOVEA_CHECK(!indices_.empty(), FileError,
              fmt::format("dataset: split {} is left without samples", name_of(split_)));
  source_->check_targets(indices_, split_);
  if (!source_->in_memory() && options_.cache_bytes > 0) {
    cache_ = std::make_unique<Cache>(source_->size(), options_.cache_bytes);
  }
}

Dataset::~Dataset() = default;

std::int64_t Dataset::source_index(std::int64_t i) const {
  FOVEA_CHECK(i >= 0 && i < size(), ShapeError, fmt::format("dataset: sample {} of {}", i, size()));
  return indices_[static_cast<std::size_t>(i)];
}

std::int64_t Dataset::label(std::int64_t i) const {
  return source_->labels()[static_cast<std::size_t>(source_index(i))];
}

std::string Dataset::name(std::int64_t i) const { return source_->name(source_index(i)); }

const Dataset::Decoded& Dataset::decode(std::int64_t source_index, Decoded& fresh) const {
  const Decoded* known = cache_ ? cache_->find(source_index) : nullptr;
  if (known != nullptr) return *known;
  fresh.image = source_->read(source_index);
  if (source_->info().own_sizes && !cuts_files_) fresh.image = source_->fitted(fresh.image);
  if (has_masks()) fresh.mask = source_->read_mask(source_index, fresh.image);
  return fresh;
}

void Dataset::keep(std::int64_t source_index, Decoded&& fresh) const {
  if (cache_ && fresh.image.bytes() > 0) cache_->keep(source_index, std::move(fresh));
}

void Dataset::read_scaled(std::int64_t source_index, const TransformContext* cut,
                          float* out) const {
  Decoded fresh;
  const Image& decoded = decode(source_index, fresh).image;
  Image fitted;
  if (cut != nullptr) {
    const Box box = augment_[0]->cut(decoded.height, decoded.width, *cut);
    fitted = resize(crop(decoded, box), height(), width(), source_->info().fit.resize);
  } else if (cuts_files_) {
    fitted = source_->fitted(decoded);
  }
  scale(cuts_files_ ? fitted : decoded, source_->info().pixel_max, out);
  keep(source_index, std::move(fresh));
}

void Dataset::scale(const Image& image, float white, float* out) const {
  const Planes planes{channels(), height(), width(), out};
  to_planes(image, white, planes);
  if (source_->info().stretch) stretch(planes);
}

Sample Dataset::get(std::int64_t i) const {
  Sample sample{{}, {}, label(i), name(i)};
  sample.image.resize(static_cast<std::size_t>(sample_size()));
  if (has_masks()) {
    sample.mask.resize(static_cast<std::size_t>(target_shape().numel()));
    read_pair(source_index(i), nullptr, sample.image.data(), sample.mask.data());
  } else {
    read_scaled(source_index(i), nullptr, sample.image.data());
  }
  return sample;
}

Sample Dataset::get_file(const std::filesystem::path& file) const {
  constexpr float kWhite = 255.0f;
  Sample sample{{}, {}, 0, file.string()};
  sample.image.resize(static_cast<std::size_t>(sample_size()));
  const Image image = source_->read_file(file);
  if (has_masks()) {
    scale_whole(image, kWhite, sample.image.data());
  } else {
    scale(source_->fitted(image), kWhite, sample.image.data());
  }
  return sample;
}

void Dataset::prepare(std::int64_t i, const Draw& draw, float* image, float* mask) const {
  const std::int64_t index = source_index(i);
  const RandomStream stream = RandomStream(draw.seed)
                                  .fork("data")
                                  .fork(name_of(split_))
                                  .fork(static_cast<std::uint64_t>(draw.epoch))
                                  .fork(static_cast<std::uint64_t>(index));
  const RandomStream augment = stream.fork("augment");
  const Planes x{channels(), height(), width(), image};
  if (has_masks()) {
    read_pair(index, draw.augment ? &augment : nullptr, image, mask);
  } else {
    const bool cut = draw.augment && cuts_files_;
    const TransformContext first{augment.fork(std::uint64_t{0}), mean_};
    read_scaled(index, cut ? &first : nullptr, image);
    for (std::size_t k = cut ? 1 : 0; draw.augment && k < augment_.size(); ++k) {
      augment_[k]->apply(x, {augment.fork(k), mean_});
    }
  }
  if (draw.augment) apply_noise(x, train_noise_, stream.fork("noise"));
  if (draw.corruption) corrupt(x, *draw.corruption, stream.fork("noise"), eval_noise_.fill);
  if (options_.normalise) normalise(x, mean_, std_);
}

void Dataset::prepare(std::int64_t i, const Draw& draw, const Tensor& images, const Tensor& targets,
                      std::int64_t row) const {
  float* image = images.data<float>() + row * sample_size();
  if (has_masks()) {
    prepare(i, draw, image, targets.data<float>() + row * target_shape().numel());
  } else {
    prepare(i, draw, image);
    targets.data<std::int64_t>()[row] = label(i);
  }
}

}  // namespace fovea::data
