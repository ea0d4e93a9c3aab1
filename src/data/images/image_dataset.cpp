#include "data/images/image_dataset.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <string>
#include <utility>

#include "base/error.h"
#include "data/described/described_parts.h"
#include "data/described/sample_infos.h"
#include "data/registry.h"
#include "schema/json/value.h"

namespace fovea::data {
namespace {

std::vector<Field> fields_of(const SourceInfo& info, Collate rule) {
  std::vector<Field> fields = {
      {"image", DType::kFloat32, rule, {info.channels, info.height, info.width}}};
  switch (info.masks) {
    case Masks::kNone:
      fields.push_back({"label", DType::kInt64, Collate::kStack, {}});
      break;
    case Masks::kSoft:
      fields.push_back({"mask", DType::kFloat32, rule, {1, info.height, info.width}});
      break;
    case Masks::kLabels:
      fields.push_back({"mask", DType::kInt64, rule, {info.height, info.width}});
      break;
  }
  return fields;
}

}  // namespace

// Decoded pixels by source index. A slot is claimed by one thread, filled, then published; until
// then others decode for themselves, so nobody waits and the content cannot depend on timing.
struct ImageDataset::Cache {
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

ImageDataset::ImageDataset(std::shared_ptr<const Source> source, Split split,
                           const std::vector<std::int64_t>& indices, ImageOptions options,
                           Sizes sizes)
    : Dataset(source, split, options, options.noise, image_noise()),
      source_(std::move(source)),
      options_(std::move(options)),
      sizes_(sizes) {
  const SourceInfo& info = source_->info();
  fields_ = fields_of(info, sizes == Sizes::kOwn ? Collate::kAlone : Collate::kStack);
  for (std::size_t k = 0; k < options_.augment.size(); ++k) {
    const schema::Component& chosen = options_.augment[k];
    const std::string path = schema::join_path("dataset.augment", std::to_string(k));
    augment_.push_back(
        make_picture_transform(chosen, path, has_masks() ? kMaskedPictures : kPictures));
    FOVEA_CHECK(
        (has_masks() && !info.patches) || info.height == info.width || !augment_.back()->turns(),
        ConfigError,
        fmt::format("{}: {} turns by quarters, but the samples are {} x {}; expected "
                    "squares",
                    path, chosen.type, info.height, info.width));
  }
  cuts_files_ = info.own_sizes && !has_masks() && split == Split::kTrain && !augment_.empty() &&
                augment_[0]->cuts();
  FOVEA_CHECK(!has_masks() || !options_.mix.is_on(), ConfigError,
              "dataset.mix: blends classes of whole images, but the samples have masks; expected "
              "mixup and cutmix 0");
  Normalisation removed = normalisation({options_.normalise, options_.mean, options_.std},
                                        info.mean, info.std, info.channels);
  mean_ = std::move(removed.mean);
  std_ = std::move(removed.std);
  choose(indices);
  source_->check_targets(indices_, split);
  if (!source_->in_memory() && options_.cache_bytes > 0) {
    cache_ = std::make_unique<Cache>(source_->size(), options_.cache_bytes);
  }
}

ImageDataset::~ImageDataset() = default;

SampleShape ImageDataset::shape() const {
  return {.channels = channels(),
          .height = height(),
          .width = width(),
          .classes = num_classes(),
          .label_maps = source_->info().masks == Masks::kLabels};
}

schema::Value ImageDataset::description() const { return description_of(source_->info()); }

std::shared_ptr<const Dataset> ImageDataset::for_evaluation() const {
  if (!source_->info().whole_evaluations() || sizes_ == Sizes::kOwn) return nullptr;
  const auto whole =
      std::make_shared<ImageDataset>(source_, split(), indices_, options_, Sizes::kOwn);
  whole->left_out_ = left_out_;
  return whole;
}

std::array<std::int64_t, 2> ImageDataset::size_of(std::int64_t height, std::int64_t width) const {
  const SourceInfo& info = source_->info();
  if (info.patches && info.longest == 0) return {height, width};
  if (info.patches) return rescaled_size(height, width, info.longest, info.longest);
  if (sizes_ == Sizes::kFixed) return {info.height, info.width};
  return rescaled_size(height, width, info.height, info.longest);
}

Geometry ImageDataset::geometry_of(std::int64_t height, std::int64_t width, const Box& part) {
  Geometry geometry;
  geometry.original_size = {height, width};
  const bool whole = part.height == height && part.width == width;
  if (!whole || part.top != 0 || part.left != 0) geometry.offset = {part.top, part.left};
  return geometry;
}

Planes ImageDataset::planes_of(const Sample& sample) {
  const Tensor& image = sample.at("image");
  return {image.size(0), image.size(1), image.size(2), image.data<float>()};
}

const ImageDataset::Decoded& ImageDataset::decode(std::int64_t source_index, Decoded& fresh) const {
  const Decoded* known = cache_ ? cache_->find(source_index) : nullptr;
  if (known != nullptr) return *known;
  fresh.image = source_->read(source_index);
  fresh.height = fresh.image.height;
  fresh.width = fresh.image.width;
  if (has_masks()) {
    const bool labels = source_->info().masks == Masks::kLabels;
    fresh.mask = at_patch_scale(source_->read_mask(source_index, fresh.image),
                                labels ? Resampling::kNearest : source_->info().mask_resize);
    fresh.image = at_patch_scale(std::move(fresh.image), Resampling::kBilinear);
  }
  if (source_->info().own_sizes && !cuts_files_) {
    fresh.image = source_->fitted(fresh.image);
    if (has_masks()) fresh.mask = source_->fitted_mask(fresh.mask);
  }
  return fresh;
}

void ImageDataset::keep(std::int64_t source_index, Decoded&& fresh) const {
  if (cache_ && fresh.image.bytes() > 0) cache_->keep(source_index, std::move(fresh));
}

void ImageDataset::read_scaled(std::int64_t source_index, const TransformContext* cut,
                               Sample& into) const {
  Decoded fresh;
  const Decoded& decoded = decode(source_index, fresh);
  Box part{0, 0, decoded.height, decoded.width};
  if (source_->info().own_sizes)
    part = fitted_part(decoded.height, decoded.width, height(), width(), source_->info().fit);
  Image fitted;
  if (cut != nullptr) {
    part = augment_[0]->cut(decoded.height, decoded.width, *cut);
    ResizeOptions how = source_->info().fit.resize;
    how.how = augment_[0]->interpolation().value_or(how.how);
    fitted = resize(crop(decoded.image, part), height(), width(), how);
  } else if (cuts_files_) {
    fitted = source_->fitted(decoded.image);
  }
  into.geometry = geometry_of(decoded.height, decoded.width, part);
  scale(cuts_files_ ? fitted : decoded.image, source_->info().pixel_max, planes_of(into));
  keep(source_index, std::move(fresh));
}

void ImageDataset::scale(const Image& image, float white, Planes out) const {
  to_planes(image, white, out);
  if (source_->info().stretch) stretch_own(out);
}

void ImageDataset::stretch_own(Planes x) const {
  if (channel_names().empty()) return stretch(x);
  for (std::int64_t c = 0; c < x.channels; ++c) stretch({1, x.height, x.width, x.channel(c)});
}

Sample ImageDataset::get(std::int64_t i) const {
  Sample sample = blank();
  sample.index = i;
  sample.name = name(i);
  if (has_masks()) {
    read_pair(source_index(i), {}, sample);
  } else {
    read_scaled(source_index(i), nullptr, sample);
    *sample.at("label").data<std::int64_t>() = label(i);
  }
  return sample;
}

Sample ImageDataset::get_file(const std::filesystem::path& file) const {
  constexpr float kWhite = 255.0f;
  Image image = source_->read_file(file);
  Sample sample;
  const auto [tall, wide] = size_of(image.height, image.width);
  sample.set("image", Tensor::empty({channels(), tall, wide}, DType::kFloat32, host()));
  sample.geometry.original_size = {image.height, image.width};
  image = at_patch_scale(std::move(image), Resampling::kBilinear);
  sample.name = file.string();
  if (has_masks()) {
    scale_whole(image, kWhite, planes_of(sample));
  } else {
    scale(source_->fitted(image), kWhite, planes_of(sample));
  }
  return sample;
}

void ImageDataset::prepare(std::int64_t i, const Draw& draw, Sample& into) const {
  const std::int64_t index = source_index(i);
  const RandomStream random = stream(draw, index);
  const RandomStream augment = random.fork("augment");
  into.index = i;
  if (has_masks()) {
    // Without augmentation a patch is the same in all epochs, as are crops of volumes.
    const SourceInfo& info = source_->info();
    const RandomStream patch =
        (draw.augment ? random : RandomStream(draw.seed).fork(static_cast<std::uint64_t>(index)))
            .fork("patch");
    const bool fixed = sizes_ == Sizes::kFixed;
    read_pair(index,
              {draw.augment && fixed ? &augment : nullptr, fixed && info.patches ? &patch : nullptr,
               !draw.augment || draw.in_last(info.foreground)},
              into);
  } else {
    const Planes x = planes_of(into);
    const bool cut = draw.augment && cuts_files_;
    const TransformContext first{augment.fork(std::uint64_t{0}), mean_, std_};
    read_scaled(index, cut ? &first : nullptr, into);
    for (std::size_t k = cut ? 1 : 0; draw.augment && k < augment_.size(); ++k) {
      augment_[k]->apply(x, {augment.fork(k), mean_, std_});
    }
    *into.at("label").data<std::int64_t>() = label(i);
  }
  const Planes x = planes_of(into);
  const RandomStream noise = random.fork("noise");
  if (draw.augment) {
    if (const auto drawn = draw_noise(train_noise(), noise))
      corrupt(x, *drawn, noise, train_noise().fill);
  }
  if (draw.corruption) corrupt(x, *draw.corruption, noise, eval_noise().fill);
  if (options_.normalise) normalise(x, mean_, std_);
}

void ImageDataset::mix(Batch& batch, const Draw& draw) const {
  if (!draw.augment || !options_.mix.is_on()) return;
  const Mix drawn = draw_mix(options_.mix, height(), width(), batch_stream(draw, batch.number));
  mix_images(batch.at("image"), drawn);
  batch.set("target", mixed_targets(batch.at("label"), num_classes(), drawn.share));
}

Configured configured(ImageOptions options, OpenImages open, const MakeOptions& how) {
  if (how.survey) {
    options.on_bad_sample = OnBadSample::kSkip;
    options.cache_bytes = 0;
  }
  Configured result;
  result.options = options;
  result.open = [open = std::move(open)](Split split) -> std::shared_ptr<const Part> {
    return open(split);
  };
  const auto make = [options](std::shared_ptr<const Source> source, Split split,
                              const std::vector<std::int64_t>& indices) {
    const bool own = source->info().whole_evaluations() && split != Split::kTrain;
    using Sizes = ImageDataset::Sizes;
    return std::make_shared<const ImageDataset>(std::move(source), split, indices, options,
                                                own ? Sizes::kOwn : Sizes::kFixed);
  };
  result.make = [make](Split split, const auto& find) -> std::shared_ptr<const Dataset> {
    const std::optional<Chosen> chosen = find(split);
    if (!chosen) return nullptr;
    // What `open` above gave.
    return make(std::static_pointer_cast<const Source>(chosen->part), split, chosen->indices);
  };
  result.describe = [make, classes = how.num_classes](
                        const schema::Value& description) -> std::shared_ptr<const Dataset> {
    SourceInfo info = image_info(description);
    if (info.class_names.empty()) {
      if (!classes) return nullptr;
      info.class_names = numbered_classes(*classes);
    }
    return make(std::make_shared<const DescribedImages>(std::move(info)), Split::kTest, {});
  };
  return result;
}

const ImageDataset& images_of(const Dataset& dataset) {
  const auto* images = dynamic_cast<const ImageDataset*>(&dataset);
  FOVEA_CHECK(images != nullptr, ConfigError, "dataset: holds no images; expected images");
  return *images;
}

}  // namespace fovea::data
