// Which part of the data chooses among the weights of a run, and which weights its numbers are of.
// A part that chooses is named wherever the numbers are reported.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "data/parts/split.h"
#include "metrics/metric_info.h"
#include "schema/json/value.h"
#include "training/options.h"

namespace fovea::training {

/// The part that the final numbers of a run are of: test if there is one.
data::Split reported_part(const std::vector<data::Split>& parts);

struct Selection {
  std::optional<data::Split> on;        // part whose metric is monitored: val, test or none
  metrics::MetricInfo monitor;          // the metric that decides which weights are best
  std::vector<std::string> candidates;  // its name, and that of averaged weights where they count
  bool best = false;                    // the run reports its best weights, not its last ones
  bool stops = false;                   // the monitored part may end the run
  std::vector<data::Split> during;      // parts evaluated while the run goes on
  data::Split reported = data::Split::kTest;  // part that the final numbers are of

  bool monitored() const { return on.has_value(); }
};

/// Val chooses if there is one, test only if train.select_on says so, and otherwise nothing does.
/// `parts` are those of BatchSource::parts, `monitor` is that of monitor_of(). Throws ConfigError
/// for a part that is not there, and for options that need a part to choose on where there is none.
Selection select(const std::vector<data::Split>& parts, const metrics::MetricInfo& monitor,
                 const TrainOptions& options);

/// What a run will report, and what decides: "best, by the highest val pooled_dice", "last; nothing
/// selects".
std::string choice_text(const Selection& selection);

/// Of a summary: "best weights, of step 35 (epoch 7) by test loss 0.31; selected on test", "last
/// weights, of step 100 (epoch 20); nothing was selected".
std::string weights_text(const schema::Value& summary);

}  // namespace fovea::training
