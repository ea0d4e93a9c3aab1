#include "experiment/inference/prediction.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <optional>
#include <span>
#include <utility>

#include "autograd/mode.h"
#include "base/error.h"
#include "base/hash.h"
#include "data/audio/speech_dataset.h"
#include "data/boxes/box_dataset.h"
#include "data/given/given_samples.h"
#include "data/given/text_reader.h"
#include "data/images/image_dataset.h"
#include "data/volumes/volume_dataset.h"
#include "experiment/file/experiment.h"
#include "experiment/inference/ensemble.h"
#include "experiment/inference/eval_results.h"
#include "experiment/inference/lost_words.h"
#include "experiment/inference/predict_inputs.h"
#include "experiment/inference/predict_journal.h"
#include "experiment/inference/predicted_files.h"
#include "experiment/inference/predicted_objects.h"
#include "experiment/reports/objects/detection_table.h"
#include "experiment/reports/prediction_table.h"

namespace fovea::experiment {
namespace {

namespace fs = std::filesystem;
using schema::Value;

ResultHeads heads_of(const Ensemble& runs, bool probabilities) {
  const data::Dataset& samples = runs.samples();
  if (data::find_boxes(samples) != nullptr)
    return detection_heads(makes_masks(runs.first().model()));
  if (data::find_speech(samples) != nullptr) return {{"name", "file", "text"}};
  if (data::find_volumes(samples) != nullptr || !runs.classifies()) return {{"name", "file"}};
  return prediction_heads(samples.class_names(), probabilities);
}

// The table, which grows.
class PredictionTable {
 public:
  PredictionTable(PredictJournal& journal, TableFormat format, ResultHeads heads)
      : format_(format),
        heads_(std::move(heads)),
        file_(journal.file(fmt::format("predictions.{}", ending_of(format_)))) {
    if (format_ == TableFormat::kCsv && file_.size() == 0) file_.write(csv_line(heads_));
  }

  void add(const ResultRow& row) {
    pending_ += format_ == TableFormat::kCsv ? csv_line(row) : json_line(heads_, row);
  }
  // Whole rows, in one piece.
  void write() {
    if (!pending_.empty()) file_.write(pending_);
    pending_.clear();
  }

 private:
  TableFormat format_;
  ResultHeads heads_;
  io::File& file_;
  std::string pending_;
};

std::string hash_of(const std::vector<std::string>& texts) {
  std::string all;
  for (const std::string& text : texts) all += fmt::format("{} {}\n", text.size(), text);
  return hash_bytes(all);
}

Value described(const std::vector<PredictInput>& inputs) {
  std::vector<std::string> words;
  for (const PredictInput& input : inputs) {
    words.push_back(input.name);
    for (const fs::path& file : input.files) words.push_back(file.string());
  }
  return Value::object({{"files", std::ssize(inputs)}, {"hash", hash_of(words)}});
}

Value described_texts(const PredictRequest& request) {
  std::vector<std::string> files;
  for (const fs::path& file : request.inputs) files.push_back(file.string());
  return Value::object({{"files", Value::array(files)},
                        {"texts", std::ssize(request.texts)},
                        {"hash", hash_of(request.texts)},
                        {"columns", Value::array(request.columns)}});
}

// All that results follow from. (How many inputs share a batch changes none.)
Value settings_of(const Ensemble& runs, const PredictRequest& request, Value inputs) {
  Value members = Value::array();
  for (Run* run : runs.runs()) {
    Value config = identity(experiment_kind(), run->config());
    config.erase("files");  // of training: a run that was copied may lack them
    members.push_back(Value::object({{"weights", weights_hash(run->model())},
                                     {"device", run->experiment().train.device},
                                     {"config", config}}));
  }
  return Value::object(
      {{"inputs", std::move(inputs)},
       {"format", std::string(ending_of(request.format))},
       {"probabilities", request.probabilities},
       {"postprocessing", training::to_value(runs.first().task().postprocessing().options)},
       {"runs", members}});
}

// One pass over the inputs.
class Prediction {
 public:
  Prediction(const Ensemble& runs, const PredictRequest& request, PredictObserver& observer)
      : runs_(runs), request_(request), observer_(observer), samples_(runs.samples()) {}

  PredictCounts run() {
    if (const auto* texts = dynamic_cast<const data::TextDataset*>(&samples_)) {
      predict_texts(*texts);
    } else {
      predict_files();
    }
    return counts_;
  }

 private:
  // Where an earlier pass ended. Nothing is written yet.
  void begin(Value inputs) {
    journal_.emplace(request_.out, settings_of(runs_, request_, std::move(inputs)),
                     request_.continues);
    const PredictJournal::State& before = journal_->begin();
    counts_.failed = before.failed;
    counts_.predicted = before.done - before.failed;
    observer_.continued(before.done);
    if (before.failed > 0 && !journal_->complete())
      observer_.noted(
          fmt::format("{} of the first {} inputs could not be read; they are not tried again",
                      before.failed, before.done));
  }

