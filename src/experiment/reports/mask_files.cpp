#include "experiment/reports/mask_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/csv_field.h"
#include "base/distinct_names.h"
#include "base/error.h"
#include "base/file.h"
#include "ops/conv/convolution.h"
#include "ops/elementwise.h"
#include "tensor/safetensors.h"
#include "training/tasks/segmentation/segmentation_cases.h"
#include "training/tasks/task.h"

namespace fovea::experiment {
namespace {

constexpr const char* kMasks = "predicted_masks";
constexpr const char* kOriginal = "predicted_masks_original";
constexpr const char* kVolumes = "predicted_volumes";
constexpr float kForeground = 0.5f;

}  // namespace

data::Image cut_at_half(const Tensor& prob, std::int64_t height, std::int64_t width,
                        const MaskFinish& finish) {
  const bool fits = prob.size(2) == height && prob.size(3) == width;
  const Tensor sized =
      fits ? prob : ops::resize(prob, {height, width}, ops::Interpolation::kLinear);
  data::Image mask{height, width, 1, {}};
  for (const float p : sized.host_values<float>()) mask.pixels.push_back(p >= kForeground ? 1 : 0);
  if (!finish.how.empty())
    training::postprocess(finish.how, mask.pixels,
                          {{height, width}, finish.spacing.value_or(std::vector<double>())});
  for (std::uint8_t& pixel : mask.pixels) pixel = pixel != 0 ? 255 : 0;
  return mask;
}

data::Image label_picture(const Tensor& given, const std::vector<int>& values,
                          const MaskFinish& finish) {
  const Tensor labels =
      training::postprocessed(finish.how, given, {given.size(-2), given.size(-1)}, finish.spacing);
  const bool deep = *std::max_element(values.begin(), values.end()) > 255;
  data::Image picture{labels.size(-2), labels.size(-1), 1, {}};
  for (const std::int64_t label : labels.host_values<std::int64_t>()) {
    const int value = values[static_cast<std::size_t>(label)];
    if (deep) {
      picture.deep.push_back(static_cast<std::uint16_t>(value));
    } else {
      picture.pixels.push_back(static_cast<std::uint8_t>(value));
    }
  }
  return picture;
}

std::vector<std::string> MaskFiles::words() {
  return {"masks", "original_masks", "volumes", "probabilities", "probabilities.safetensors"};
}

MaskFiles::MaskFiles(const training::BatchSource& source, data::Split split,
                     std::filesystem::path folder, const std::set<std::string>& wanted,
                     const training::Postprocessing& postprocessing, std::vector<int> label_values)
    : source_(source),
      postprocessing_(postprocessing),
      split_(split),
      folder_(std::move(folder)),
      masks_(wanted.contains("masks")),
      original_masks_(wanted.contains("original_masks")),
      volumes_(wanted.contains("volumes")),
      probabilities_(wanted.contains("probabilities") ||
                     wanted.contains("probabilities.safetensors")),
      label_values_(std::move(label_values)) {
  if (volumes_) volume_files_.emplace(images(), folder_ / kVolumes, label_values_);
  if (!masks_ && !original_masks_) return;
  stems_ = stems_of_samples();
  if (masks_) io::make_directories(folder_ / kMasks);
  if (original_masks_) io::make_directories(folder_ / kOriginal);
}

std::string MaskFiles::file_of(std::int64_t sample) const {
  return stems_[static_cast<std::size_t>(sample)] + ".png";
}

const data::ImageDataset& MaskFiles::images() const { return data::images_of(source_.at(split_)); }

std::vector<std::string> MaskFiles::stems_of_samples() const {
  std::vector<std::string> names;
  const std::int64_t samples = source_.at(split_).size();
  for (std::int64_t i = 0; i < samples; ++i) {
    const auto slice = images().slice_of(i);
    names.push_back(slice ? fmt::format("{}_slice{:03}", slice->volume, slice->place) : name_of(i));
  }
  return distinct_stems(names);
}

MaskFinish MaskFiles::finish_of(const data::Geometry& plane, std::int64_t height,
                                std::int64_t width) const {
  return {postprocessing_, training::pixel_spacing(plane, {height, width})};
}

void MaskFiles::add_original(const Tensor& prob, const Tensor& labels, const data::Geometry& plane,
                             std::int64_t sample) {
  const std::int64_t height = plane.original_size.at(0), width = plane.original_size.at(1);
  const auto write = [&](const data::Image& picture) {
    data::write_png(folder_ / kOriginal / file_of(sample), picture);
  };
  if (label_values_.empty()) {
    if (original_masks_) write(cut_at_half(prob, height, width, finish_of(plane, height, width)));
    return;
  }
  const Tensor original = images().at_original(labels, height, width);
  if (original_masks_)
    write(label_picture(original, label_values_, finish_of(plane, height, width)));
  if (volume_files_) volume_files_->add(sample, original);
}

void MaskFiles::add(const data::Batch& batch, const Tensor& given, const Tensor& labels) {
  const Tensor prob = ops::cast(given, DType::kFloat32);
  for (std::int64_t i = 0; i < batch.size(); ++i) {
    const Tensor one = prob.rows(i, i + 1);
    const Tensor own = labels.defined() ? labels.rows(i, i + 1) : Tensor();
    const auto place = static_cast<std::size_t>(i);
    const std::int64_t sample = batch.indices[place];
    const data::Geometry plane =
        place < batch.geometry.size() ? batch.geometry[place].in_plane() : data::Geometry{};
    if (masks_) {
      const MaskFinish finish = finish_of(plane, prob.size(2), prob.size(3));
      data::write_png(folder_ / kMasks / file_of(sample),
                      label_values_.empty() ? cut_at_half(one, prob.size(2), prob.size(3), finish)
                                            : label_picture(own, label_values_, finish));
    }
    if (original_masks_ || volumes_) add_original(one, own, plane, sample);
  }
  indices_.insert(indices_.end(), batch.indices.begin(), batch.indices.end());
  if (!probabilities_) return;
  const Shape size{prob.size(1), prob.size(2), prob.size(3)};
  FOVEA_CHECK(sample_.rank() == 0 || sample_ == size, ConfigError,
              fmt::format("--save probabilities: maps of {} and of {} do not fit into one tensor; "
                          "save masks or original_masks",
                          to_string(sample_), to_string(size)));
  sample_ = size;
  host_ = prob.device();
  const auto values = prob.host_values<float>();
  values_.insert(values_.end(), values.begin(), values.end());
}

void MaskFiles::write_index(const std::string& folder) const {
  std::vector<std::int64_t> sorted = indices_;
  std::sort(sorted.begin(), sorted.end());
  std::string text = "index,name,file\n";
  for (const std::int64_t i : sorted)
    text += fmt::format("{},{},{}\n", i, csv_field(name_of(i)), csv_field(file_of(i)));
  io::write_atomic(folder_ / folder / "index.csv", text);
}

std::vector<std::string> MaskFiles::finish() {
  std::vector<std::string> files;
  for (const auto& [asked, folder] :
       {std::pair{masks_, kMasks}, std::pair{original_masks_, kOriginal}}) {
    if (!asked) continue;
    write_index(folder);
    files.emplace_back(folder);
  }
  if (volume_files_) {
    volume_files_->finish();
    files.emplace_back(kVolumes);
  }
  if (!probabilities_) return files;
  const auto order = training::ascending(indices_);
  const auto floats = static_cast<std::ptrdiff_t>(sample_.numel());
  std::vector<float> sorted;
  std::vector<std::string> names;
  for (const std::size_t i : order) {
    const auto first = values_.begin() + static_cast<std::ptrdiff_t>(i) * floats;
    sorted.insert(sorted.end(), first, first + floats);
    names.push_back(name_of(indices_[i]));
  }
  const std::int64_t n = std::ssize(order);
  TensorFile content;
  content.tensors = {
      {"probabilities", Tensor::from(sorted, {n, sample_[0], sample_[1], sample_[2]}, host_)},
      {"index", Tensor::from(training::reordered(indices_, order), {n}, host_)}};
  content.metadata = {{"names", schema::Value::array(names).dump(0)},
                      {"classes", schema::Value::array(source_.class_names()).dump(0)}};
  files.emplace_back("probabilities.safetensors");
  write_safetensors(folder_ / files.back(), content);
  return files;
}

}  // namespace fovea::experiment
