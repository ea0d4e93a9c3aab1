#include "data/dataset.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <set>
#include <utility>

#include "base/error.h"

namespace fovea::data {

bool Draw::in_last(double share) const {
  return place >=
         static_cast<std::int64_t>(std::nearbyint(static_cast<double>(batch_size) * (1 - share)));
}

Dataset::Dataset(std::shared_ptr<const Part> part, Split split, const SplitOptions& options,
                 const NoiseBySplit& noise, const NoiseKind& kind)
    : part_(std::move(part)),
      split_(split),
      root_(options.root),
      train_noise_(resolved(noise.train, kind)),
      eval_noise_(resolved(noise.eval, kind)),
      noise_types_(kind.types),
      host_(DeviceType::kCpu, heap_memory(), nullptr) {
  // Scores, tables and files go by these names, also where a description brings them.
  std::set<std::string> names;
  for (const std::string& name : class_names()) {
    FOVEA_CHECK(!name.empty(), FileError,
                fmt::format("dataset: class {} has an empty name; expected a name", names.size()));
    FOVEA_CHECK(
        names.insert(name).second, FileError,
        fmt::format("dataset: two classes are called \"{}\"; expected names that differ", name));
  }
}

std::vector<std::string> Dataset::notes() const {
  std::vector<std::string> all = part_->notes();
  all.insert(all.end(), own_notes_.begin(), own_notes_.end());
  return all;
}

void Dataset::choose(const std::vector<std::int64_t>& indices) {
  std::vector<bool> bad(static_cast<std::size_t>(part_->size()), false);
  for (const Problem& problem : part_->problems()) {
    if (!std::binary_search(indices.begin(), indices.end(), problem.index)) continue;
    FOVEA_CHECK(skips_bad_samples(), FileError, problem.message);
    if (!bad[static_cast<std::size_t>(problem.index)]) left_out_.push_back(problem.message);
    bad[static_cast<std::size_t>(problem.index)] = true;
  }
  for (const std::int64_t i : indices) {
    if (!bad[static_cast<std::size_t>(i)]) indices_.push_back(i);
  }
  FOVEA_CHECK(!indices_.empty() || part_->is_described(), FileError,
              fmt::format("dataset: split {} is left without samples{}", name_of(split_),
                          left_out_.empty() ? "" : "; the first bad one: " + left_out_.front()));
}

std::int64_t Dataset::source_index(std::int64_t i) const {
  FOVEA_CHECK(i >= 0 && i < size(), ShapeError, fmt::format("dataset: sample {} of {}", i, size()));
  return indices_[static_cast<std::size_t>(i)];
}

bool Dataset::has(std::string_view field) const {
  return std::any_of(fields().begin(), fields().end(),
                     [&](const Field& f) { return f.name == field; });
}

Sample Dataset::blank() const {
  Sample sample;
  for (const Field& field : fields()) {
    if (field.rule == Collate::kStack)
      sample.set(field.name, Tensor::empty(field.shape, field.dtype, host_));
  }
  return sample;
}

RandomStream Dataset::stream(const Draw& draw, std::int64_t source_index) const {
  const RandomStream sample = RandomStream(draw.seed)
                                  .fork("data")
                                  .fork(name_of(split_))
                                  .fork(static_cast<std::uint64_t>(draw.epoch))
                                  .fork(static_cast<std::uint64_t>(source_index));
  return draw.copy == 0 ? sample : sample.fork("copy").fork(static_cast<std::uint64_t>(draw.copy));
}

RandomStream Dataset::batch_stream(const Draw& draw, std::int64_t number) const {
  return RandomStream(draw.seed)
      .fork("batches")
      .fork(name_of(split_))
      .fork(static_cast<std::uint64_t>(draw.epoch))
      .fork(static_cast<std::uint64_t>(number));
}

const std::shared_ptr<const Dataset>& Splits::find(Split split) const {
  return split == Split::kTrain ? train : split == Split::kVal ? val : test;
}

const Dataset& Splits::at(Split split) const {
  const std::shared_ptr<const Dataset>& found = find(split);
  if (found == nullptr) no_split(split);
  return *found;
}

std::vector<std::shared_ptr<const Dataset>> Splits::all() const {
  std::vector<std::shared_ptr<const Dataset>> parts;
  for (const auto& part : {train, val, test}) {
    if (part != nullptr) parts.push_back(part);
  }
  return parts;
}

std::vector<std::string> Splits::all_notes() const {
  std::vector<std::string> found = notes;
  for (const auto& part : all()) {
    for (const std::string& note : part->notes()) {
      // Splits may lie in one folder.
      if (std::find(found.begin(), found.end(), note) == found.end()) found.push_back(note);
    }
  }
  return found;
}

}  // namespace fovea::data