  PredictionTable& table() {
    if (!table_)
      table_.emplace(*journal_, request_.format, heads_of(runs_, request_.probabilities));
    return *table_;
  }

  void finish() {
    table();
    if (objects_) objects_->close();
    if (!counts_.stopped) journal_->finish({counts_.predicted + counts_.failed, counts_.failed});
  }

  void say_failed(const std::string& message) {
    observer_.failed(message);
    ++counts_.failed;
  }

  // Writes the rows of what was predicted, and says whether to go on. done: inputs, from the first
  // on; those of them that are not predicted could not be read.
  bool goes_on(std::int64_t done) {
    table().write();
    journal_->note({done, done - counts_.predicted});
    observer_.progressed(counts_.predicted + counts_.failed, counts_.inputs);
    counts_.stopped = observer_.stops();
    return !counts_.stopped;
  }

  void each_batch(const Ensemble::Prepare& prepare, const Ensemble::Visit& visit) {
    for (const std::string& message : runs_.each_batch(prepare, batch_size(), visit))
      say_failed(message);
  }

  std::int64_t batch_size() const {
    return request_.batch_size > 0 ? request_.batch_size : runs_.eval_batch_size();
  }

  ResultRow class_row(const std::string& name, const std::string& file, std::int64_t index,
                      std::span<const float> probabilities) const {
    const auto best = std::max_element(probabilities.begin(), probabilities.end());
    return prediction_cells({name, file, {}, best - probabilities.begin(), probabilities, index},
                            samples_.class_names(), request_.probabilities);
  }

  // Files.

  void predict_files() {
    FOVEA_CHECK(samples_.has("image") || data::find_speech(samples_) != nullptr, ConfigError,
                "the run is of a language model; fovea generate goes on with its texts");
    FOVEA_CHECK(request_.texts.empty() && request_.columns.empty(), ConfigError,
                "--text and --column are of runs that read texts; give files");
    auto [inputs, notes] = predict_inputs(samples_, request_.inputs, request_.out);
    for (const std::string& note : notes) observer_.noted(note);
    counts_.inputs = std::ssize(inputs);
    begin(described(inputs));
    if (journal_->complete()) return;
    table();
    inputs.erase(inputs.begin(), inputs.begin() + journal_->begin().done);
    const bool alone = data::find_volumes(samples_) != nullptr ||
                       data::find_boxes(samples_) != nullptr ||
                       data::find_speech(samples_) != nullptr;
    if (alone) {
      predict_one_by_one(inputs);
    } else {
      predict_pictures(data::images_of(samples_), inputs);
    }
    finish();
  }

  void predict_pictures(const data::ImageDataset& images, const std::vector<PredictInput>& inputs) {
    if (inputs.empty()) return;  // the pass before this one had all of them
    std::vector<fs::path> files;
    for (const PredictInput& input : inputs) files.push_back(input.files.front());
    each_batch(
        [&](const data::Dataset& like) {
          return data::given_pictures(data::images_of(like), files);
        },
        [&](const data::Batch& batch, const Tensor& probabilities) {
          for (std::int64_t k = 0; k < batch.size(); ++k) {
            const auto at = static_cast<std::size_t>(k);
            add_picture(images, inputs[static_cast<std::size_t>(batch.indices[at])],
                        batch.geometry[at], probabilities.rows(k, k + 1));
          }
          counts_.predicted += batch.size();
          return goes_on(inputs[static_cast<std::size_t>(batch.indices.back())].index + 1);
        });
  }

  void add_picture(const data::ImageDataset& images, const PredictInput& input,
                   const data::Geometry& geometry, const Tensor& probabilities) {
    const std::string file = input.files.front().string();
    if (runs_.classifies()) {
      const auto values = probabilities.host_values<float>();
      table().add(class_row(input.name, file, input.index, {values.begin(), values.end()}));
      return;
    }
    write_masks(images, probabilities, geometry, input.name, files());
    table().add({input.name, file});
  }

  void predict_one_by_one(const std::vector<PredictInput>& inputs) {
    if (const data::BoxDataset* boxes = data::find_boxes(samples_))
      objects_.emplace(*journal_, *boxes, makes_masks(runs_.first().model()));
    for (const PredictInput& input : inputs) {
      try {
        predict_one(input);
        ++counts_.predicted;
      } catch (const FileError& error) {  // the others are worth having
        say_failed(error.what());
      }
      if (!goes_on(input.index + 1)) break;
    }
  }

