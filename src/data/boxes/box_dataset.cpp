#include "data/boxes/box_dataset.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

#include "base/error.h"
#include "data/described/described_parts.h"
#include "data/described/sample_infos.h"
#include "data/registry.h"
#include "schema/json/value.h"

namespace fovea::data {
namespace {

constexpr float kWhiteOf8Bits = 255.0f;

std::vector<Field> fields_with_boxes(const BoxInfo& info, const BoxOptions& o) {
  Field image{"image", DType::kFloat32, Collate::kGrow, {info.channels, kAnySize, kAnySize}};
  image.multiple = o.size_divisor;
  std::vector<Field> fields = {std::move(image),
                               {"image_size", DType::kInt64, Collate::kStack, {2}},
                               {"boxes", DType::kFloat32, Collate::kList, {4}},
                               {"labels", DType::kInt64, Collate::kList, {}},
                               {"crowd", DType::kUint8, Collate::kList, {}},
                               {"area", DType::kFloat32, Collate::kList, {}}};
  if (o.masks) fields.push_back({"masks", DType::kUint8, Collate::kList, {kAnySize, kAnySize}});
  return fields;
}

// One value of each object.
template <class T, class Value>
Tensor column(const std::vector<BoxedObject>& objects, const Device& host, const Value& value) {
  std::vector<T> values;
  values.reserve(objects.size());
  for (const BoxedObject& object : objects) values.push_back(static_cast<T>(value(object)));
  return Tensor::from(values, {std::ssize(objects)}, host);
}

Tensor boxes_of(const std::vector<BoxedObject>& objects, const Device& host) {
  std::vector<float> boxes;
  boxes.reserve(4 * objects.size());
  for (const BoxedObject& object : objects) {
    for (const double side : object.box) boxes.push_back(static_cast<float>(side));
  }
  return Tensor::from(boxes, {std::ssize(objects), 4}, host);
}

}  // namespace

BoxDataset::BoxDataset(std::shared_ptr<const BoxPart> part, Split split,
                       const std::vector<std::int64_t>& indices, BoxOptions options)
    : Dataset(part, split, options, options.noise, image_noise()),
      part_(std::move(part)),
      options_(std::move(options)),
      fields_(fields_with_boxes(part_->info(), options_)),
      normalisation_(normalisation({options_.normalise, options_.mean, options_.std},
                                   part_->info().mean, part_->info().std, part_->info().channels)) {
  FOVEA_CHECK(!options_.masks || part_->info().has_masks, ConfigError,
              "dataset.masks: true, but the files of this data set have boxes alone");
  for (std::size_t k = 0; k < options_.augment.size(); ++k) {
    augment_.push_back(make_box_transform(options_.augment[k],
                                          schema::join_path("dataset.augment", std::to_string(k))));
    augment_sets_size_ = augment_sets_size_ || augment_.back()->sets_size();
  }
  choose(indices);
  if (split == Split::kTrain && options_.filter_empty) leave_out_empty();
}

schema::Value BoxDataset::description() const { return description_of(info()); }

void BoxDataset::leave_out_empty() {
  const std::size_t before = indices_.size();
  std::erase_if(indices_, [&](std::int64_t index) {
    const BoxedImage& image = part_->image(index);
    return image.objects.empty() || std::min(image.height, image.width) < options_.min_image_side;
  });
  if (indices_.size() == before) return;
  FOVEA_CHECK(!indices_.empty(), FileError,
              fmt::format("dataset.filter_empty: none of the {} images of train has an object and "
                          "sides of {} pixels",
                          before, options_.min_image_side));
  own_notes_.push_back(fmt::format(
      "dataset.filter_empty: {} of {} images of train are left out, which have no object or a side "
      "below {} pixels",
      before - indices_.size(), before, options_.min_image_side));
}

std::int64_t BoxDataset::length(std::int64_t i) const {
  if (!options_.group_by_aspect) return 0;
  return known(i).width > known(i).height ? 2 : 1;
}

BoxTruth BoxDataset::truth(std::int64_t i) const {
  const BoxedImage& image = known(i);
  return {image.height, image.width, image.objects,
          options_.masks ? part_->read_masks(source_index(i)) : std::vector<MaskRuns>()};
}

BoxedPicture BoxDataset::read(std::int64_t source_index) const {
  const Image picture = part_->read(source_index);
  const std::vector<BoxedObject>& objects = part_->image(source_index).objects;
  if (!options_.masks) return BoxedPicture(picture, kWhiteOf8Bits, objects, nullptr);
  std::vector<std::uint8_t> masks;
  masks.reserve(objects.size() * static_cast<std::size_t>(picture.height * picture.width));
  for (const MaskRuns& runs : part_->read_masks(source_index)) {
    const std::vector<std::uint8_t> mask = decode_mask(runs);
    masks.insert(masks.end(), mask.begin(), mask.end());
  }
  return BoxedPicture(picture, kWhiteOf8Bits, objects, &masks);
}

void BoxDataset::resize(BoxedPicture& picture) const {
  const auto [height, width] =
      rescaled_size(picture.height(), picture.width(), options_.min_size, options_.max_size);
  picture.resize(height, width, options_.antialias);
}

void BoxDataset::write_image(BoxedPicture& picture, Sample& into) const {
  const Planes x = picture.planes();
  into.set("image", Tensor::from(std::span<const float>(x.values()),
                                 {x.channels, x.height, x.width}, host()));
  std::int64_t* size = into.at("image_size").data<std::int64_t>();
  size[0] = x.height;
  size[1] = x.width;
}

void BoxDataset::write(BoxedPicture& picture, Sample& into) const {
  write_image(picture, into);
  const std::vector<BoxedObject>& objects = picture.objects();
  into.set("boxes", boxes_of(objects, host()));
  into.set("labels", column<std::int64_t>(objects, host(), [](const auto& o) { return o.label; }));
  into.set("crowd", column<std::uint8_t>(objects, host(), [](const auto& o) { return o.crowd; }));
  into.set("area", column<float>(objects, host(), [](const auto& o) { return o.area; }));
  if (!options_.masks) return;
  into.set("masks", Tensor::from(picture.masks(),
                                 {std::ssize(objects), picture.height(), picture.width()}, host()));
}

void BoxDataset::prepare(std::int64_t i, const Draw& draw, Sample& into) const {
  const std::int64_t index = source_index(i);
  const RandomStream random = stream(draw, index);
  const RandomStream augment = random.fork("augment");
  BoxedPicture picture = read(index);
  into.index = i;
  into.geometry = {};
  into.geometry.original_size = {picture.height(), picture.width()};
  if (draw.augment) {
    picture.drop_if(
        [](const BoxedObject& o) { return o.width() < 1 || o.height() < 1 || !(o.area > 0); });
    for (std::size_t k = 0; k < augment_.size(); ++k)
      augment_[k]->apply(picture, {augment.fork(k), mean(), std()});
  }
  if (!draw.augment || !augment_sets_size_) resize(picture);
  const Planes x = picture.planes();
  const RandomStream noise = random.fork("noise");
  if (draw.augment) {
    if (const auto drawn = draw_noise(train_noise(), noise))
      corrupt(x, *drawn, noise, train_noise().fill);
  }
  if (draw.corruption) corrupt(x, *draw.corruption, noise, eval_noise().fill);
  if (options_.normalise) data::normalise(x, mean(), std());
  write(picture, into);
}

Sample BoxDataset::get(std::int64_t i) const {
  Sample sample = blank();
  sample.index = i;
  sample.name = name(i);
  BoxedPicture picture = read(source_index(i));
  sample.geometry.original_size = {picture.height(), picture.width()};
  resize(picture);
  write(picture, sample);
  return sample;
}

Sample BoxDataset::get_file(const std::filesystem::path& file) const {
  BoxedPicture picture(part_->read_file(file), kWhiteOf8Bits, {}, nullptr);
  Sample sample;
  sample.set("image_size", Tensor::empty({2}, DType::kInt64, host()));
  sample.geometry.original_size = {picture.height(), picture.width()};
  sample.name = file.string();
  resize(picture);
  write_image(picture, sample);
  return sample;
}

Configured configured(BoxOptions options, OpenBoxes open, const MakeOptions& how) {
  if (how.survey) {
    options.on_bad_sample = OnBadSample::kSkip;
    options.filter_empty = false;
  }
  Configured result;
  result.options = options;
  // The classes of the part that was opened first, which the others must share.
  auto first = std::make_shared<std::shared_ptr<const BoxPart>>();
  result.open = [open = std::move(open), first](Split split) -> std::shared_ptr<const Part> {
    std::shared_ptr<const BoxPart> part = open(split);
    if (part == nullptr) return nullptr;
    if (*first == nullptr) *first = part;
    FOVEA_CHECK(
        part->class_names() == (*first)->class_names(), FileError,
        fmt::format("dataset: the classes of {} are not those of the other parts, or are in "
                    "another order",
                    name_of(split)));
    return part;
  };
  result.make = [options](Split split, const auto& find) -> std::shared_ptr<const Dataset> {
    const std::optional<Chosen> chosen = find(split);
    if (!chosen) return nullptr;
    // What `open` above gave.
    auto part = std::static_pointer_cast<const BoxPart>(chosen->part);
    return std::make_shared<const BoxDataset>(std::move(part), split, chosen->indices, options);
  };
  result.describe = [options, classes = how.num_classes](
                        const schema::Value& description) -> std::shared_ptr<const Dataset> {
    BoxInfo info = box_info(description);
    if (info.class_names.empty()) {
      if (!classes) return nullptr;
      info.class_names = numbered_classes(*classes);
    }
    return std::make_shared<const BoxDataset>(
        std::make_shared<const DescribedBoxes>(std::move(info)), Split::kTest,
        std::vector<std::int64_t>(), options);
  };
  return result;
}

const BoxDataset* find_boxes(const Dataset& dataset) {
  return dynamic_cast<const BoxDataset*>(&dataset);
}

}  // namespace fovea::data
