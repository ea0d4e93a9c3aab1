// A picture with its objects while it is augmented: pixels, boxes and masks move together.
// mala 7.2.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <vector>

#include "data/augment/corruptions.h"
#include "data/augment/geometry.h"
#include "data/files/pictures/image_file.h"

namespace fovea::data {

/// An object of a picture.
struct BoxedObject {
  std::array<double, 4> box{};  // x1 y1 x2 y2 in pixels, x2 and y2 the first outside
  std::int64_t label = 0;
  bool crowd = false;       // many objects that count as none
  double area = 0;          // pixels of the object in its file
  std::int64_t record = 0;  // place in the list of its file, by which its mask is found

  double width() const { return box[2] - box[0]; }
  double height() const { return box[3] - box[1]; }
};

class BoxedPicture {
 public:
  /// `masks`: (objects, height, width) as the picture, 1 = of the object; null: none are made.
  /// Boxes are clipped to the picture, and objects without a part inside are dropped. Throws
  /// ShapeError for masks of another size.
  BoxedPicture(const Image& picture, float white, std::vector<BoxedObject> objects,
               const std::vector<std::uint8_t>* masks);

  std::int64_t height() const { return height_; }
  std::int64_t width() const { return width_; }
  /// Pixels in [0, 1], which may be changed in place.
  Planes planes() { return {channels_, height_, width_, pixels_.data()}; }
  const std::vector<BoxedObject>& objects() const { return objects_; }
  bool has_masks() const { return has_masks_; }
  /// (objects, height, width); empty where there are none.
  const std::vector<std::uint8_t>& masks() const { return masks_; }

  /// Mirrors left and right.
  void flip_horizontally();
  /// Mirrors top and bottom.
  void flip_vertically();
  /// Bilinear with half-pixel centres, without antialiasing, as mmdet does with OpenCV; with it as
  /// Pillow. Masks take the pixel whose centre is the nearest (OpenCV's nearest the one at the
  /// corner), so that they stay in the middle of their boxes.
  void resize(std::int64_t height, std::int64_t width, bool antialias = false);
  /// Keeps a part, which lies inside. Boxes are clipped to it. Objects are dropped of which less
  /// than `min_visible` of the box's area is left, a box of less than one pixel a side, or a mask
  /// without a pixel.
  void crop(const Box& part, double min_visible = 0);
  /// Drops the objects for which `unwanted` is true.
  void drop_if(const std::function<bool(const BoxedObject&)>& unwanted);

 private:
  std::int64_t plane() const { return height_ * width_; }
  std::vector<std::uint8_t> resized_masks(std::int64_t height, std::int64_t width) const;
  // The objects, and their masks, of those places.
  void keep(const std::vector<std::size_t>& places);

  std::int64_t channels_, height_, width_;
  std::vector<float> pixels_;
  std::vector<BoxedObject> objects_;
  bool has_masks_;
  std::vector<std::uint8_t> masks_;
};

}  // namespace fovea::data
