#include "data/files/coco_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <unordered_map>

#include "base/error.h"

namespace fovea::data {
namespace {

using Json = nlohmann::json;
using Form = CocoOutline::Form;

// What a record has while it is read; numbers are checked where they are used.
struct CocoRecord {
  std::optional<double> id, height, width, image_id, category_id, area, iscrowd;
  std::optional<std::string> file_name, name, counts;
  std::vector<double> bbox, size;
  bool has_bbox = false;
  CocoOutline outline;
};

// The parser calls one function for each value of the file. A tree of all values of a training part
// would take many gigabytes.
class CocoReader final : public nlohmann::json_sax<Json> {
 public:
  CocoReader(const std::string& name, bool outlines) : name_(name), outlines_(outlines) {}

  CocoFile finish() {
    FOVEA_CHECK(has_images_ && has_categories_, FileError,
                fmt::format("{}: has no \"{}\"; expected \"images\", \"annotations\" and "
                            "\"categories\"",
                            name_, has_images_ ? "categories" : "images"));
    std::sort(file_.categories.begin(), file_.categories.end(),
              [](const auto& a, const auto& b) { return a.id < b.id; });
    const auto images = places_of(file_.images, "images");
    const auto categories = places_of(file_.categories, "categories");
    for (std::size_t k = 0; k < file_.annotations.size(); ++k) {
      CocoAnnotation& annotation = file_.annotations[k];
      const auto lead = [&](const char* key, std::int64_t id, const auto& known) {
        const auto found = known.find(id);
        FOVEA_CHECK(found != known.end(), FileError,
                    fmt::format("{}: annotation {} (id {}): {} is {}, which is not there", name_,
                                k + 1, annotation.id, key, id));
        return found->second;
      };
      annotation.image = lead("image_id", annotation.image, images);
      annotation.category = lead("category_id", annotation.category, categories);
    }
    return std::move(file_);
  }

  bool null() override {
    refuse_outside("null");
    return true;
  }
  bool boolean(bool value) override { return number(value ? 1 : 0); }
  bool number_integer(std::int64_t value) override { return number(static_cast<double>(value)); }
  bool number_unsigned(std::uint64_t value) override { return number(static_cast<double>(value)); }
  bool number_float(double value, const std::string&) override { return number(value); }
  bool binary(Json::binary_t&) override { return true; }

  bool string(std::string& value) override {
    refuse_outside("a text");
    if (depth_ == kInRecord) {
      if (key_ == "file_name") record_.file_name = value;
      if (key_ == "name") record_.name = value;
      if (!is_text(key_)) refuse_kind("a text");
    } else if (depth_ == kInField && in_outline() && inner_key_ == "counts") {
      if (!outlines_) return true;
      record_.outline.form = Form::kString;
      record_.outline.begin = std::ssize(file_.strings);
      file_.strings.push_back(value);
    } else if (depth_ > kInRecord && is_used(key_)) {
      wrong("a text");
    }
    return true;
  }

  bool start_object(std::size_t) override {
    if (depth_ == kTop) refuse_outside("an object");
    if (depth_ == kInSection && section_ != Section::kOther) record_ = {};
    if (depth_ == kInRecord) {
      if (!in_outline()) refuse_kind("an object");
      inner_key_.clear();
      runs_begin_ = std::ssize(file_.runs);
    } else if (depth_ > kInRecord && is_used(key_)) {
      wrong("an object");
    }
    ++depth_;
    return true;
  }
  bool key(std::string& value) override {
    if (depth_ == kTop) {
      section_ = value == "images"        ? Section::kImages
                 : value == "annotations" ? Section::kAnnotations
                 : value == "categories"  ? Section::kCategories
                                          : Section::kOther;
      section_name_ = value;
      has_images_ = has_images_ || section_ == Section::kImages;
      has_categories_ = has_categories_ || section_ == Section::kCategories;
    } else if (depth_ == kInRecord) {
      key_ = value;
    } else if (depth_ == kInField) {
      inner_key_ = value;
    }
    return true;
  }
  bool end_object() override {
    --depth_;
    if (depth_ == kInSection && section_ != Section::kOther) keep_record();
    if (depth_ == kInRecord && in_outline()) finish_runs();
    return true;
  }

  bool start_array(std::size_t) override {
    FOVEA_CHECK(depth_ > 0, FileError,
                fmt::format("{}: begins with a list; expected an object of COCO, with \"images\", "
                            "\"annotations\" and \"categories\"",
                            name_));
    if (depth_ == kInSection) refuse_outside("a list");
    if (depth_ == kInRecord) {
      inner_key_.clear();
      if (section_ == Section::kAnnotations && key_ == "bbox") {
        record_.has_bbox = true;
      } else if (in_outline()) {
        if (outlines_) {
          record_.outline.form = Form::kPolygons;
          record_.outline.begin = std::ssize(file_.polygon_ends);
        }
      } else {
        refuse_kind("a list");
      }
    }
    ++depth_;
    return true;
  }
  bool end_array() override {
    --depth_;
    if (!in_outline() || !outlines_) return true;
    if (depth_ == kInField && record_.outline.form == Form::kPolygons)
      file_.polygon_ends.push_back(std::ssize(file_.corners));
    if (depth_ == kInRecord) record_.outline.end = std::ssize(file_.polygon_ends);
    return true;
  }

