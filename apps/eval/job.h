// The parts of an evaluation that do not depend on the task.
#pragma once

#include <string>

#include "base/file.h"
#include "eval/arguments.h"
#include "eval/saves.h"
#include "experiment/open_run.h"

namespace fovea::apps {

struct Job {
  const EvalArguments& args;
  experiment::Run& run;
  const experiment::WeightsUsed& weights;
  const training::BatchSource& data;
  const training::NoiseGrid grid;
  const Saves saves;
  bool json = false;
  io::fs::path out;

  const std::string& name() const { return run.experiment().name; }
};

/// A metric by its name; NaN if there is none.
double metric_of(const training::Metrics& metrics, const std::string& wanted);

/// The beginning of results.json, which says what the numbers are of; also printed.
schema::Value begin_report(const Job& job, std::size_t samples, const training::Metrics& metrics);

/// Notes the files that --save wrote, and prints their names.
void add_saved(const Job& job, const std::vector<std::string>& files, schema::Value& result);

}  // namespace fovea::apps
