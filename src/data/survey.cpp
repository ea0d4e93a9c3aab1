#include "data/survey.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstddef>
#include <exception>
#include <mutex>
#include <thread>
#include <utility>

#include "base/error.h"
#include "data/audio/speech_dataset.h"
#include "data/boxes/box_dataset.h"
#include "data/identity.h"
#include "data/streams/stream_dataset.h"
#include "data/texts/vocabulary.h"
#include "data/volumes/volume_regions.h"

namespace fovea::data {
namespace {

// Sums over some samples of a part.
struct Tally {
  PartSurvey found;
  std::vector<double> sums, squares;  // of each channel
  double pixels = 0;                  // of one channel
  double mask_sum = 0, mask_pixels = 0;

  void add(const Sample& sample, std::size_t classes);
  void add(Tally&& later);

 private:
  void add_image(const Tensor& image, const std::string& name);
  void add_soft_mask(const Tensor& mask);
  void add_labels(const Tensor& mask, std::size_t classes);
  void add_tokens(const Tensor& tokens);
  void add_objects(const Sample& sample, std::size_t classes);
  void add_stream(const Sample& sample);
};

void Tally::add_image(const Tensor& image, const std::string& name) {
  const std::int64_t plane = image.numel() / image.size(0);  // or a volume
  sums.resize(static_cast<std::size_t>(image.size(0)), 0.0);
  squares.resize(sums.size(), 0.0);
  const float* value = image.data<float>();
  for (std::size_t c = 0; c < sums.size(); ++c) {
    double sum = 0, square = 0;
    for (std::int64_t p = 0; p < plane; ++p, ++value) {
      sum += double{*value};
      square += double{*value} * double{*value};
    }
    sums[c] += sum;
    squares[c] += square;
  }
  pixels += static_cast<double>(plane);
  const auto all = image.values<float>();
  const auto [low, high] = std::minmax_element(all.begin(), all.end());
  if (*low == *high) found.constant.push_back(name);
  if (image.rank() == 4) found.prepared.push_back({image.size(1), image.size(2), image.size(3)});
}

void Tally::add_soft_mask(const Tensor& mask) {
  double sum = 0;
  for (const float value : mask.values<float>()) sum += double{value};
  mask_sum += sum;
  mask_pixels += static_cast<double>(mask.numel());
  found.empty_masks += sum == 0 ? 1 : 0;
}

void Tally::add_labels(const Tensor& mask, std::size_t classes) {
  std::vector<std::int64_t> counts(classes, 0);
  for (const std::int64_t label : mask.values<std::int64_t>()) {
    if (label == kIgnoreLabel) {
      ++found.ignored;
    } else {
      ++counts[static_cast<std::size_t>(label)];
    }
  }
  found.labels.resize(classes, 0);
  for (std::size_t c = 0; c < classes; ++c) found.labels[c] += counts[c];
  const auto present = std::count_if(counts.begin(), counts.end(), [](auto n) { return n > 0; });
  found.empty_masks += present < 2 ? 1 : 0;
}

void Tally::add_tokens(const Tensor& tokens) {
  const auto ids = tokens.values<std::int64_t>();
  found.lengths.push_back(std::ssize(ids));
  found.unknown += std::count(ids.begin(), ids.end(), Vocabulary::kUnknown);
}

void Tally::add_stream(const Sample& sample) {
  const auto next = sample.at("next").values<std::int64_t>();
  if (!found.stream) found.stream.emplace();
  found.stream->tokens +=
      std::ssize(next) - std::count(next.begin(), next.end(), StreamDataset::kNoToken);
  found.stream->bytes += sample.at("bytes").item<std::int64_t>();
}

void Tally::add_objects(const Sample& sample, std::size_t classes) {
  constexpr float kSmall = 32 * 32, kMedium = 96 * 96;
  ObjectSurvey one;
  one.per_class.resize(classes, 0);
  for (const std::int64_t label : sample.at("labels").values<std::int64_t>())
    ++one.per_class[static_cast<std::size_t>(label)];
  for (const std::uint8_t crowd : sample.at("crowd").values<std::uint8_t>()) one.crowds += crowd;
  for (const float area : sample.at("area").values<float>())
    ++one.by_size[area <= kSmall ? 0 : area <= kMedium ? 1 : 2];
  one.most = sample.at("labels").numel();
  one.empty_images = one.most == 0 ? 1 : 0;
  if (!found.objects) found.objects.emplace();
  found.objects->add(one);
}

void Tally::add(const Sample& sample, std::size_t classes) {
  ++found.samples;
  if (!sample.geometry.original_size.empty()) ++found.sizes[sample.geometry.original_size];
  if (const Tensor* image = sample.find("image")) add_image(*image, sample.name);
  if (sample.has("next")) {
    add_stream(sample);
  } else if (const Tensor* tokens = sample.find("tokens")) {
    add_tokens(*tokens);
  }
  if (sample.has("boxes")) add_objects(sample, classes);
  if (const Tensor* label = sample.find("label")) {
    found.per_class.resize(classes, 0);
    ++found.per_class[static_cast<std::size_t>(label->item<std::int64_t>())];
  }
  const Tensor* mask = sample.find("mask");
  if (mask == nullptr) return;
  if (mask->dtype() == DType::kInt64) {
    add_labels(*mask, classes);
  } else {
    add_soft_mask(*mask);
  }
}

template <class T>
void add_lists(std::vector<T>& to, const std::vector<T>& from) {
  to.resize(std::max(to.size(), from.size()), T{});
  for (std::size_t i = 0; i < from.size(); ++i) to[i] += from[i];
}

template <class T>
void append(std::vector<T>& to, const std::vector<T>& from) {
  to.insert(to.end(), from.begin(), from.end());
}

void Tally::add(Tally&& later) {
  found.samples += later.found.samples;
  append(found.bad, later.found.bad);
  add_lists(found.per_class, later.found.per_class);
  for (const auto& [size, samples] : later.found.sizes) found.sizes[size] += samples;
  add_lists(found.labels, later.found.labels);
  found.ignored += later.found.ignored;
  found.empty_masks += later.found.empty_masks;
  if (later.found.objects) {
    if (!found.objects) found.objects.emplace();
    found.objects->add(*later.found.objects);
  }
  if (later.found.stream) {
    if (!found.stream) found.stream.emplace();
    found.stream->tokens += later.found.stream->tokens;
    found.stream->bytes += later.found.stream->bytes;
  }
  append(found.constant, later.found.constant);
  append(found.prepared, later.found.prepared);
  append(found.lengths, later.found.lengths);
  found.unknown += later.found.unknown;
  add_lists(sums, later.sums);
  add_lists(squares, later.squares);
  pixels += later.pixels;
  mask_sum += later.mask_sum;
  mask_pixels += later.mask_pixels;
}

PartSurvey finished(Tally&& total) {
  PartSurvey found = std::move(total.found);
  std::sort(found.lengths.begin(), found.lengths.end());
  for (std::size_t c = 0; c < total.sums.size(); ++c) {
    const double mean = total.sums[c] / total.pixels;
    found.mean.push_back(mean);
    found.std.push_back(std::sqrt(std::max(0.0, total.squares[c] / total.pixels - mean * mean)));
  }
  if (total.mask_pixels > 0) found.foreground = total.mask_sum / total.mask_pixels;
  return found;
}

// The samples of a part in fixed pieces, so that sums do not depend on who adds what.
class Reader {
 public:
  explicit Reader(const Dataset& part)
      : part_(part), tallies_(static_cast<std::size_t>((part.size() + kPiece - 1) / kPiece)) {}

