#include "training/monitor.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/suggest.h"

namespace fovea::training {

std::vector<std::string> measured(const TrainOptions& options, std::vector<std::string> of_task) {
  const std::size_t plain = of_task.size();
  for (std::size_t i = 0; options.ema_decay > 0 && i < plain; ++i)
    of_task.push_back("ema_" + of_task[i]);
  return of_task;
}

void check_monitor(const TrainOptions& options, const std::vector<std::string>& of_task) {
  if (options.monitor.empty()) return;
  const std::vector<std::string> known = measured(options, of_task);
  if (std::find(known.begin(), known.end(), options.monitor) != known.end()) return;
  const bool averaged = options.monitor.starts_with("ema_") && options.ema_decay == 0;
  throw ConfigError(fmt::format("train.monitor: no metric called \"{}\"{} (known: {}{})",
                                options.monitor, did_you_mean(options.monitor, known),
                                fmt::join(known, ", "),
                                averaged ? "; averaged weights need train.ema_decay" : ""));
}

}  // namespace fovea::training
