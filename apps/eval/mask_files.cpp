#include "eval/mask_files.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "common/csv.h"
#include "common/file_names.h"
#include "data/image_file.h"
#include "ops/convolution.h"
#include "ops/elementwise.h"
#include "tensor/safetensors.h"

namespace fovea::apps {
namespace {

constexpr const char* kMasks = "predicted_masks";
constexpr const char* kOriginal = "predicted_masks_original";
constexpr float kForeground = 0.5f;

// Whether the network sees whole images.
bool sees_all(const schema::Value& dataset) {
  const schema::Value* crop = dataset.find("crop_pct");
  return crop == nullptr || crop->is_null() || crop->as_double() == 1.0;
}

}  // namespace

MaskFiles::MaskFiles(const Job& job) : job_(job) {
  if (!job.saves.masks && !job.saves.original_masks) return;
  FOVEA_CHECK(!job.saves.original_masks || sees_all(job.run.experiment().dataset.options),
              ConfigError,
              "--save original_masks: dataset.crop_pct cuts a part out of every image; save masks");
  const data::Dataset& images = job.run.images().images(job.args.split);
  std::vector<std::string> names;
  for (std::int64_t i = 0; i < images.size(); ++i) names.push_back(images.name(i));
  stems_ = distinct_stems(names);
  if (job.saves.masks) io::make_directories(job.out / kMasks);
  if (job.saves.original_masks) io::make_directories(job.out / kOriginal);
}

void MaskFiles::write_mask(const io::fs::path& file, const Tensor& prob) const {
  data::Image mask{prob.size(2), prob.size(3), 1, {}};
  for (const float p : prob.values<float>()) mask.pixels.push_back(p >= kForeground ? 255 : 0);
  data::write_png(file, mask);
}

void MaskFiles::add(const training::DataBatch& batch, const Tensor& given) {
  const Tensor prob = ops::cast(given, DType::kFloat32);
  FOVEA_CHECK(
      prob.rank() == 4 && prob.size(1) == 1, ShapeError,
      fmt::format("--save: the network gives {}; expected (b, 1, h, w)", to_string(prob.shape())));
  for (std::int64_t i = 0; i < prob.size(0); ++i) {
    const Tensor one = prob.rows(i, i + 1);
    const std::int64_t sample = batch.indices[static_cast<std::size_t>(i)];
    if (job_.saves.masks)
      write_mask(job_.out / kMasks / (stems_[static_cast<std::size_t>(sample)] + ".png"), one);
    if (job_.saves.original_masks) {
      const data::Image image = data::read_image(job_.data.sample_name(job_.args.split, sample));
      write_mask(job_.out / kOriginal / (stems_[static_cast<std::size_t>(sample)] + ".png"),
                 ops::resize(one, {image.height, image.width}, ops::Interpolation::kLinear));
    }
  }
  indices_.insert(indices_.end(), batch.indices.begin(), batch.indices.end());
  if (!job_.saves.probabilities()) return;
  sample_ = {prob.size(1), prob.size(2), prob.size(3)};
  host_ = prob.device();
  const auto values = prob.values<float>();
  values_.insert(values_.end(), values.begin(), values.end());
}

void MaskFiles::write_index(const std::string& folder) const {
  std::vector<std::int64_t> sorted = indices_;
  std::sort(sorted.begin(), sorted.end());
  std::string text = "index,name,file\n";
  for (const std::int64_t i : sorted) {
    text += fmt::format("{},{},{}\n", i, csv_field(job_.data.sample_name(job_.args.split, i)),
                        csv_field(stems_[static_cast<std::size_t>(i)] + ".png"));
  }
  io::write_atomic(job_.out / folder / "index.csv", text);
}

std::vector<std::string> MaskFiles::finish() const {
  std::vector<std::string> files;
  for (const auto& [asked, folder] :
       {std::pair{job_.saves.masks, kMasks}, std::pair{job_.saves.original_masks, kOriginal}}) {
    if (!asked) continue;
    write_index(folder);
    files.emplace_back(folder);
  }
  if (!job_.saves.probabilities()) return files;
  const auto order = training::ascending(indices_);
  const auto floats = static_cast<std::ptrdiff_t>(sample_.numel());
  std::vector<float> sorted;
  std::vector<std::string> names;
  for (const std::size_t i : order) {
    const auto first = values_.begin() + static_cast<std::ptrdiff_t>(i) * floats;
    sorted.insert(sorted.end(), first, first + floats);
    names.push_back(job_.data.sample_name(job_.args.split, indices_[i]));
  }
  const std::int64_t n = std::ssize(order);
  TensorFile content;
  content.tensors = {
      {"probabilities", Tensor::from(sorted, {n, sample_[0], sample_[1], sample_[2]}, host_)},
      {"index", Tensor::from(training::reordered(indices_, order), {n}, host_)}};
  content.metadata = {{"names", schema::Value::array(names).dump(0)}};
  files.emplace_back("probabilities.safetensors");
  write_safetensors(job_.out / files.back(), content);
  return files;
}

}  // namespace fovea::apps
