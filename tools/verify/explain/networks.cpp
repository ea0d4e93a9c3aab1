// Explanations of the networks of cases, by the library's methods. explain A, D.

#include <fmt/format.h>

#include "tensor/host.h"
#include "verify/explain/methods.h"
#include "verify/explain/network.h"
#include "verify/runners.h"

namespace fovea::verify {
namespace {

std::vector<Asked> asked_methods(const Case& c) {
  const Config methods = c.config().at("methods");
  std::vector<Asked> all;
  for (const std::string& name : methods.keys())
    all.push_back(asked_method(name, methods.at(name), c));
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
  const std::vector<RandomStream> streams(targets.size(), RandomStream(1));
  explain::ExplanationRequest request{.subject = subject, .targets = targets, .random = streams};
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
