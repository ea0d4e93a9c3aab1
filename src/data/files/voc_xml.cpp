#include "data/files/voc_xml.h"

#include <expat.h>
#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <memory>
#include <optional>

#include "base/error.h"
#include "base/shown.h"

namespace fovea::data {
namespace {

constexpr std::size_t kMaxXmlBytes = std::size_t{1} << 26;
constexpr std::size_t kMaxXmlDepth = 64;
constexpr std::size_t kMostShown = 40;  // bytes of a text in a message
constexpr std::array<std::string_view, 4> kSides = {"xmin", "ymin", "xmax", "ymax"};

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r\n";
  const std::size_t first = text.find_first_not_of(kBlank);
  if (first == std::string_view::npos) return "";
  return text.substr(first, text.find_last_not_of(kBlank) + 1 - first);
}

std::optional<double> number_in(std::string_view text) {
  double value = 0;
  const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole = status == std::errc() && end == text.data() + text.size();
  return whole && std::isfinite(value) ? std::optional(value) : std::nullopt;
}

// expat calls back from C, through which no exception may pass: the first complaint is kept, and
// the parser stopped.
class VocReader {
 public:
  explicit VocReader(const std::string& name)
      : name_(name), parser_(XML_ParserCreate(nullptr), &XML_ParserFree) {
    FOVEA_CHECK(parser_ != nullptr, FileError, fmt::format("{}: no memory to read it", name));
    XML_SetUserData(parser_.get(), this);
    XML_SetElementHandler(
        parser_.get(),
        [](void* self, const XML_Char* tag, const XML_Char**) { of(self).begin(tag); },
        [](void* self, const XML_Char*) { of(self).end(); });
    XML_SetCharacterDataHandler(parser_.get(), [](void* self, const XML_Char* text, int length) {
      of(self).text_.append(text, static_cast<std::size_t>(length));
    });
    XML_SetEntityDeclHandler(
        parser_.get(),
        [](void* self, const XML_Char*, int, const XML_Char*, int, const XML_Char*, const XML_Char*,
           const XML_Char*, const XML_Char*) { of(self).complain("declares an entity"); });
  }

  VocAnnotation read(std::string_view xml) {
    FOVEA_CHECK(xml.size() <= kMaxXmlBytes, FileError,
                fmt::format("{}: holds {} bytes, an annotation of VOC at most {}", name_,
                            xml.size(), kMaxXmlBytes));
    const XML_Status status =
        XML_Parse(parser_.get(), xml.data(), static_cast<int>(xml.size()), XML_TRUE);
    if (!complaint_.empty()) throw FileError(complaint_);
    FOVEA_CHECK(
        status == XML_STATUS_OK, FileError,
        fmt::format("{}:{}: is no whole XML: {}", name_, XML_GetCurrentLineNumber(parser_.get()),
                    XML_ErrorString(XML_GetErrorCode(parser_.get()))));
    return std::move(found_);
  }

 private:
  static VocReader& of(void* self) { return *static_cast<VocReader*>(self); }

  void complain(const std::string& what) {
    if (complaint_.empty()) {
      complaint_ = fmt::format("{}:{}: {}", name_, XML_GetCurrentLineNumber(parser_.get()), what);
    }
    XML_StopParser(parser_.get(), XML_FALSE);
  }

  bool within(std::initializer_list<std::string_view> path) const {
    return std::equal(path_.begin(), path_.end(), path.begin(), path.end());
  }

  // After a complaint a last call may come, of the end of an empty element.
  void begin(const char* tag) {
    if (!complaint_.empty()) return;
    if (path_.empty() && std::string_view(tag) != "annotation")
      return complain(
          fmt::format("begins with <{}>; expected <annotation>", shown(tag, kMostShown)));
    if (path_.size() >= kMaxXmlDepth) return complain("has elements more than 64 deep");
    path_.emplace_back(tag);
    text_.clear();
    if (within({"annotation", "object"})) {
      object_ = {};
      sides_.fill(false);
    }
  }

  void end() {
    if (!complaint_.empty()) return;
    const std::string_view text = trimmed(text_);
    const std::string& tag = path_.back();
    if (within({"annotation", "size", "width"})) {
      length(text, found_.width);
    } else if (within({"annotation", "size", "height"})) {
      length(text, found_.height);
    } else if (within({"annotation", "object", "name"})) {
      object_.name = text;
    } else if (within({"annotation", "object", "difficult"})) {
      if (const auto value = number(text)) object_.difficult = *value != 0;
    } else if (within({"annotation", "object"})) {
      finish_object();
    }
    for (std::size_t k = 0; k < kSides.size(); ++k) {
      if (tag != kSides[k] || !within({"annotation", "object", "bndbox", kSides[k]})) continue;
      if (const auto value = number(text)) object_.bndbox[k] = *value;
      sides_[k] = true;
    }
    path_.pop_back();
    text_.clear();
  }

  std::optional<double> number(std::string_view text) {
    const auto value = number_in(text);
    if (!value)
      complain(
          fmt::format("<{}> is \"{}\"; expected a number", path_.back(), shown(text, kMostShown)));
    return value;
  }

  void length(std::string_view text, std::int64_t& to) {
    const auto value = number(text);
    if (!value) return;
    if (*value < 0 || *value > 1e6 || *value != std::floor(*value))
      return complain(fmt::format("<{}> is {}; expected a number of pixels", path_.back(),
                                  shown(text, kMostShown)));
    to = static_cast<std::int64_t>(*value);
  }

  void finish_object() {
    const auto number = found_.objects.size() + 1;
    if (object_.name.empty()) return complain(fmt::format("object {} has no <name>", number));
    for (std::size_t k = 0; k < kSides.size(); ++k) {
      if (!sides_[k])
        return complain(fmt::format("object {} has no <{}> in a <bndbox>", number, kSides[k]));
    }
    found_.objects.push_back(std::move(object_));
  }

  std::string name_;
  std::unique_ptr<XML_ParserStruct, void (*)(XML_Parser)> parser_;
  std::vector<std::string> path_;
  std::string text_;
  VocObject object_;
  std::array<bool, 4> sides_{};
  VocAnnotation found_;
  std::string complaint_;
};

}  // namespace

VocAnnotation parse_voc(std::string_view xml, const std::string& name) {
  return VocReader(name).read(xml);
}

}  // namespace fovea::data
