#include "data/described/weight_files.h"

#include <fmt/format.h>

#include "base/error.h"
#include "schema/json/parse.h"

namespace fovea::data {
namespace {

constexpr std::int64_t kFormat = 1;

}  // namespace

const std::string* WeightFiles::find(const std::string& name) const {
  const auto found = files.find(name);
  return found == files.end() ? nullptr : &found->second;
}

schema::Value WeightFiles::description() const {
  const std::string file = path_of(kDescriptionFile);
  const std::string* text = find(kDescriptionFile);
  FOVEA_CHECK(text != nullptr, FileError, file + ": not found");
  schema::Limits limits;
  limits.bytes = text->size();
  try {
    const schema::Value stored = schema::parse(*text, file, limits);
    FOVEA_CHECK(stored.at("format").as_int() == kFormat, FileError,
                fmt::format("{}: is of format {}; this program reads {}", file,
                            stored.at("format").as_int(), kFormat));
    return stored.at("samples");
  } catch (const ConfigError& error) {
    throw FileError(fmt::format("{}: damaged: {}", file, error.what()));
  }
}

std::string description_text(const schema::Value& description) {
  return schema::Value::object({{"format", kFormat}, {"samples", description}}).dump() + "\n";
}

const schema::Value& described_as(const schema::Value& description, std::string_view kind) {
  const schema::Value* found = description.is_object() ? description.find(kind) : nullptr;
  FOVEA_CHECK(found != nullptr, FileError,
              fmt::format("{}: describes no {}; the weights were trained on another kind of data",
                          kDescriptionFile, kind));
  return *found;
}

std::vector<std::string> numbered_classes(std::int64_t count) {
  std::vector<std::string> names;
  for (std::int64_t k = 0; k < count; ++k) names.push_back(std::to_string(k));
  return names;
}

}  // namespace fovea::data
