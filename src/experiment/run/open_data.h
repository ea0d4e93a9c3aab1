// Data sets that several experiments share, opened once.
#pragma once

#include <cstddef>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "experiment/file/experiment.h"
#include "training/batch_source.h"

namespace fovea::experiment {

struct OpenedData {
  std::shared_ptr<training::BatchSource> source;
  models::DataShape shape;
};

class OpenData {
 public:
  /// The data of an experiment; `open` is called for the first of those that read the same in the
  /// same batches. What it throws is thrown for the others too, without another look.
  OpenedData get(const Experiment& experiment, const std::function<OpenedData()>& open);
  /// How many there are.
  std::size_t size() const { return entries_.size(); }

 private:
  struct Entry {
    OpenedData data;
    std::exception_ptr error;
  };
  std::map<std::string, Entry> entries_;
};

}  // namespace fovea::experiment
