// Explanations of the networks of cases, by the library's methods. explain A, D.

#include <fmt/format.h>

#include "explain/methods/method.h"
#include "tensor/host.h"
#include "verify/explain/network.h"
#include "verify/runners.h"

namespace fovea::verify {
namespace {

using schema::Value;

// A method of the library and its options, from the words of a case.
struct Asked {
  std::string name;
  const explain::Method* method;
  Value options;
};

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

std::vector<Asked> asked_methods(const Case& c) {
  const Config methods = c.config().at("methods");
  std::vector<Asked> all;
  for (const std::string& name : methods.keys()) {
    const Config words = methods.at(name);
    Asked asked{name, &method_of(words), Value::object()};
    for (const std::string& key : words.keys()) {
      if (key == "method" || !words.given(key)) continue;
      if (asked.method->fields->find(key) == nullptr) words.refuse(key);
      asked.options.set(key, option_of(key, words.value(key), *asked.method));
    }
    if (asked.method->name == "occlusion" && c.given("units"))
      asked.options.set("units", c.value("units"));
    all.push_back(std::move(asked));
  }
  return all;
}

void run_methods(const Case& c, const explain::Subject& subject, const std::vector<Asked>& asked,
                 Checker& check) {
  check.compare("output/logits", subject.clean_scores());
  const std::int64_t target = c.integer("target");
  const std::vector<std::int64_t> targets =
      target < 0 ? subject.predicted()
                 : std::vector<std::int64_t>(static_cast<std::size_t>(subject.batch()), target);
  check.compare("output/target", std::vector<double>(targets.begin(), targets.end()));
  c.check_all_read();
  explain::ExplanationRequest request{subject, targets, RandomStream(1)};
  if (c.has("input/noise")) request.noise = c.at("input/noise");
  if (c.has("input/masks")) request.masks = c.at("input/masks");
  for (const Asked& one : asked) {
    const explain::Explanation found = one.method->explain(request, one.options);
    check.compare("output/" + one.name, found.values);
    if (!found.completeness_gap.empty())
      check.compare("output/" + one.name + "_completeness", found.completeness_gap);
  }
}

void run_network(const Case& c, Checker& check) {
  const std::vector<Asked> asked = asked_methods(c);
  c.config().describes({"units"});
  const auto model = network_of(c, check);
  if (!check.passed()) return;
  run_methods(c, explain::Subject(*model, c.at("input/x")), asked, check);
}

void run_text(const Case& c, Checker& check) {
  const std::vector<Asked> asked = asked_methods(c);
  const auto model = network_of(c, check);
  if (!check.passed()) return;
  run_methods(c, explain::Subject(*model, c.at("input/ids"), c.at("input/mask")), asked, check);
}

}  // namespace

Table explain_networks() {
  Table table;
  table.add("explain_network") = run_network;
  table.add("explain_text") = run_text;
  return table;
}

}  // namespace fovea::verify
