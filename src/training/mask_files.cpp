#include "training/mask_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/csv_field.h"
#include "base/distinct_names.h"
#include "base/error.h"
#include "base/file.h"
#include "data/image_file.h"
#include "ops/convolution.h"
#include "ops/elementwise.h"
#include "tensor/safetensors.h"
#include "training/data_task.h"

namespace fovea::training {
namespace {

constexpr const char* kMasks = "predicted_masks";
constexpr const char* kOriginal = "predicted_masks_original";
constexpr float kForeground = 0.5f;

}  // namespace

std::vector<std::string> MaskFiles::words() {
  return {"masks", "original_masks", "probabilities", "probabilities.safetensors"};
}

MaskFiles::MaskFiles(const BatchSource& source, std::string split, std::filesystem::path folder,
                     const std::set<std::string>& wanted)
    : source_(source),
      split_(std::move(split)),
      folder_(std::move(folder)),
      masks_(wanted.contains("masks")),
      original_masks_(wanted.contains("original_masks")),
      probabilities_(wanted.contains("probabilities") ||
                     wanted.contains("probabilities.safetensors")) {
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

void MaskFiles::write_mask(const std::filesystem::path& file, const Tensor& prob) const {
  data::Image mask{prob.size(2), prob.size(3), 1, {}};
  for (const float p : prob.host_values<float>()) mask.pixels.push_back(p >= kForeground ? 255 : 0);
  data::write_png(file, mask);
}

void MaskFiles::add(const Tensor& given, const std::vector<std::int64_t>& indices) {
  const Tensor prob = ops::cast(given, DType::kFloat32);
  FOVEA_CHECK(
      prob.rank() == 4 && prob.size(1) == 1, ShapeError,
      fmt::format("--save: the network gives {}; expected (b, 1, h, w)", to_string(prob.shape())));
  for (std::int64_t i = 0; i < prob.size(0); ++i) {
    const Tensor one = prob.rows(i, i + 1);
    const std::int64_t sample = indices[static_cast<std::size_t>(i)];
    if (masks_) write_mask(folder_ / kMasks / file_of(sample), one);
    if (original_masks_) {
      const data::Image image = data::read_image(name_of(sample));
      write_mask(folder_ / kOriginal / file_of(sample),
                 ops::resize(one, {image.height, image.width}, ops::Interpolation::kLinear));
    }
  }
  indices_.insert(indices_.end(), indices.begin(), indices.end());
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
  content.metadata = {{"names", schema::Value::array(names).dump(0)}};
  files.emplace_back("probabilities.safetensors");
  write_safetensors(folder_ / files.back(), content);
  return files;
}

}  // namespace fovea::training
