#include "inspect/model_file.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdint>
#include <vector>

#include "backend/devices.h"
#include "experiment/run/exported.h"
#include "experiment/run/summary.h"

namespace fovea::apps {
namespace {

using schema::Value;

constexpr std::size_t kMostNames = 20;

std::string names_text(const Value& names) {
  std::vector<std::string> shown;
  for (const Value& name : names.items()) {
    if (shown.size() == kMostNames) break;
    shown.push_back(name.as_string());
  }
  return fmt::format("{}: {}{}", names.size(), fmt::join(shown, ", "),
                     names.size() > kMostNames ? ", ..." : "");
}

// "test loss 0.512, top1 84.3"
std::string metrics_text(const Value& metrics) {
  std::vector<std::string> parts;
  for (const Value::Member& part : metrics.members()) {
    std::vector<std::string> scores;
    for (const Value::Member& score : part.value.members()) {
      if (score.value.is_number())
        scores.push_back(fmt::format("{} {:.4g}", score.key, score.value.as_double()));
    }
    parts.push_back(fmt::format("{} {}", part.key, fmt::join(scores, ", ")));
  }
  return fmt::format("{}", fmt::join(parts, "; "));
}

void print_line(const char* what, const std::string& text) {
  if (!text.empty()) fmt::print("{:<12} {}\n", what, text);
}

}  // namespace

int print_model_file(const std::string& file, bool json) {
  const training::ModelFile model = training::read_model_file(file, make_cpu(1));
  Value told = experiment::described(model);
  if (json) {
    told.set("config", model.config);
    fmt::print("{}\n", told.dump());
    return 0;
  }
  const auto text = [&](const char* key) { return told.at(key).as_string(); };
  fmt::print("{}: {}, {} on {}\n", file, text("name"), text("task"), text("dataset"));
  const Value& parameters = told.at("parameters");
  print_line("network",
             text("model") + (parameters.is_null()
                                  ? ""
                                  : fmt::format(", {} parameters",
                                                experiment::count_text(parameters.as_int()))));
  if (told.at("outputs").size() > 0) print_line("outputs", names_text(told.at("outputs")));
  print_line("weights", text("weights_text"));
  if (const Value& metrics = told.at("metrics"); !metrics.is_null())
    print_line("scores", metrics_text(metrics));
  print_line("license", text("license").empty() ? "none given" : text("license"));
  print_line("author", text("author"));
  print_line("description", text("description"));
  print_line("made by", text("program"));
  print_line("beside", names_text(told.at("files")));
  print_line("hash", text("hash"));
  return 0;
}

}  // namespace fovea::apps