  /// Called by every thread; `done` counts samples.
  void work(const std::function<void(std::int64_t)>& done) {
    for (;;) {
      const std::size_t piece = next_++;
      if (piece >= tallies_.size() || stop_) return;
      try {
        read(piece);
      } catch (...) {
        const std::lock_guard lock(mutex_);
        error_ = std::current_exception();
        stop_ = true;
        return;
      }
      const std::lock_guard lock(mutex_);
      done(std::min(kPiece, part_.size() - static_cast<std::int64_t>(piece) * kPiece));
    }
  }

  Tally total() {
    if (error_) std::rethrow_exception(error_);
    Tally total;
    total.found.bad = part_.left_out();
    for (Tally& tally : tallies_) total.add(std::move(tally));
    return total;
  }

 private:
  static constexpr std::int64_t kPiece = 64;

  void read(std::size_t piece) {
    const std::int64_t first = static_cast<std::int64_t>(piece) * kPiece;
    const auto classes = static_cast<std::size_t>(part_.num_classes());
    Tally& tally = tallies_[piece];
    for (std::int64_t i = first; i < std::min(part_.size(), first + kPiece); ++i) {
      try {
        tally.add(part_.get(i), classes);
      } catch (const FileError& error) {
        tally.found.bad.emplace_back(error.what());
      }
    }
  }

  const Dataset& part_;
  std::vector<Tally> tallies_;
  std::atomic<std::size_t> next_ = 0;
  std::atomic<bool> stop_ = false;
  std::mutex mutex_;
  std::exception_ptr error_;
};

}  // namespace

void ObjectSurvey::add(const ObjectSurvey& other) {
  add_lists(per_class, other.per_class);
  crowds += other.crowds;
  most = std::max(most, other.most);
  empty_images += other.empty_images;
  skipped += other.skipped;
  for (std::size_t k = 0; k < by_size.size(); ++k) by_size[k] += other.by_size[k];
}

Survey survey(const Splits& splits, int threads, const SurveyProgress& progress) {
  Survey result;
  result.hash = fingerprint(splits).at("hash").as_string();
  result.class_names = splits.any().class_names();
  std::int64_t done = 0, total = 0;
  for (const auto& part : splits.all()) total += part->size();
  for (const auto& part : splits.all()) {
    Reader reader(*part);
    const auto count = [&](std::int64_t samples) {
      done += samples;
      if (progress) progress(done, total);
    };
    {
      std::vector<std::jthread> others;
      for (int k = 1; k < threads; ++k) others.emplace_back([&] { reader.work(count); });
      reader.work(count);
    }
    result.parts.push_back(finished(reader.total()));
    PartSurvey& found = result.parts.back();
    found.name = name_of(part->split());
    if (const BoxDataset* boxes = find_boxes(*part); boxes != nullptr && found.objects) {
      for (std::int64_t i = 0; i < boxes->size(); ++i)
        found.objects->skipped += boxes->skipped_boxes(i);
    }
    if (const SpeechDataset* speech = find_speech(*part)) found.speech = speech_survey(*speech);
    if (const VolumeDataset* volumes = find_volumes(*part)) {
      found.volumes = fingerprint_of(*volumes, found.prepared);
      result.plan = volumes->plan();
      result.regions = regions_json(volumes->info());
    }
  }
  result.notes = splits.all_notes();
  return result;
}

}  // namespace fovea::data
