#include "experiment/run/open_data.h"

#include "base/error.h"
#include "schema/compare.h"

namespace fovea::experiment {

OpenedData OpenData::get(const Experiment& experiment, const std::function<OpenedData()>& open) {
  const schema::Value key =
      schema::Value::object({{"type", experiment.dataset.type},
                             {"dataset", experiment.dataset.options},
                             {"vocab_size", experiment.model.options.find("vocab_size") != nullptr
                                                ? experiment.model.options.at("vocab_size")
                                                : schema::Value()},
                             {"batch_size", experiment.train.batch_size},
                             {"seed", experiment.seed}});
  const auto [entry, is_new] = entries_.try_emplace(schema::content_hash(key));
  if (is_new) {
    try {
      entry->second.data = open();
    } catch (const Error&) {
      entry->second.error = std::current_exception();
    }
  }
  if (entry->second.error) std::rethrow_exception(entry->second.error);
  return entry->second.data;
}

}  // namespace fovea::experiment
