#include "training/tasks/task.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "autograd/mode.h"
#include "base/error.h"
#include "ops/create.h"
#include "ops/elementwise.h"
#include "training/messages.h"

namespace fovea::training {
namespace {

void check_fields(const std::vector<std::string>& needed, const std::vector<data::Field>& there) {
  std::vector<std::string> names;
  for (const data::Field& field : there) names.push_back(field.name);
  for (const std::string& name : needed) {
    FOVEA_CHECK(std::find(names.begin(), names.end(), name) != names.end(), ConfigError,
                fmt::format("task: needs samples with \"{}\", but those of the data set have {}; "
                            "choose another data set or task",
                            name, fmt::join(names, ", ")));
  }
}

}  // namespace

Task::Task(models::Model& model, std::shared_ptr<BatchSource> source,
           const std::vector<std::string>& needed)
    : model_(model), source_(std::move(source)), inferer_(make_inferer({"whole", {}})) {
  std::vector<std::string> names = needed;
  for (const models::InputField& field : models::info_of(model_.interface()).reads) {
    if (field.in_samples) names.push_back(field.name);
  }
  if (source_ != nullptr) check_fields(names, source_->fields());
  const auto parameters = model_.parameters();
  FOVEA_CHECK(!parameters.empty(), ConfigError, "model: has no parameters");
  device_ = parameters.front().tensor.device();
  dtype_ = parameters.front().tensor.dtype();
}

models::Outputs Task::output(const data::Batch& batch, attention::Probe* probe) {
  models::Inputs inputs;
  for (const models::InputField& field : models::info_of(model_.interface()).reads) {
    const Tensor there = ops::to(batch.at(field.name), device_);
    const bool fits = there.dtype() == dtype_ || !is_floating(there.dtype());
    inputs.*field.tensor = fits ? there : ops::cast(there, dtype_);
  }
  return model_(inputs, probe);
}

void Task::set_inferer(std::unique_ptr<const Inferer> inferer) {
  const models::Interface network = model_.interface();
  FOVEA_CHECK(
      inferer->is_whole() || network == models::Interface::kDenseNetwork, ConfigError,
      fmt::format("eval.inferer: windows are of dense networks; the network is {}; expected "
                  "whole",
                  models::info_of(network).name));
  inferer_ = std::move(inferer);
}

Tensor Task::probabilities_of(const data::Batch&) {
  throw ConfigError("task: predicts no probabilities; expected segmentation or classes");
}

Task::PixelClasses Task::pixel_classes(data::Split, std::int64_t) {
  throw ConfigError("task: gives no pixel a class; expected segmentation");
}

Tensor Task::predicted_classes(const data::Batch&) {
  throw ConfigError("task: gives no pixel a class; expected segmentation");
}

Task::Picture Task::picture(data::Split, std::int64_t) {
  throw ConfigError("task: has no pictures of its samples; expected segmentation or detection");
}

std::vector<metrics::DetectedObject> Task::objects_in(const data::Batch&) {
  throw ConfigError("task: finds no objects; expected detection");
}

Tensor Task::generate_images(const ImageRequest&) {
  throw ConfigError("task: makes no images; expected generation");
}

void Task::set_postprocessing(const PostprocessingOptions& options) {
  FOVEA_CHECK(options.empty(), ConfigError,
              "--keep-largest, --min-size: are of segmentations; expected a run that makes masks");
}

PostprocessingChoice Task::choose_postprocessing(data::Split) {
  throw ConfigError(
      "--choose-postprocessing: is of segmentations; expected a run that makes masks");
}

data::Batch Task::prepared(const data::Batch& batch, const RandomStream&) const { return batch; }

void Task::set_random(const RandomStream& random) {
  random_ = random.fork("task");
  model_.set_random(random);
}

std::string Task::text_of(const data::Batch&) {
  throw ConfigError("task: writes no text; expected transcription");
}

void Task::set_decoding(const DecodingOptions& options) {
  FOVEA_CHECK(options == DecodingOptions{}, ConfigError,
              "eval.decoding: is of transcription; expected {}");
}

void Task::set_questions(const std::vector<schema::Component>& sets) {
  FOVEA_CHECK(sets.empty(), ConfigError, "eval.questions: are of language_modelling; expected []");
}

void Task::add_metrics(const metrics::CaseMetrics& asked) {
  check_no_classes(asked);
  FOVEA_CHECK(asked.names.empty(), ConfigError,
              fmt::format("eval.metrics: {} is of classifications or segmentations; expected []",
                          fmt::join(asked.names, ", ")));
}

void Task::check_no_classes(const metrics::CaseMetrics& asked) {
  FOVEA_CHECK(asked.classes.empty(), ConfigError, "eval.classes: is of segmentations; expected []");
}

void Task::look(data::Split split, attention::Probe& probe) {
  check_split(split);
  const autograd::NoGrad no_grad;
  data::Batch batch = source_->one(split, 0);
  if (model_.interface() == models::Interface::kDenseNetwork) {
    const std::string& name = models::info_of(model_.interface()).reads.front().name;
    const Shape sample = batch.at(name).shape();
    Shape window{1, sample[1]};
    for (const std::int64_t size : inferer_->window_of(sample.part(2, sample.rank()).to_vector()))
      window.push_back(size);
    batch.set(name, ops::zeros(window, DType::kFloat32, device_));
  }
  output(batch, &probe);
}

void Task::check_inferer() {
  const bool whole = inferer_->is_whole();
  const std::string& name = models::info_of(model_.interface()).reads.front().name;
  const auto field = std::find_if(source_->fields().begin(), source_->fields().end(),
                                  [&](const data::Field& f) { return f.name == name; });
  // Volumes are as large as memory, so that no first pass is made of a whole one.
  const bool picture = field->rule == data::Collate::kAlone && field->shape.rank() == 3;
  const std::vector<data::Split> parts = source_->parts();
  if (whole && (!picture || parts.empty())) return;
  const Shape sample = whole ? source_->at(parts.front()).get(0).at(name).shape() : field->shape;
  Shape shape{1, sample[0]};
  for (const std::int64_t size : inferer_->window_of(sample.part(1, sample.rank()).to_vector()))
    shape.push_back(size);
  const autograd::NoGrad no_grad;
  const bool training = model_.training();
  model_.train(false);
  data::Batch window;
  window.set(name, ops::zeros(shape, DType::kFloat32, device_));
  try {
    output(window);
  } catch (const Error& error) {
    throw ConfigError(fmt::format(
        "{}: the network cannot take {} of {}: {}{}",
        whole ? "eval.inferer" : "eval.inferer.roi_size", whole ? "whole pictures" : "windows",
        to_string(shape.part(2, shape.rank())), error.what(),
        whole ? "; expected sliding_window with a roi_size that it takes" : ""));
  }
  model_.train(training);
}

models::Outputs Task::infer(const data::Batch& batch) {
  if (model_.interface() == models::Interface::kDenseNetwork) {
    const std::string& name = models::info_of(model_.interface()).reads.front().name;
    const auto network = [&](const Tensor& image) {
      data::Batch windows;
      windows.set(name, image);
      return output(windows).maps;
    };
    return {.maps = (*inferer_)(batch.at(name), network)};
  }
  models::Outputs out = output(batch);
  if (out.logits.defined()) out.logits = ops::to(out.logits, host());
  return out;
}

Task::LossParts Task::loss_parts(const data::Batch& given) {
  const data::Batch seen = prepared(given, random_);
  const models::Outputs out = output(seen);
  const auto& reads = models::info_of(model_.interface()).reads;
  data::Batch batch = seen;
  for (const auto& [name, tensor] : seen) {
    const bool is_input = std::any_of(reads.begin(), reads.end(),
                                      [&](const auto& field) { return field.name == name; });
    if (!is_input) batch.set(name, ops::to(tensor, device_));
  }
  return loss_parts_of(out, batch);
}

std::vector<std::string> Task::names_of(const std::vector<std::int64_t>& indices,
                                        data::Split split) const {
  std::vector<std::string> names;
  for (const std::int64_t i : indices) names.push_back(source_->sample_name(split, i));
  return names;
}

void Task::check_split(data::Split split) const {
  FOVEA_CHECK(source_->has(split), ConfigError,
              fmt::format("dataset: has no split \"{}\"", data::name_of(split)));
}

void Task::for_each_batch(data::Split split, const std::optional<NoiseLevel>& noise,
                          const VisitOutputs& visit) {
  check_split(split);
  FOVEA_CHECK(members_.empty() || !noise, ConfigError,
              "several runs: are scored without noise; expected one run, or --no-noise");
  if (ranks_ != nullptr && !ranks_->alone()) return share_batches(split, noise, visit);
  source_->each_batch(split, noise, [&](const data::Batch& given) {
    const data::Batch batch = changed(given);
    visit(batch, infer(split, batch));
  });
}

// In rounds: each rank makes one batch, then all visit those of all ranks, one after the other, so
// that no more than two outputs are in memory.
void Task::share_batches(data::Split split, const std::optional<NoiseLevel>& noise,
                         const VisitOutputs& visit) {
  const std::int64_t ranks = ranks_->size();
  const std::string& read = models::info_of(model_.interface()).reads.front().name;
  std::int64_t rounds = 0;  // that are over
  const auto round = [&](const data::Batch* batch, const models::Outputs& own) {
    const std::string bytes = batch != nullptr ? evaluated_bytes(*batch, own, read) : "";
    for (int r = 0; r < ranks_->size(); ++r) {
      const std::string of = ranks_->from(r, bytes);
      if (of.empty()) continue;
      if (r == ranks_->rank()) {
        visit(*batch, own);
      } else {
        const auto [seen, said] = evaluated_from(of, host(), device_);
        visit(seen, said);
      }
    }
    ++rounds;
  };
  const std::int64_t batches =
      source_->each_batch(split, noise,
                          [&](const data::Batch& given) {
                            while (rounds < given.number / ranks)
                              round(nullptr, {});  // none of its samples was read
                            const data::Batch batch = changed(given);
                            round(&batch, infer(split, batch));
                          },
                          {.group = ranks, .ranks = ranks, .rank = ranks_->rank()});
  while (rounds * ranks < batches) round(nullptr, {});
}

void Task::set_members(std::vector<Task*> members) {
  if (!members.empty()) outputs_for(Tensor::from(std::vector<float>{0.5f, 0.5f}, {1, 2}, host()));
  members_ = std::move(members);
}

models::Outputs Task::outputs_for(const Tensor&) const {
  throw ConfigError(
      "several runs: those of classes and of masks are averaged; expected one run of other tasks");
}

models::Outputs Task::infer(data::Split split, const data::Batch& batch) {
  if (members_.empty()) return infer(batch);
  Tensor sum = probabilities_of(batch);
  for (Task* member : members_)
    sum = ops::add(sum, member->probabilities_of(
                            member->changed(member->source().these(split, batch.indices))));
  return outputs_for(ops::mul(sum, 1.0 / static_cast<double>(members_.size() + 1)));
}

namespace {

// float32 has no smaller number with all its digits.
constexpr float kLeastProbability = std::numeric_limits<float>::min();

template <class Function>
Tensor each_value(const Tensor& tensor, const Function& function) {
  const auto given = tensor.host_values<float>();
  std::vector<float> values;
  values.reserve(given.size());
  for (const float value : given) values.push_back(function(value));
  return Tensor::from(values, tensor.shape(), tensor.device());
}

}  // namespace

Tensor log_probabilities(const Tensor& probabilities) {
  const auto given = probabilities.host_values<float>();
  const std::int64_t classes = probabilities.size(1);
  const std::int64_t places = probabilities.numel() / (probabilities.size(0) * classes);
  std::vector<float> values(given.begin(), given.end());
  for (std::int64_t i = 0; i < std::ssize(values); ++i) {
    if (i / places % classes != 0) continue;  // once for the classes of a place
    const auto of_class = [&](std::int64_t c) -> float& {
      return values[static_cast<std::size_t>(i + c * places)];
    };
    float largest = kLeastProbability;
    for (std::int64_t c = 0; c < classes; ++c) largest = std::max(largest, of_class(c));
    for (std::int64_t c = 0; c < classes; ++c)
      of_class(c) = std::log(std::max(of_class(c), kLeastProbability) / largest);
  }
  return Tensor::from(values, probabilities.shape(), probabilities.device());
}

Tensor log_odds(const Tensor& probabilities) {
  return each_value(probabilities, [](float p) {
    return std::log(std::max(p, kLeastProbability)) - std::log(std::max(1 - p, kLeastProbability));
  });
}

std::vector<std::size_t> ascending(const std::vector<std::int64_t>& keys) {
  std::vector<std::size_t> order(keys.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](auto a, auto b) { return keys[a] < keys[b]; });
  return order;
}

}  // namespace fovea::training
