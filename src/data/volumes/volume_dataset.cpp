#include "data/volumes/volume_dataset.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "base/file.h"
#include "data/described/described_parts.h"
#include "data/described/sample_infos.h"
#include "data/identity.h"
#include "data/volumes/volume_cache.h"
#include "data/volumes/volume_headers.h"
#include "data/volumes/volume_regions.h"

namespace fovea::data {
namespace {

constexpr int kCacheVersion = 4;  // of what makes the files in cache_folder

// The values in files for each class, and for ignored voxels.
std::string values_text(const VolumeInfo& info) {
  return fmt::format("{} {}", fmt::join(info.label_values, ","), info.ignore_value.value_or(-1));
}

// The content of a file in cache_folder. A missing or damaged file is made again.
template <class Unpack, class Fresh, class Pack>
auto kept_in(const std::filesystem::path& file, const Unpack& unpack, const Fresh& fresh,
             const Pack& pack) {
  const std::string key = file.stem().string();
  if (io::fs::exists(file)) {
    try {
      const std::vector<std::byte> bytes = io::read_bytes(file);
      return unpack({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, file.string(),
                    key);
    } catch (const FileError&) {
    }
  }
  auto made = fresh();
  io::write_atomic(file, pack(made, key));
  return made;
}

}  // namespace

PreparedVolumes::PreparedVolumes(std::shared_ptr<const VolumePart> part, VolumePlan plan,
                                 const VolumeSetOptions& options)
    : part_(std::move(part)),
      plan_(std::move(plan)),
      folder_(options.cache_folder),
      root_(options.root),
      left_(options.cache_bytes) {
  if (!folder_.empty()) io::make_directories(folder_);
}

std::filesystem::path PreparedVolumes::stored_in(std::int64_t source_index) const {
  const VolumeCase files = part_->files_of(source_index);
  Origin origin{root_, files.images,
                fmt::format("{} {} {}\n{}{}", kCacheVersion, part_->recipe(),
                            values_text(part_->info()), part_->name(source_index), plan_.text()),
                true};
  if (!files.labels.empty()) origin.files.push_back(files.labels);
  return std::filesystem::path(folder_) / (content_hash(origin) + ".safetensors");
}

PreparedVolume PreparedVolumes::prepare(std::int64_t source_index) const {
  const std::size_t classes = part_->class_names().size();
  const std::vector<Region>& regions = part_->info().regions;
  const auto fresh = [&] {
    return prepare_volume(part_->read(source_index), plan_, classes, regions);
  };
  if (folder_.empty()) return fresh();
  return kept_in(
      stored_in(source_index),
      [&](std::string_view bytes, const std::string& name, const std::string& key) {
        return unpack_volume(bytes, name, classes, regions, key);
      },
      fresh, pack_volume);
}

std::shared_ptr<const PreparedVolume> PreparedVolumes::get(std::int64_t source_index) const {
  {
    const std::lock_guard lock(mutex_);
    if (const auto known = kept_.find(source_index); known != kept_.end()) return known->second;
  }
  // Two threads may prepare the same volume; their results are equal.
  auto volume = std::make_shared<const PreparedVolume>(prepare(source_index));
  const std::lock_guard lock(mutex_);
  if (volume->bytes() > left_ || kept_.contains(source_index)) return volume;
  left_ -= volume->bytes();
  kept_.emplace(source_index, volume);
  return volume;
}

VolumeDataset::VolumeDataset(std::shared_ptr<const VolumePart> part, Split split,
                             const std::vector<std::int64_t>& indices,
                             const VolumeSetOptions& options,
                             std::shared_ptr<const PreparedVolumes> prepared, Samples samples)
    : Dataset(part, split, options, {}, {}),
      part_(std::move(part)),
      options_(options),
      prepared_(std::move(prepared)),
      samples_(samples),
      output_names_(data::output_names(part_->info())) {
  const auto& [d, h, w] = options_.img_size;
  const Collate rule = samples_ == Samples::kCrops ? Collate::kStack : Collate::kAlone;
  fields_ = {{"image", DType::kFloat32, rule, {part_->info().channels, d, h, w}},
             {"mask", DType::kInt64, rule, {d, h, w}}};
  choose(indices);
}

schema::Value VolumeDataset::description() const { return description_of(info()); }

void VolumeDataset::note_training(const TrainingVolumes& volumes) {
  for (const Problem& problem : volumes.unreadable()) {
    std::erase(indices_, problem.index);
    left_out_.push_back(problem.message);
  }
  for (std::string& note : volumes.notes()) own_notes_.push_back(std::move(note));
}

void VolumeDataset::note_orientations(const std::vector<VolumeSize>& others) {
  if (options_.canonical) return;
  std::vector<VolumeSize> all = part_->headers();
  all.insert(all.end(), others.begin(), others.end());
  const auto ways = orientations(all);
  if (ways.size() < 2 || ways.size() == orientations(others).size()) return;
  own_notes_.push_back(
      fmt::format("dataset.canonical: is false, and volumes lie in {} ways: {} (of columns, rows, "
                  "slices); axes are taken as files have them; true turns all to RAS",
                  ways.size(), orientations_text(ways)));
}

std::vector<VolumeSize> VolumeDataset::headers() const {
  std::vector<VolumeSize> chosen;
  if (part_->headers().empty()) return chosen;
  for (const std::int64_t i : indices_)
    chosen.push_back(part_->headers()[static_cast<std::size_t>(i)]);
  return chosen;
}

SampleShape VolumeDataset::shape() const {
  return {.channels = part_->info().channels,
          .height = options_.img_size[1],
          .width = options_.img_size[2],
          .classes = std::ssize(output_names_),
          .label_maps = true,
          .depth = options_.img_size[0],
          .regions = !part_->info().regions.empty()};
}

std::shared_ptr<const Dataset> VolumeDataset::for_evaluation() const {
  const auto whole = std::make_shared<VolumeDataset>(part_, split(), indices_, options_, prepared_,
                                                     Samples::kWhole);
  whole->left_out_ = left_out_;
  whole->own_notes_ = own_notes_;
  return whole;
}

void VolumeDataset::write(const PreparedVolume& volume, Sample& into) const {
  const auto [d, h, w] = volume.size;
  into.set("image", Tensor::from(volume.values, {volume.channels, d, h, w}, host()));
  into.set("mask", Tensor::from(sample_labels(volume.labels), {d, h, w}, host()));
  into.geometry.original_size = {volume.place.file.begin(), volume.place.file.end()};
  into.geometry.spacing = {volume.place.spacing.begin(), volume.place.spacing.end()};
}

void VolumeDataset::prepare(std::int64_t i, const Draw& draw, Sample& into) const {
  const auto volume = prepared_->get(source_index(i));
  into.index = i;
  if (samples_ == Samples::kWhole) return write(*volume, into);
  // A sample may be drawn twice in an epoch. Without augmentation it is the same in all epochs.
  const RandomStream draws =
      stream(draw, source_index(i))
          .fork(static_cast<std::uint64_t>(draw.augment ? draw.position : 0));
  const bool foreground = !draw.augment || draw.in_last(options_.foreground);
  const auto first =
      draw_crop(*volume, options_.img_size, foreground,
                draw.augment ? draws.fork("crop") : RandomStream(draw.seed).fork("crop"));
  const VolumeCrop crop = draw.augment && options_.augment
                              ? augmentation_.crop(*volume, options_.img_size, first,
                                                   options_.outside, draws.fork("augment"))
                              : crop_volume(*volume, options_.img_size, first, options_.outside);
  std::copy(crop.values.begin(), crop.values.end(), into.at("image").data<float>());
  std::ranges::copy(sample_labels(crop.labels), into.at("mask").data<std::int64_t>());
  into.geometry.original_size = {volume->place.file.begin(), volume->place.file.end()};
}

Sample VolumeDataset::get(std::int64_t i) const {
  Sample sample;
  sample.index = i;
  sample.name = name(i);
  write(*prepared_->get(source_index(i)), sample);
  return sample;
}

std::map<std::string, std::string> VolumeDataset::weight_files() const {
  std::map<std::string, std::string> files = {{kPlanFile, plan().text()}};
  if (!info().regions.empty()) files[kRegionsFile] = regions_json(info()).dump() + "\n";
  return files;
}

void VolumeDataset::check_weight_files(const std::map<std::string, std::string>& files,
                                       const std::string& folder) const {
  const std::string name = folder + "/" + kPlanFile;
  const auto found = files.find(kPlanFile);
  FOVEA_CHECK(found != files.end(), FileError,
              fmt::format("{}: not found; the checkpoint of a task of volumes has one", name));
  const std::string stored = VolumePlan::parse(found->second, name).text();
  FOVEA_CHECK(stored == plan().text(), FileError,
              fmt::format("{}: volumes were prepared in another way than the data set's are now; "
                          "its training volumes, dataset.spacing or dataset.canonical have changed "
                          "since the weights were trained",
                          name));
  // Weights that were trained on classes have no such file; class names are compared elsewhere.
  if (const auto regions = files.find(kRegionsFile); regions != files.end())
    check_regions(regions->second, info(), folder + "/" + kRegionsFile);
}

std::string VolumeDataset::case_name(std::int64_t i) const { return case_names({name(i)}).front(); }

Tensor VolumeDataset::original_mask(std::int64_t i) const {
  const LabelledVoxels volume = part_->read_labels(source_index(i));
  return Tensor::from(sample_labels(volume.labels), {volume.depth, volume.height, volume.width},
                      host());
}

Tensor VolumeDataset::labels_at_original(const Tensor& prob, std::int64_t i) const {
  const VolumePlace where = place(i);
  const auto labels = labels_on_file(prob.host_values<float>(), info(),
                                     {prob.size(1), prob.size(2), prob.size(3)}, where);
  return Tensor::from(std::vector<std::int64_t>(labels.begin(), labels.end()),
                      {where.file[0], where.file[1], where.file[2]}, host());
}

const VolumeDataset* find_volumes(const Dataset& dataset) {
  return dynamic_cast<const VolumeDataset*>(&dataset);
}

const schema::Fields<VolumeSetOptions>& VolumeSetOptions::keys() {
  using O = VolumeSetOptions;
  static const auto keys =
      schema::Fields<O>{}
          .include(split_fields())
          .add("img_size", &O::img_size, schema::at_least(1),
               "depth, height and width of the crops that networks are trained on, in voxels; "
               "fovea inspect dataset FILE --plan proposes what fits the volumes")
          .add("spacing", &O::spacing, schema::greater_than(0),
               "spacing of the voxels to which volumes are resampled: depth, height, width in "
               "millimetres; []: by the rule of nnU-Net (dformer 7.3)")
          .add("augment", &O::augment,
               "random turns, scales, noise, blur, brightness, contrast, low resolution, gamma "
               "and mirrors of training crops (dformer 7.4)")
          .add("foreground", &O::foreground, schema::in_range(0, 1),
               "share of the crops of each batch, its last samples, that lie around a voxel of a "
               "random class")
          .add_enum("outside", &O::outside, {{"zeros", Outside::kZeros}, {"edge", Outside::kEdge}},
                    "values of training crops outside of their volume: zeros, as in windows of an "
                    "evaluation, or the values at the volume's border (dformer 7.4)")
          .add("samples_per_epoch", &O::samples_per_epoch, schema::at_least(0),
               "crops of an epoch, their volumes drawn with replacement; 0: one of each volume")
          .add("cache_folder", &O::cache_folder,
               "where prepared volumes are kept on disk, by their content; \"\": nowhere")
          .is_place()
          .no_effect()
          .add_enum("on_bad_sample", &O::on_bad_sample, bad_sample_words(), kBadSampleHelp)
          .add("cache_bytes", &O::cache_bytes, schema::at_least(0),
               "prepared volumes kept in memory, in bytes")
          .no_effect()
          .check([](const O& o) {
            return o.spacing.empty() || o.spacing.size() == 3
                       ? std::string()
                       : fmt::format("spacing has {} numbers; expected 3, or none",
                                     o.spacing.size());
          });
  return keys;
}

namespace {

// The plan of the training volumes, cached in cache_folder, since making it reads all of them.
VolumePlan plan_of(const Chosen& train, const VolumeSetOptions& options, TrainingVolumes& volumes) {
  const auto& part = static_cast<const VolumePart&>(*train.part);
  const auto fresh = [&] {
    // (After the last volume was read, before the plan is made.)
    const auto read = [&](std::int64_t i) {
      LabelledVoxels volume = volumes.read(i);
      if (i + 1 == volumes.size()) volumes.check();
      return volume;
    };
    return make_plan(read, volumes.size(), part.info(),
                     {options.spacing, options.canonical, options.foreground_voxels});
  };
  if (options.cache_folder.empty()) return fresh();
  Origin origin{options.root,
                {},
                fmt::format("{} {} {} {} {} {} {}", kCacheVersion, part.recipe(), part.info().ct,
                            fmt::join(options.spacing, ","), values_text(part.info()),
                            options.canonical, options.foreground_voxels),
                true};
  for (const std::int64_t i : train.indices) {
    const VolumeCase files = part.files_of(i);
    origin.files.insert(origin.files.end(), files.images.begin(), files.images.end());
    if (!files.labels.empty()) origin.files.push_back(files.labels);
    if (files.images.empty()) origin.recipe += fmt::format(" {}", i);
  }
  const std::filesystem::path file =
      std::filesystem::path(options.cache_folder) / ("plan-" + content_hash(origin) + ".json");
  io::make_directories(options.cache_folder);
  return kept_in(file, unpack_plan, fresh, pack_plan);
}

// The plan that lies beside weights. Options that ask for another one are refused.
std::optional<VolumePlan> plan_beside(const WeightFiles* weights, const VolumeSetOptions& options) {
  const std::string* text = weights == nullptr ? nullptr : weights->find(kPlanFile);
  if (text == nullptr) return std::nullopt;
  const std::string file = weights->path_of(kPlanFile);
  const VolumePlan plan = VolumePlan::parse(*text, file);
  FOVEA_CHECK(plan.canonical == options.canonical, ConfigError,
              fmt::format("dataset.canonical: is {}, but the weights were trained with {} ({})",
                          options.canonical, plan.canonical, file));
  FOVEA_CHECK(options.spacing.empty() || std::ranges::equal(options.spacing, plan.spacing),
              ConfigError,
              fmt::format("dataset.spacing: is {}, but the weights were trained with {} ({})",
                          fmt::join(options.spacing, " "), fmt::join(plan.spacing, " "), file));
  return plan;
}

}  // namespace

Configured configured(VolumeSetOptions options, OpenVolumes open, const MakeOptions& how) {
  if (how.survey) {
    options.on_bad_sample = OnBadSample::kSkip;
    options.cache_bytes = 0;
    options.cache_folder.clear();
  }
  Configured result;
  result.options = options;
  result.open = [open = std::move(open)](Split split) -> std::shared_ptr<const Part> {
    return open(split);
  };
  // The prepared volumes of each part. The plan is made once, from train.
  auto prepared = std::make_shared<std::map<const Part*, std::shared_ptr<const PreparedVolumes>>>();
  auto plan = std::make_shared<std::optional<VolumePlan>>(plan_beside(how.weights.get(), options));
  // The training volumes, with what was found when the plan was made.
  struct Train {
    Chosen chosen;
    TrainingVolumes volumes;
    Train(Chosen c, bool skip)
        : chosen(std::move(c)),
          volumes(static_cast<const VolumePart&>(*chosen.part), chosen.indices, skip) {}
  };
  auto train = std::make_shared<std::optional<Train>>();
  result.make = [options, prepared, plan, train](
                    Split split, const auto& find) -> std::shared_ptr<const Dataset> {
    const std::optional<Chosen> chosen = find(split);
    if (!chosen) return nullptr;
    if (!*plan) {
      train->emplace(*find(Split::kTrain), options.on_bad_sample == OnBadSample::kSkip);
      *plan = plan_of((*train)->chosen, options, (*train)->volumes);
    }
    // What `open` above gave.
    auto part = std::static_pointer_cast<const VolumePart>(chosen->part);
    auto& volumes = (*prepared)[part.get()];
    if (volumes == nullptr)
      volumes = std::make_shared<const PreparedVolumes>(part, **plan, options);
    const bool trains = split == Split::kTrain;
    auto dataset = std::make_shared<VolumeDataset>(
        part, split, chosen->indices, options, volumes,
        trains ? VolumeDataset::Samples::kCrops : VolumeDataset::Samples::kWhole);
    if (trains && *train) dataset->note_training((*train)->volumes);
    const bool same = !*train || (*train)->chosen.part == chosen->part;
    dataset->note_orientations(
        same ? std::vector<VolumeSize>()
             : static_cast<const VolumePart&>(*(*train)->chosen.part).headers());
    return dataset;
  };
  result.describe =
      [options, plan](const schema::Value& description) mutable -> std::shared_ptr<const Dataset> {
    if (!*plan) return nullptr;
    options.cache_folder.clear();
    auto part = std::make_shared<const DescribedVolumes>(volume_info(description));
    auto volumes = std::make_shared<const PreparedVolumes>(part, **plan, options);
    return std::make_shared<const VolumeDataset>(
        std::move(part), Split::kTest, std::vector<std::int64_t>(), options, std::move(volumes),
        VolumeDataset::Samples::kWhole);
  };
  return result;
}

}  // namespace fovea::data
