// Images with boxes, and with masks where asked for: chosen samples, augmentation, resizing, noise,
// normalisation. mala 7.2.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <vector>

#include "data/augment/normalisation.h"
#include "data/augment/transforms.h"
#include "data/boxes/box_options.h"
#include "data/boxes/box_part.h"
#include "data/dataset.h"

namespace fovea::data {

/// What an image holds, in its file's pixels.
struct BoxTruth {
  std::int64_t height = 0, width = 0;
  std::vector<BoxedObject> objects;
  std::vector<MaskRuns> masks;  // of each object; empty where dataset.masks is false
};

/// Samples hold "image" (c, h, w), "image_size", "boxes", "labels", "crowd", "area", and "masks"
/// where asked for (batch.h), each at the size that the network sees.
class BoxDataset final : public Dataset {
 public:
  /// indices: the images of `part` that belong to this split, ascending. Those that the part has a
  /// problem with throw FileError or are left out, by options.on_bad_sample. Images of train that
  /// options.filter_empty rules out are left out with a note. Throws ConfigError for masks that the
  /// files do not have.
  BoxDataset(std::shared_ptr<const BoxPart> part, Split split,
             const std::vector<std::int64_t>& indices, BoxOptions options);

  const BoxInfo& info() const { return part_->info(); }
  bool has_masks() const { return options_.masks; }
  /// What normalisation removes, one value a channel; 0 and 1 where it is off.
  std::span<const double> mean() const { return normalisation_.mean; }
  std::span<const double> std() const { return normalisation_.std; }

  const std::vector<Field>& fields() const override { return fields_; }
  schema::Value description() const override;
  SampleShape shape() const override {
    return options_.usual_shape(num_classes(), info().channels);
  }
  /// Reads, augments, resizes, adds noise, normalises. An augmented sample is without objects of
  /// less than one pixel a side in the file, or of no area; another one has all.
  /// geometry.original_size over image_size are the factors that bring boxes back to the file,
  /// unless augmentation cropped.
  void prepare(std::int64_t i, const Draw& draw, Sample& into) const override;
  /// The image in [0, 1] at the size that evaluations see.
  Sample get(std::int64_t i) const override;
  /// "image" and "image_size" of any picture file, as get() gives them. Throws FileError.
  Sample get_file(const std::filesystem::path& file) const;
  /// The pixels of any picture file, as large as it has them. Throws FileError.
  Image picture(const std::filesystem::path& file) const { return part_->read_file(file); }
  bool skips_bad_samples() const override { return options_.on_bad_sample == OnBadSample::kSkip; }
  /// 2 for images that are wider than tall, 1 for others; 0 without grouping.
  std::int64_t length(std::int64_t i) const override;
  std::int64_t bucket_batches() const override { return options_.group_by_aspect ? size() : 0; }

  /// What the file says of a sample, for evaluations: boxes are those of the file, not clipped.
  /// Throws FileError for damaged masks.
  BoxTruth truth(std::int64_t i) const;
  /// The same without masks.
  const std::vector<BoxedObject>& objects(std::int64_t i) const { return known(i).objects; }
  /// COCO's id of an image, with which its results are written; of other data sets its place in its
  /// part + 1. info().category_ids has those of the classes.
  std::int64_t image_id(std::int64_t i) const { return *known(i).id; }
  /// Height and width of a sample in its file.
  std::array<std::int64_t, 2> original_size(std::int64_t i) const {
    return {known(i).height, known(i).width};
  }
  /// Boxes of a sample that were left out, since they are of no use.
  std::int64_t skipped_boxes(std::int64_t i) const { return part_->skipped_boxes(source_index(i)); }

 private:
  const BoxedImage& known(std::int64_t i) const { return part_->image(source_index(i)); }
  void leave_out_empty();
  BoxedPicture read(std::int64_t source_index) const;
  void resize(BoxedPicture& picture) const;
  void write(BoxedPicture& picture, Sample& into) const;
  void write_image(BoxedPicture& picture, Sample& into) const;

  std::shared_ptr<const BoxPart> part_;
  BoxOptions options_;
  std::vector<Field> fields_;
  std::vector<std::unique_ptr<const BoxTransform>> augment_;
  bool augment_sets_size_ = false;
  Normalisation normalisation_;
};

/// Null for a data set of another kind.
const BoxDataset* find_boxes(const Dataset& dataset);

}  // namespace fovea::data
