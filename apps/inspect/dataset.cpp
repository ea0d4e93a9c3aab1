#include "inspect/dataset.h"

#include <fmt/format.h>

#include "base/cores.h"
#include "common/app.h"
#include "data/registry.h"
#include "data/survey.h"
#include "experiment/file/experiment.h"

namespace fovea::apps {

int inspect_dataset(const schema::Value& resolved, bool json) {
  const experiment::Experiment e = experiment::parse(resolved);
  const data::Splits splits = data::make_splits(e.dataset, {.survey = true});
  const int threads = e.train.threads > 0 ? static_cast<int>(e.train.threads) : usable_cores();
  data::SurveyProgress progress;
  if (stderr_is_terminal() && !json) {
    progress = [](std::int64_t done, std::int64_t total) {
      fmt::print(stderr, "\r{} of {} samples{}", done, total, done == total ? "\n" : "");
    };
  }
  const data::Survey found = data::survey(splits, threads, progress);
  if (json) {
    schema::Value object = schema::Value::object({{"type", e.dataset.type}});
    const schema::Value details = data::to_json(found);
    for (const auto& member : details.members()) object.set(member.key, member.value);
    fmt::print("{}\n", object.dump());
  } else {
    fmt::print("{}: {}, {}", e.dataset.type, data::name_of(data::kind_of(e.dataset)),
               data::to_text(found));
  }
  return 0;
}

}  // namespace fovea::apps
