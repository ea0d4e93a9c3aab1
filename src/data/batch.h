// Samples and batches, as named tensors.
//   "image" (c, h, w) float32                       "label" () int64
//   "target" (classes) float32, only of batches whose images are mixed (mix.h): their shares
//   "mask" (k, h, w) float32 in [0, 1], soft masks; or (h, w) int64, the class of every pixel
//   "tokens" (n) int64, 0 behind the end of a text
// Of images with boxes, where images may differ in size and n is any number, 0 too:
//   "image_size" (2) int64, height and width before the batch adds zeros below and to the right
//   "boxes" (n, 4) float32, x1 y1 x2 y2 in pixels of the image, x2 and y2 the first outside
//   "labels" (n) int64            "crowd" (n) uint8, 1 = many objects that count as none
//   "area" (n) float32, pixels of the object in its file, by which COCO calls it small or large
//   "masks" (n, h, w) uint8, 1 = of the object; only of data sets that have them
// Of recordings, where t and s are any number:
//   "features" (t, mels) float32, log-mel; "num_frames" () int64, t before the batch adds zeros
//   "symbols" (s) int64, what is said, in ids of the vocabulary
// In a batch each has a leading axis. Kinds of data differ in the names and in how they are
// collated (collate.h).
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tensor/tensor.h"

namespace fovea::data {

/// The value of ignored pixels in an int64 mask, as in ops::CrossEntropyOptions.
inline constexpr std::int64_t kIgnoreLabel = -100;

/// A few tensors by name, in the order in which they were set.
class NamedTensors {
 public:
  using Entry = std::pair<std::string, Tensor>;

  /// Throws ConfigError that lists the known names.
  const Tensor& at(std::string_view name) const;
  /// Null for an unknown name.
  const Tensor* find(std::string_view name) const;
  bool has(std::string_view name) const { return find(name) != nullptr; }
  /// Adds a tensor, or replaces that of the same name.
  void set(std::string_view name, Tensor tensor);

  std::vector<Entry>::const_iterator begin() const { return tensors_.begin(); }
  std::vector<Entry>::const_iterator end() const { return tensors_.end(); }

 private:
  std::vector<Entry> tensors_;
};

/// Where a sample lies in its file, so that results can be mapped back. One value for each axis:
/// (h, w), for volumes (d, h, w). Empty where it has no meaning.
struct Geometry {
  std::vector<std::int64_t> original_size;  // of the file's picture or volume, in its pixels
  std::vector<double> spacing;              // of these pixels, in millimetres; empty: unknown
  std::vector<std::int64_t> offset;         // of the part that was taken; empty: all of it

  /// For a slice, whose axes are those of its volume: (h, w) of the slice. Others stay as they are.
  Geometry in_plane() const;
};

/// One sample, without the axis of the batch.
struct Sample : NamedTensors {
  Geometry geometry;
  std::int64_t index = 0;  // in its split
  std::string name;        // a file, or a file and a record
};

/// Samples that go through a network together, on the host.
struct Batch : NamedTensors {
  /// For padded tensors the length of each sample along its first axis.
  std::map<std::string, std::vector<std::int64_t>> lengths;
  /// Tensors that are neither stacked nor padded: one for each sample.
  std::map<std::string, std::vector<Tensor>> lists;
  std::vector<Geometry> geometry;
  std::vector<std::int64_t> indices;  // of the samples in their split
  std::int64_t number = 0;            // position in the epoch

  std::int64_t size() const { return std::ssize(indices); }
};

}  // namespace fovea::data