  bool parse_error(std::size_t, const std::string&,
                   const nlohmann::detail::exception& error) override {
    const std::string text = error.what();
    const std::size_t code = text.find("] ");
    throw FileError(fmt::format("{}: is no whole JSON: {}", name_,
                                code == std::string::npos ? text : text.substr(code + 2)));
  }

 private:
  enum class Section : std::uint8_t { kOther, kImages, kAnnotations, kCategories };
  // How deep the parser is: in the file's object, in the list of a section, in a record, in a list
  // or object that a key of a record has, in one inside that.
  static constexpr int kTop = 1, kInSection = 2, kInRecord = 3, kInField = 4, kInInner = 5;

  bool in_outline() const {
    return section_ == Section::kAnnotations && key_ == "segmentation" && depth_ >= kInRecord;
  }
  // Keys of a record whose values are read.
  bool is_used(const std::string& key) const {
    switch (section_) {
      case Section::kImages:
        return key == "id" || key == "height" || key == "width" || key == "file_name";
      case Section::kCategories:
        return key == "id" || key == "name";
      case Section::kAnnotations:
        return key == "id" || key == "image_id" || key == "category_id" || key == "area" ||
               key == "iscrowd" || key == "bbox" || key == "segmentation";
      case Section::kOther:
        break;
    }
    return false;
  }
  static bool is_text(const std::string& key) { return key == "file_name" || key == "name"; }

  std::size_t records() const {
    return section_ == Section::kImages       ? file_.images.size()
           : section_ == Section::kCategories ? file_.categories.size()
                                              : file_.annotations.size();
  }
  [[noreturn]] void complain(const std::string& what) const {
    throw FileError(
        fmt::format("{}: record {} of \"{}\": {}", name_, records() + 1, section_name_, what));
  }
  // Something else than numbers or texts inside a list or an object of a key.
  [[noreturn]] void wrong(const char* found) const {
    complain(fmt::format("\"{}\" holds {}", key_, found));
  }
  // A value of that kind for a key that needs another one.
  void refuse_kind(const char* found) const {
    if (is_used(key_)) complain(fmt::format("\"{}\" is {}", key_, found));
  }
  // A section that is no list, or one that holds something else than objects.
  void refuse_outside(const char* found) const {
    if (section_ == Section::kOther) return;
    FOVEA_CHECK(depth_ != kTop, FileError,
                fmt::format("{}: \"{}\" is {}; expected a list", name_, section_name_, found));
    if (depth_ == kInSection) complain(fmt::format("is {}; expected an object", found));
  }

  bool number(double value) {
    if (section_ == Section::kOther) return true;
    refuse_outside("a number");
    if (depth_ == kInRecord) {
      scalar(value);
    } else if (depth_ == kInField) {
      if (key_ == "bbox" && section_ == Section::kAnnotations) {
        record_.bbox.push_back(value);
      } else if (in_outline() && record_.outline.form == Form::kPolygons) {
        wrong("a number; expected lists of corners");
      }
    } else if (depth_ == kInInner && in_outline()) {
      inner_number(value);
    }
    return true;
  }
  void scalar(double value) {
    if (key_ == "id") record_.id = value;
    if (key_ == "height") record_.height = value;
    if (key_ == "width") record_.width = value;
    if (key_ == "image_id") record_.image_id = value;
    if (key_ == "category_id") record_.category_id = value;
    if (key_ == "area") record_.area = value;
    if (key_ == "iscrowd") record_.iscrowd = value;
    if (is_text(key_) || key_ == "bbox" || key_ == "segmentation") refuse_kind("a number");
  }
  void inner_number(double value) {
    if (!outlines_) return;
    if (record_.outline.form == Form::kPolygons) {
      file_.corners.push_back(value);
    } else if (inner_key_ == "size") {
      record_.size.push_back(value);
    } else if (inner_key_ == "counts") {
      file_.runs.push_back(whole(value, "counts", -1e15, 1e15));
    }
  }

  // At the end of {"size": ..., "counts": ...}.
  void finish_runs() {
    if (!outlines_ || record_.outline.form == Form::kPolygons) return;
    if (record_.size.size() != 2)
      complain(fmt::format("\"segmentation\" has a size of {} numbers; expected height and width",
                           record_.size.size()));
    record_.outline.height = whole(record_.size[0], "size", 1, 1e6);
    record_.outline.width = whole(record_.size[1], "size", 1, 1e6);
    if (record_.outline.form == Form::kString) return;
    record_.outline.form = Form::kRuns;
    record_.outline.begin = runs_begin_;
    record_.outline.end = std::ssize(file_.runs);
  }

