#include "explain/targets.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/error.h"
#include "data/images/image_dataset.h"

namespace fovea::explain {

using visualise::Reads;
using visualise::ShownRun;

std::string class_name(const ShownRun& run, std::int64_t c) {
  const std::vector<std::string>& names = run.samples.output_names();
  return c < std::ssize(names) ? names[as_index(c)] : fmt::format("class {}", c);
}

std::int64_t target_of(const std::string& target, const ShownRun& run, const Subject& subject,
                       std::int64_t i, std::optional<std::int64_t> label) {
  if (target == "predicted") return subject.predicted()[as_index(i)];
  if (target == "label") {
    FOVEA_CHECK(label && !subject.segments(), ConfigError,
                "--target label: the input has no label; expected samples by their numbers, or "
                "predicted, or a class");
    return *label;
  }
  const std::vector<std::string>& names = run.samples.output_names();
  const auto named = std::find(names.begin(), names.end(), target);
  if (named != names.end()) return named - names.begin();
  std::int64_t number = 0;
  const char* end = target.data() + target.size();
  const auto [stop, error] = std::from_chars(target.data(), end, number);
  const std::int64_t classes = subject.clean_scores().size(1);
  FOVEA_CHECK(error == std::errc() && stop == end && number >= 0 && number < classes, ConfigError,
              fmt::format("--target {}: {} has no such class; expected predicted, label, a name of "
                          "a class or its number from 0 to {}",
                          target, run.name, classes - 1));
  return number;
}

Colours colours_of(const ShownRun& run) {
  const Reads reads = reads_of(run);
  if (reads != Reads::kOneGrid && reads != Reads::kSeveralGrids) return {};
  const data::ImageDataset& images = data::images_of(run.samples);
  return {{images.mean().begin(), images.mean().end()}, {images.std().begin(), images.std().end()}};
}

}  // namespace fovea::explain