  void predict_one(const PredictInput& input) {
    const std::string file = input.files.front().string();
    if (data::find_volumes(samples_) != nullptr) {
      predict_volume(runs_, input, files());
      table().add({input.name, file});
    } else if (const auto* speech = data::find_speech(samples_)) {
      const data::Batch batch = speech->batch_of_file(input.files.front());
      table().add({input.name, file, runs_.first().task().text_of(batch)});
    } else {
      const data::BoxDataset& boxes = *data::find_boxes(samples_);
      const std::vector<metrics::DetectedObject> found =
          predict_objects(runs_.first(), boxes, input, files());
      objects_->add(input.index, found);
      for (const ResultRow& row : detection_rows(input.name, file, found, boxes.class_names(),
                                                 makes_masks(runs_.first().model())))
        table().add(row);
    }
  }

  PredictedFiles files() const {
    return {request_.out, runs_.first().task().postprocessing(), request_.probabilities};
  }

  // Texts.

  void predict_texts(const data::TextDataset& texts) {
    counts_.inputs = request_.inputs.empty() ? std::ssize(request_.texts) : 0;
    begin(described_texts(request_));
    if (journal_->complete()) return;
    for (std::size_t i = 0; i < request_.texts.size(); ++i)
      add_text(texts, {fmt::format("text {}", i + 1), "", request_.texts[i]});
    for (const fs::path& file : request_.inputs) {
      data::TextReader reader(file, request_.columns, texts.options().encoding);
      const std::int64_t before = texts_read_;
      while (!counts_.stopped) {
        std::optional<data::GivenText> text = reader.next();
        if (!text) break;
        add_text(texts, std::move(*text));
      }
      if (texts_read_ == before && !counts_.stopped)
        observer_.noted(fmt::format("{}: holds no text", file.string()));
    }
    predict_waiting();
    finish();
    if (const std::string note = lost_.text(); !note.empty()) observer_.noted(note);
  }

  // Texts of about equal length share a batch, so that little of it is padding: this many batches
  // are sorted together.
  static constexpr std::int64_t kSortedBatches = 32;

  void add_text(const data::TextDataset& texts, data::GivenText text) {
    const std::int64_t index = texts_read_++;
    if (index < journal_->begin().done) return;
    const bool blank = text.text.find_first_not_of(" \t\r\n\f\v") == std::string::npos;
    if (text.problem.empty() && blank && texts.options().on_empty != data::OnEmpty::kKeep)
      text.problem = fmt::format("{}: holds no word; expected a text", text.name);
    if (!text.problem.empty()) return say_failed(text.problem);
    lost_.add(texts.read(text.text));
    waiting_.push_back({std::move(text), index});
    if (std::ssize(waiting_) >= kSortedBatches * batch_size()) predict_waiting();
  }

  void predict_waiting() {
    if (waiting_.empty() || counts_.stopped) return;
    std::vector<std::size_t> order(waiting_.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      return waiting_[a].given.text.size() > waiting_[b].given.text.size();
    });
    std::vector<std::string> sorted;
    for (const std::size_t place : order) sorted.push_back(waiting_[place].given.text);
    std::vector<std::vector<float>> probabilities(waiting_.size());
    std::int64_t done = 0;
    each_batch(
        [&](const data::Dataset& like) { return data::given_texts(data::texts_of(like), sorted); },
        [&](const data::Batch& batch, const Tensor& rows) {
          done += batch.size();
          for (std::int64_t k = 0; k < batch.size(); ++k) {
            const auto values = rows.rows(k, k + 1).host_values<float>();
            const auto sample =
                static_cast<std::size_t>(batch.indices[static_cast<std::size_t>(k)]);
            probabilities[order[sample]].assign(values.begin(), values.end());
          }
          counts_.stopped = observer_.stops();
          return !counts_.stopped;
        });
    if (done == std::ssize(waiting_)) {  // else some have no probabilities
      for (std::size_t i = 0; i < waiting_.size(); ++i) {
        const auto& [given, index] = waiting_[i];
        table().add(class_row(given.name, given.file, index, probabilities[i]));
      }
      counts_.predicted += std::ssize(waiting_);
      goes_on(texts_read_);
    }
    waiting_.clear();
  }

  struct WaitingText {
    data::GivenText given;
    std::int64_t index;  // among the inputs
  };

  const Ensemble& runs_;
  const PredictRequest& request_;
  PredictObserver& observer_;
  const data::Dataset& samples_;
  std::optional<PredictJournal> journal_;
  std::optional<PredictionTable> table_;
  PredictCounts counts_;
  std::optional<PredictedObjects> objects_;  // of detectors
  std::int64_t texts_read_ = 0;
  std::vector<WaitingText> waiting_;  // read and not yet predicted
  LostWords lost_;
};

}  // namespace

PredictCounts predict(const std::vector<Run*>& runs, const PredictRequest& request,
                      PredictObserver& observer) {
  const autograd::NoGrad no_grad;
  const Ensemble ensemble(runs);
  return Prediction(ensemble, request, observer).run();
}

}  // namespace fovea::experiment
