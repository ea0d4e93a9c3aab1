#include "training/mask_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/csv_field.h"
#include "base/distinct_names.h"
#include "base/file.h"
#include "data/geometry.h"
#include "ops/convolution.h"
#include "ops/elementwise.h"
#include "tensor/safetensors.h"
#include "training/data_task.h"

namespace fovea::training {
namespace {

constexpr const char* kMasks = "predicted_masks";
constexpr const char* kOriginal = "predicted_masks_original";
constexpr float kForeground = 0.5f;

data::Image cut_at_half(const Tensor& prob, std::int64_t height, std::int64_t width) {
  const bool fits = prob.size(2) == height && prob.size(3) == width;
  const Tensor sized =
      fits ? prob : ops::resize(prob, {height, width}, ops::Interpolation::kLinear);
  data::Image mask{height, width, 1, {}};
  for (const float p : sized.host_values<float>())
    mask.pixels.push_back(p >= kForeground ? 255 : 0);
  return mask;
}

data::Image label_picture(const Tensor& labels, const std::vector<int>& values, std::int64_t height,
                          std::int64_t width) {
  std::vector<float> from, to(static_cast<std::size_t>(height * width));
  for (const std::int64_t label : labels.host_values<std::int64_t>())
    from.push_back(static_cast<float>(label));
  data::resample({1, labels.size(1), labels.size(2), from.data()}, {1, height, width, to.data()},
                 data::Resampling::kNearest);
  const bool deep = *std::max_element(values.begin(), values.end()) > 255;
  data::Image picture{height, width, 1, {}};
  for (const float label : to) {
    const int value = values[static_cast<std::size_t>(label)];
    if (deep) {
      picture.deep.push_back(static_cast<std::uint16_t>(value));
    } else {
      picture.pixels.push_back(static_cast<std::uint8_t>(value));
    }
  }
  return picture;
}

}  // namespace

std::vector<std::string> MaskFiles::words() {
  return {"masks", "original_masks", "probabilities", "probabilities.safetensors"};
}

MaskFiles::MaskFiles(const BatchSource& source, std::string split, std::filesystem::path folder,
                     const std::set<std::string>& wanted, std::vector<int> label_values)
    : source_(source),
      split_(std::move(split)),
      folder_(std::move(folder)),
      masks_(wanted.contains("masks")),
      original_masks_(wanted.contains("original_masks")),
      probabilities_(wanted.contains("probabilities") ||
                     wanted.contains("probabilities.safetensors")),
      label_values_(std::move(label_values)) {
  if (!masks_ && !original_masks_) return;
  std::vector<std::string> names;
  for (std::int64_t i = 0; i < source.at(split_).size(); ++i) names.push_back(name_of(i));
  stems_ = distinct_stems(names);
  if (masks_) io::make_directories(folder_ / kMasks);
  if (original_masks_) io::make_directories(folder_ / kOriginal);
}

std::string MaskFiles::file_of(std::int64_t sample) const {
  return stems_[static_cast<std::size_t>(sample)] + ".png";
}

data::Image MaskFiles::picture_of(const Tensor& prob, const Tensor& labels, std::int64_t height,
                                  std::int64_t width) const {
  return label_values_.empty() ? cut_at_half(prob, height, width)
                               : label_picture(labels, label_values_, height, width);
}

void MaskFiles::add(const data::Batch& batch, const Tensor& given, const Tensor& labels) {
  const Tensor prob = ops::cast(given, DType::kFloat32);
  for (std::int64_t i = 0; i < batch.size(); ++i) {
    const Tensor one = prob.rows(i, i + 1);
    const Tensor own = labels.defined() ? labels.rows(i, i + 1) : Tensor();
    const auto place = static_cast<std::size_t>(i);
    const std::string file = file_of(batch.indices[place]);
    if (masks_)
      data::write_png(folder_ / kMasks / file, picture_of(one, own, prob.size(2), prob.size(3)));
    if (original_masks_) {
      const std::vector<std::int64_t>& size = batch.geometry[place].original_size;
      data::write_png(folder_ / kOriginal / file, picture_of(one, own, size[0], size[1]));
    }
  }
  indices_.insert(indices_.end(), batch.indices.begin(), batch.indices.end());
  if (!probabilities_) return;
  sample_ = {prob.size(1), prob.size(2), prob.size(3)};
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

std::vector<std::string> MaskFiles::finish() const {
  std::vector<std::string> files;
  for (const auto& [asked, folder] :
       {std::pair{masks_, kMasks}, std::pair{original_masks_, kOriginal}}) {
    if (!asked) continue;
    write_index(folder);
    files.emplace_back(folder);
  }
  if (!probabilities_) return files;
  const auto order = ascending(indices_);
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
      {"index", Tensor::from(reordered(indices_, order), {n}, host_)}};
  content.metadata = {{"names", schema::Value::array(names).dump(0)},
                      {"classes", schema::Value::array(source_.class_names()).dump(0)}};
  files.emplace_back("probabilities.safetensors");
  write_safetensors(folder_ / files.back(), content);
  return files;
}

}  // namespace fovea::training
