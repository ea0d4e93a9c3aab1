// What a network costs: parameters, multiply-adds and output shape of every module, and the peak
// memory of a step. Counted on the meta device, inside the operations, so nothing is run and
// nothing functional is missed.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "models/model.h"
#include "schema/json/value.h"

namespace fovea::experiment {

struct ModuleSummary {
  std::string name;  // dotted; "" is the whole network
  std::string type;
  int level = 0;
  std::int64_t parameters = 0;  // of this module and everything below
  std::int64_t macs = 0;        // forward, batch 1
  Shape output;                 // with batch 1; empty where the module ran no operation
};

struct Summary {
  std::int64_t parameters = 0;
  std::int64_t macs = 0;                   // multiply-adds of one forward pass at batch 1, with a
                                           // detector's second stage (Model::forward_dummy)
  std::optional<std::int64_t> macs_paper;  // the same as the paper counts, if it does so otherwise
  std::int64_t batch_size = 0;             // of the peaks below
  std::int64_t train_peak_bytes = 0;       // step_peak_bytes() of the experiment; see summarise()
  std::int64_t infer_peak_bytes = 0;
  std::vector<ModuleSummary> modules;
};

/// `make` builds the network on the device it is given; `input` is one sample's shape without the
/// batch axis. The peak of training, which loss and optimiser are part of, is left at 0.
Summary summarise(const std::function<std::unique_ptr<models::Model>(const Device&)>& make,
                  const Shape& input, std::int64_t batch_size);

/// The contract of `inspect --json`: parameters, macs, macs_paper where there is one, modules with
/// name, type, parameters, macs, output shape.
schema::Value to_json(const Summary& summary);

/// A table for people, modules down to `depth` levels.
std::string to_text(const Summary& summary, int depth);

/// 5.35 M, 360 M, 1.2 GiB, ...
std::string count_text(std::int64_t count);
std::string bytes_text(std::int64_t bytes);

}  // namespace fovea::experiment
