#include "experiment/file/experiment_kind.h"

#include "schema/describe/contents.h"
#include "schema/load.h"
#include "schema/renamed.h"

namespace fovea::experiment {

using schema::Notes;
using schema::OldKeys;
using schema::Value;

Value load_file(const ExperimentKind& kind, const std::filesystem::path& file, Notes& notes) {
  return schema::load(file, [&](Value& content) {
    schema::rename_keys(*kind.fields, content, OldKeys::kBeside, notes);
  });
}

void override_setting(const ExperimentKind& kind, Value& experiment, const std::string& assignment,
                      Notes& notes) {
  schema::apply_override(experiment, assignment);
  schema::rename_keys(*kind.fields, experiment, OldKeys::kLater, notes);
}

void override_setting(const ExperimentKind& kind, Value& experiment, const std::string& path,
                      const Value& value, Notes& notes) {
  schema::set_path(experiment, path, value);
  schema::rename_keys(*kind.fields, experiment, OldKeys::kLater, notes);
}

namespace {

// What a key that is not there meant to the program that stored the configuration, where that is
// not today's default.
void keep_older_meaning(Value& config) {
  const Value* schedule = config.find("schedule");
  if (schedule == nullptr || !schedule->is_object() || schedule->find("warmup_unit")) return;
  const Value* unit = schedule->find("unit");
  const Value* epochs = schedule->find("warmup_epochs");
  if (unit == nullptr || epochs == nullptr || !epochs->is_number()) return;
  const bool rises_by_epoch = *unit == Value("epoch") && epochs->as_double() > 0;
  if (rises_by_epoch) schema::set_path(config, "schedule.warmup_unit", "epoch");
}

}  // namespace

Value brought_up_to_date(const ExperimentKind& kind, const Value& stored) {
  Notes silent;
  Value config = stored;
  schema::rename_keys(*kind.fields, config, OldKeys::kStored, silent);
  keep_older_meaning(config);
  return kind.resolve(config, silent);
}

Value identity(const ExperimentKind& kind, const Value& stored, const schema::Counted& counted) {
  return schema::identity(*kind.fields, brought_up_to_date(kind, stored), counted);
}

schema::Counted counted_in(const ExperimentKind& kind, const Value& resolved) {
  return {.by_name = schema::unknown_contents(*kind.fields, resolved)};
}

}  // namespace fovea::experiment
