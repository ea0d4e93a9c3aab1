#include "experiment/run/exported.h"

#include <fmt/format.h>

#include <filesystem>
#include <initializer_list>
#include <utility>

#include "backend/devices.h"
#include "base/error.h"
#include "base/file.h"
#include "base/version.h"
#include "experiment/file/experiment.h"
#include "schema/json/parse.h"
#include "schema/load.h"
#include "training/store/class_names.h"

namespace fovea::experiment {
namespace {

using schema::Value;

// The description of data that an older program did not keep.
std::string described_by_data(const TrainedRun& run) {
  TrainedRun with_data = run;
  with_data.samples = {data::OpenParts::kAll};
  const Opened opened = open_run(with_data);
  return opened.run->task().files().at(data::kDescriptionFile);
}

// The inverse of WeightsUsed::describe().
WeightsUsed weights_in(const training::ModelFile& model) {
  const Value& stored = model.about.at("weights");
  WeightsUsed weights;
  weights.checkpoint = stored.at("checkpoint").as_string();
  weights.step = stored.at("step").as_int();
  weights.averaged = stored.at("averaged").as_bool();
  if (const Value* note = stored.find("note")) weights.note = note->as_string();
  for (const Value& tensor : stored.at("random").items())
    weights.random.push_back(tensor.as_string());
  return weights;
}

// What the program says of its end; empty for a run that is not over.
Value summary_of(const std::filesystem::path& run_folder) {
  const auto file = run_folder / "summary.json";
  return io::fs::exists(file) ? schema::load(file) : Value::object();
}

Value member(const Value& object, const char* key) {
  const Value* found = object.find(key);
  return found == nullptr ? Value() : *found;
}

}  // namespace

training::ModelFile exported(const ExportRequest& request) {
  FOVEA_CHECK(!training::is_model_file(request.run.folder), ConfigError,
              fmt::format("{}: is exported already; expected the folder of a run made by train",
                          request.run.folder.string()));
  TrainedRun run = request.run;
  if (!run.averaged) run.averaged = averaged_for_images(load_config(run.folder));
  StoredRun stored = read_run(run);
  training::ModelFile model{stored.tensors(), stored.config, stored.checkpoint.files};
  if (!model.files.contains(data::kDescriptionFile))
    model.files[data::kDescriptionFile] = described_by_data(run);
  const Value summary = summary_of(run.folder);
  const bool reported = request.run.checkpoint.empty() && !request.run.averaged;
  Value weights = Value::object();
  stored.weights.describe(weights);
  for (const auto& [key, value] : std::initializer_list<std::pair<const char*, Value>>{
           {"name", stored.config.at("name")},
           {"task", stored.config.at("task")},
           {"dataset", stored.config.at("dataset").at("type")},
           {"license", request.license},
           {"author", request.author},
           {"description", request.description},
           {"weights", weights},
           {"parameters", member(summary, "parameters")},
           {"metrics", reported ? member(summary, "metrics") : Value()},
           {"data", stored.checkpoint.state.data},
           {"program", fmt::format("fovea {} ({})", version(), commit())}})
    model.about.set(key, value);
  return model;
}

Value described(const training::ModelFile& model) {
  Value told = Value::object({{"hash", model.hash}});
  try {
    for (const Value::Member& said : model.about.members()) told.set(said.key, said.value);
    told.set("model", model.config.at("model").at("type"));
    told.set("weights_text", weights_in(model).text());
    Value names = Value::array();
    for (const auto& [name, text] : model.files) names.push_back(name);
    told.set("files", names);
    told.set("outputs", Value::array());
    const auto classes = model.files.find(training::kClassesFile);
    if (classes != model.files.end())
      told.set("outputs", schema::parse(classes->second, training::kClassesFile));
  } catch (const ConfigError& error) {
    throw FileError(fmt::format("about: {}", error.what()));
  }
  return told;
}

StoredRun read_exported(const TrainedRun& from) {
  const std::string name = from.folder.string();
  FOVEA_CHECK(from.checkpoint.empty(), ConfigError,
              fmt::format("--checkpoint: {} has the weights of one checkpoint", name));
  training::ModelFile model = training::read_model_file(from.folder, make_cpu(1));
  StoredRun stored;
  schema::Notes notes;
  stored.config =
      resolved_of_run(brought_up_to_date(experiment_kind(), model.config), from.overrides, notes);
  stored.notes = notes.list();
  stored.folder = from.folder;
  stored.file = name;
  try {
    stored.weights = weights_in(model);
    stored.checkpoint.state.data = model.about.at("data");
  } catch (const ConfigError& error) {
    throw FileError(fmt::format("{}: about: {}", name, error.what()));
  }
  FOVEA_CHECK(!from.averaged || *from.averaged == stored.weights.averaged, ConfigError,
              fmt::format("--ema, --no-ema: {} has {} weights alone", name,
                          stored.weights.averaged ? "the averaged" : "the last, not averaged,"));
  stored.checkpoint.state.step = stored.weights.step;
  stored.checkpoint.files = std::move(model.files);
  (stored.weights.averaged ? stored.checkpoint.ema : stored.checkpoint.model) =
      std::move(model.weights);
  return stored;
}

}  // namespace fovea::experiment
