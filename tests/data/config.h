// Data sets from the JSON that a user would write.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "data/images/image_dataset.h"
#include "data/registry.h"
#include "data/texts/text_dataset.h"
#include "schema/json/parse.h"

namespace fovea::data::test {

inline schema::Component component(const std::string& json) {
  schema::Value value = schema::parse(json, "test.json");
  return {value.at("type").as_string(), value};
}

/// {"type": TYPE, "root": ROOT, MORE}
inline schema::Component component(const std::string& type, const std::filesystem::path& root,
                                   const std::string& more = "") {
  schema::Value value = schema::parse("{" + more + "}", "test.json");
  value.set("type", type);
  value.set("root", root.string());
  return {type, value};
}

inline std::vector<float> floats(const Tensor& tensor) {
  const auto values = tensor.values<float>();
  return {values.begin(), values.end()};
}
inline std::vector<float> image_of(const Sample& sample) { return floats(sample.at("image")); }
inline std::vector<float> mask_of(const Sample& sample) { return floats(sample.at("mask")); }

/// A sample as a network sees it.
inline Sample prepared(const Dataset& d, std::int64_t i, const Draw& draw = {}) {
  Sample sample = d.blank();
  d.prepare(i, draw, sample);
  return sample;
}

/// A transform of pictures as an `augment` list has it.
inline std::unique_ptr<const PictureTransform> picture(const std::string& json) {
  return make_picture_transform(component(json), "dataset.augment");
}

/// A table of sentences of 2 to 10 words over a small vocabulary, with their class among them.
inline std::string text_table(int rows) {
  std::string text = "text,label\n";
  for (int i = 0; i < rows; ++i) {
    for (int k = 0; k <= i * 7 % 9; ++k) text += "w" + std::to_string((i + k * k) % 13) + " ";
    text += i % 2 == 0 ? "good,yes\n" : "bad,no\n";
  }
  return text;
}

/// Whether a data set has a part, of its own or cut from train.
inline bool has_part(const schema::Component& component, Split split) {
  try {
    return make_dataset(component, split) != nullptr;
  } catch (const ConfigError&) {
    return false;
  }
}

/// The parts of a data set of texts, as what they are.
struct Texts {
  std::shared_ptr<const TextDataset> train, val, test;
};
inline Texts make_texts(const schema::Component& component, const MakeOptions& options = {}) {
  const Splits splits = make_splits(component, options);
  const auto texts = [](const std::shared_ptr<const Dataset>& part) {
    return std::dynamic_pointer_cast<const TextDataset>(part);
  };
  return {texts(splits.train), texts(splits.val), texts(splits.test)};
}
/// A part of a data set of images, as what it is.
inline std::shared_ptr<const ImageDataset> make_images(const schema::Component& component,
                                                       Split split) {
  return std::dynamic_pointer_cast<const ImageDataset>(make_dataset(component, split));
}

}  // namespace fovea::data::test
