#include "experiment/run/run_draw.h"

#include <fmt/format.h>

#include "data/parts/split.h"
#include "experiment/file/experiment.h"
#include "experiment/file/experiment_kind.h"

namespace fovea::experiment {

RunDraw run_draw(const schema::Value& config) {
  schema::Value settings =
      identity(experiment_kind(), config, {.places = schema::Places::kIgnored});
  settings.set("seed", schema::Value());
  settings.set("name", schema::Value());
  std::string draw = fmt::format("{}", parse(config).seed);
  constexpr const char* kFold = "dataset.split.fold";
  if (const schema::Value* given = schema::find_path(settings, kFold);
      given != nullptr && given->is_string()) {
    if (const auto fold = data::parse_fold(given->as_string())) {
      draw += fmt::format(" {}", fold->index);
      schema::set_path(settings, kFold, fmt::format("of {}", fold->count));
    }
  }
  return {settings.dump(0), draw};
}

}  // namespace fovea::experiment
