#include "verify/explain/methods.h"

namespace fovea::verify {
namespace {

using schema::Value;

const explain::Method& method_of(const Config& words) {
  const std::string name = words.text("method");
  for (const explain::Method& method : explain::methods()) {
    if (method.name == name) return method;
  }
  words.refuse("method");
}

// Layers are words here and lists of words in the library, or numbers and words.
Value option_of(const std::string& key, const Value& given, const explain::Method& method) {
  if (key != "layer") return given;
  if (method.name.ends_with("_cam")) return Value::array({given});
  return given.is_string() ? given : Value(std::to_string(given.as_int()));
}

}  // namespace

Asked asked_method(const std::string& name, const Config& words, const Case& c) {
  Asked asked{name, &method_of(words), Value::object()};
  for (const std::string& key : words.keys()) {
    if (key == "method" || !words.given(key)) continue;
    if (asked.method->fields->find(key) == nullptr) words.refuse(key);
    asked.options.set(key, option_of(key, words.value(key), *asked.method));
  }
  if (asked.method->name == "occlusion" && c.given("units"))
    asked.options.set("units", c.value("units"));
  return asked;
}

}  // namespace fovea::verify
