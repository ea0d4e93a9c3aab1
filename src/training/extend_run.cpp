// More epochs for a run that is over (train --extend).
#include <fmt/format.h>

#include "base/error.h"
#include "base/file.h"
#include "schema/compare.h"
#include "schema/load.h"
#include "training/store/weights.h"
#include "training/trainer.h"

namespace fovea::training {
namespace {

constexpr const char* kEpochs = "train.epochs";

std::int64_t epochs_of(const schema::Value& config) {
  const schema::Value* epochs = config.is_object() ? schema::find_path(config, kEpochs) : nullptr;
  return epochs != nullptr ? epochs->as_int() : 0;
}

}  // namespace

// The run's configuration as it was counts as the one with more epochs.
schema::Value Trainer::extended(schema::Value config) const {
  const std::int64_t now = setup_.train.epochs;
  if (setup_.extend > 0 && epochs_of(config) == now - setup_.extend)
    schema::set_path(config, kEpochs, now);
  return config;
}

// Changes no file.
void Trainer::check_extension(const RunState& last) const {
  const std::string& place = setup_.run_folder.string();
  FOVEA_CHECK(setup_.train.steps == 0, ConfigError,
              fmt::format("--extend: counts epochs, and {} is train.steps={} long; expected a run "
                          "that is measured in epochs",
                          place, setup_.train.steps));
  // One that was stopped between the checkpoint and config.json has begun.
  if (epochs_of(last.config) == setup_.train.epochs) return;
  FOVEA_CHECK(
      !last.stop_reason.empty(), ConfigError,
      fmt::format("--extend: {} stands after {} of {} epochs; finish it with --resume first", place,
                  last.epoch, setup_.train.epochs - setup_.extend));
  FOVEA_CHECK(last.stop_reason == kCompleted, ConfigError,
              fmt::format("--extend: {} ended by {}; more epochs would end it again; begin another "
                          "run with its weights: --init {}",
                          place, last.stop_reason, place));
}

// The checkpoint first: it is what --resume goes on from, and config.json alone says how.
void Trainer::extend() {
  if (epochs_of(state_.config) != setup_.train.epochs) {
    const std::int64_t before = setup_.train.epochs - setup_.extend;
    optim::RunLength was = length();
    was.steps = before * steps_per_epoch_;
    say(fmt::format(
        "step {}: goes on from epoch {} to epoch {}; the learning rate was {:.4g} in the "
        "last step and is {:.4g} in the next",
        state_.step, before, setup_.train.epochs,
        optim::make_schedule(setup_.schedule, was)(was.steps - 1), schedule_(state_.step)));
    state_.stop_reason.clear();
    state_.config = setup_.config;
    state_.config_hash = hash_of_config();
    log_configuration();
    write_checkpoint(to_host(optimiser_->state(), setup_.host));
  }
  io::write_atomic(setup_.run_folder / "config.json", setup_.config.dump() + "\n");
  io::remove_all(setup_.run_folder / "summary.json");  // of the shorter run
}

}  // namespace fovea::training
