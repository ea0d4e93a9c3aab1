#include "data/given/given_samples.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/error.h"
#include "data/augment/corruptions.h"
#include "data/augment/normalisation.h"
#include "data/texts/text_noise.h"

namespace fovea::data {
namespace {

// As many samples as are given, of unknown classes.
class GivenPart final : public Part {
 public:
  GivenPart(std::size_t samples, std::vector<std::string> class_names)
      : class_names_(std::move(class_names)) {
    labels_.assign(samples, 0);
  }
  const std::vector<std::string>& class_names() const override { return class_names_; }
  std::string name(std::int64_t index) const override { return std::to_string(index); }
  std::vector<std::filesystem::path> files() const override { return {}; }

 private:
  std::vector<std::string> class_names_;
};

// One field of the samples of `like`, which prepares it.
template <class Like>
class GivenSamples : public Dataset {
 public:
  GivenSamples(const Like& like, std::string_view field, std::size_t samples, const NoiseKind& kind)
      : Dataset(std::make_shared<const GivenPart>(samples, like.class_names()), Split::kTest, {},
                {}, kind),
        like_(like) {
    for (const Field& known : like.fields()) {
      if (known.name == field) fields_.push_back(known);
    }
    std::vector<std::int64_t> all(samples);
    std::iota(all.begin(), all.end(), std::int64_t{0});
    choose(all);
  }
  const std::vector<Field>& fields() const override { return fields_; }
  SampleShape shape() const override { return like_.shape(); }
  schema::Value description() const override { return like_.description(); }
  bool skips_bad_samples() const override { return true; }

 protected:
  Sample blank_at(std::int64_t i) const {
    Sample sample = blank();
    prepare(i, {}, sample);
    return sample;
  }
  const Like& like_;
  std::vector<Field> fields_;
};

class GivenPictures final : public GivenSamples<ImageDataset> {
 public:
  GivenPictures(const ImageDataset& like, std::vector<std::filesystem::path> files)
      : GivenSamples(like, "image", files.size(), image_noise()), files_(std::move(files)) {}

  Sample get(std::int64_t i) const override { return blank_at(i); }
  void prepare(std::int64_t i, const Draw&, Sample& into) const override {
    const Sample read = like_.get_file(files_[static_cast<std::size_t>(i)]);
    const Tensor& image = read.at("image");
    normalise({image.size(0), image.size(1), image.size(2), image.data<float>()}, like_.mean(),
              like_.std());
    into.index = i;
    into.geometry = read.geometry;
    if (fields_.front().rule == Collate::kStack) {
      const auto values = image.host_values<float>();
      std::copy(values.begin(), values.end(), into.at("image").data<float>());
    } else {
      into.set("image", image);
    }
  }

 private:
  std::vector<std::filesystem::path> files_;
};

class GivenTexts final : public GivenSamples<TextDataset> {
 public:
  GivenTexts(const TextDataset& like, std::vector<std::string> texts)
      : GivenSamples(like, "tokens", texts.size(), text_noise()), texts_(std::move(texts)) {}

  Sample get(std::int64_t i) const override { return blank_at(i); }
  void prepare(std::int64_t i, const Draw&, Sample& into) const override {
    const Ids ids = like_.ids_of(like_.words_of(texts_[static_cast<std::size_t>(i)]));
    into.index = i;
    into.set("tokens", Tensor::from(ids, {std::ssize(ids)}, host()));
  }

 private:
  std::vector<std::string> texts_;
};

}  // namespace

std::shared_ptr<const Dataset> given_pictures(const ImageDataset& like,
                                              std::vector<std::filesystem::path> files) {
  return std::make_shared<GivenPictures>(like, std::move(files));
}

GivenVolume given_volume(const VolumeDataset& like,
                         const std::vector<std::filesystem::path>& images, const Device& host) {
  const VolumeInfo& info = like.info();
  const PreparedVolume prepared = prepare_volume(read_volume({images, {}, {}}, info), like.plan(),
                                                 info.class_names.size(), info.regions);
  const auto& [d, h, w] = prepared.size;
  return {Tensor::from(prepared.values, {1, prepared.channels, d, h, w}, host), prepared.place};
}

std::shared_ptr<const Dataset> given_texts(const TextDataset& like,
                                           std::vector<std::string> texts) {
  return std::make_shared<GivenTexts>(like, std::move(texts));
}

}  // namespace fovea::data