  std::int64_t whole(double value, const char* key, double low, double high) const {
    if (!(value >= low && value <= high) || value != std::floor(value))
      complain(fmt::format("\"{}\" is {}; expected a whole number from {:.0f} to {:.0f}", key,
                           value, low, high));
    return static_cast<std::int64_t>(value);
  }
  std::int64_t whole(const std::optional<double>& value, const char* key, double low = -9e15,
                     double high = 9e15) const {
    if (!value) complain(fmt::format("has no \"{}\"", key));
    return whole(*value, key, low, high);
  }
  std::string text(const std::optional<std::string>& value, const char* key) const {
    if (!value || value->empty()) complain(fmt::format("has no \"{}\"", key));
    return *value;
  }

  void keep_record() {
    if (section_ == Section::kImages) {
      file_.images.push_back({whole(record_.id, "id"), whole(record_.height, "height", 1, 1e6),
                              whole(record_.width, "width", 1, 1e6),
                              text(record_.file_name, "file_name")});
    } else if (section_ == Section::kCategories) {
      file_.categories.push_back({whole(record_.id, "id"), text(record_.name, "name")});
    } else {
      keep_annotation();
    }
  }
  void keep_annotation() {
    CocoAnnotation made;
    made.id = record_.id ? whole(record_.id, "id") : 0;
    made.image = whole(record_.image_id, "image_id");
    made.category = whole(record_.category_id, "category_id");
    if (!record_.has_bbox) complain("has no \"bbox\"");
    if (record_.bbox.size() != made.bbox.size())
      complain(fmt::format("\"bbox\" has {} numbers; expected x, y, width, height",
                           record_.bbox.size()));
    std::copy(record_.bbox.begin(), record_.bbox.end(), made.bbox.begin());
    made.area = record_.area.value_or(made.bbox[2] * made.bbox[3]);
    made.crowd = record_.iscrowd && *record_.iscrowd != 0;
    made.outline = record_.outline;
    file_.annotations.push_back(made);
  }

  template <class Record>
  std::unordered_map<std::int64_t, std::int64_t> places_of(const std::vector<Record>& records,
                                                           const char* section) const {
    std::unordered_map<std::int64_t, std::int64_t> places;
    for (std::size_t k = 0; k < records.size(); ++k) {
      const bool added = places.emplace(records[k].id, static_cast<std::int64_t>(k)).second;
      FOVEA_CHECK(added, FileError,
                  fmt::format("{}: id {} is twice in \"{}\"", name_, records[k].id, section));
    }
    return places;
  }

  std::string name_;
  bool outlines_;
  CocoFile file_;
  int depth_ = 0;
  Section section_ = Section::kOther;
  std::string section_name_, key_, inner_key_;
  CocoRecord record_;
  std::int64_t runs_begin_ = 0;
  bool has_images_ = false, has_categories_ = false;
};

}  // namespace

MaskRuns CocoFile::mask_of(const CocoAnnotation& annotation, const std::string& where) const {
  const CocoImage& image = images[static_cast<std::size_t>(annotation.image)];
  const CocoOutline& outline = annotation.outline;
  FOVEA_CHECK(outline.form == Form::kPolygons || outline.form == Form::kNone ||
                  (outline.height == image.height && outline.width == image.width),
              FileError,
              fmt::format("{}: its mask is {} x {}, its image {} x {}", where, outline.height,
                          outline.width, image.height, image.width));
  const auto in = [](auto& list, std::int64_t begin, std::int64_t end) {
    return std::span(list).subspan(static_cast<std::size_t>(begin),
                                   static_cast<std::size_t>(end - begin));
  };
  switch (outline.form) {
    case Form::kString:
      return mask_from_string(strings[static_cast<std::size_t>(outline.begin)], image.height,
                              image.width, where);
    case Form::kRuns:
      return mask_from_runs(in(runs, outline.begin, outline.end), image.height, image.width, where);
    case Form::kPolygons:
      if (outline.begin < outline.end) {
        std::vector<std::vector<double>> polygons;
        std::int64_t at =
            outline.begin == 0 ? 0 : polygon_ends[static_cast<std::size_t>(outline.begin - 1)];
        for (const std::int64_t end : in(polygon_ends, outline.begin, outline.end)) {
          const auto part = in(corners, at, end);
          polygons.emplace_back(part.begin(), part.end());
          at = end;
        }
        return mask_from_polygons(polygons, image.height, image.width, where);
      }
      break;
    case Form::kNone:
      break;
  }
  throw FileError(fmt::format("{}: has no segmentation; set dataset.masks=false", where));
}

CocoFile parse_coco(std::string_view json, const std::string& name, bool outlines) {
  CocoReader reader(name, outlines);
  Json::sax_parse(json, &reader);
  return reader.finish();
}

}  // namespace fovea::data
