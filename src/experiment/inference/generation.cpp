#include "experiment/inference/generation.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "autograd/mode.h"
#include "base/error.h"
#include "base/suggest.h"
#include "data/images/image_dataset.h"
#include "metrics/generation.h"
#include "ops/elementwise.h"
#include "ops/indexing.h"
#include "ops/shape.h"
#include "tensor/host.h"
#include "training/selection.h"
#include "training/tasks/task_registry.h"
#include "visualise/drawing/montage.h"
#include "visualise/maps/attention_maps.h"

namespace fovea::experiment {
namespace {

constexpr std::int64_t kFrames = 60;
constexpr std::int64_t kShownClasses = 10;
constexpr std::size_t kShownOfClass = 16;
constexpr std::int64_t kGridSide = 64;  // of an image in a picture, at least

std::optional<std::int64_t> number_in(std::string_view text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

std::int64_t known_class(std::int64_t label, const std::vector<std::string>& names) {
  FOVEA_CHECK(label >= 0 && label < std::ssize(names), ConfigError,
              fmt::format("--classes {}: the run's data have classes 0 to {}", label,
                          std::ssize(names) - 1));
  return label;
}

void add_choice(std::string_view word, const std::vector<std::string>& names,
                std::vector<std::int64_t>& to) {
  if (word == "none") {
    to.push_back(-1);
    return;
  }
  const auto named = std::find(names.begin(), names.end(), word);
  const std::size_t dash = word.find('-');
  const auto from = number_in(word.substr(0, dash));
  if (dash != std::string_view::npos && from && number_in(word.substr(dash + 1))) {
    const std::int64_t last = known_class(*number_in(word.substr(dash + 1)), names);
    for (std::int64_t label = known_class(*from, names); label <= last; ++label)
      to.push_back(label);
  } else if (dash == std::string_view::npos && from) {
    to.push_back(known_class(*from, names));
  } else {
    const std::string hint = did_you_mean(std::string(word), names);
    FOVEA_CHECK(named != names.end(), ConfigError,
                fmt::format("--classes {}: no class of the run's data{} expected numbers (0-{}), "
                            "names, or none",
                            word, hint.empty() ? ";" : hint, std::ssize(names) - 1));
    to.push_back(named - names.begin());
  }
}

visualise::Canvas picture_of_image(const Tensor& images, std::int64_t i) {
  const Tensor one = images.rows(i, i + 1);
  const auto values = one.host_values<float>();
  return visualise::picture_of({values.begin(), values.end()}, one.size(1), one.size(2),
                               one.size(3));
}

std::int64_t enlargement(const Tensor& images) {
  const std::int64_t side = std::max(images.size(2), images.size(3));
  return std::max<std::int64_t>(1, (kGridSide + side - 1) / side);
}

visualise::Canvas frame_of(const training::Denoised& now) {
  visualise::Montage montage;
  montage.column_labels = {fmt::format("step {} of {}", now.step, now.steps), "seen in it"};
  montage.rows.emplace_back();
  for (const Tensor& tensor : {now.x, now.x_start}) {
    const Tensor shown = training::shown_images(tensor.rows(0, 1));
    if (montage.rows.back().size() >= kShownOfClass) continue;
    montage.rows.back().push_back(picture_of_image(shown, 0));
    montage.factor = 2 * enlargement(shown);
  }
  return visualise::render(montage);
}

// Logits and what they are made of, row after row.
struct Features {
  std::vector<Tensor> embeddings, logits;

  void add(const models::Outputs& out, const Device& host) {
    embeddings.push_back(ops::to(out.embedding, host));
    logits.push_back(ops::to(out.logits, host));
  }
};

}  // namespace

std::vector<std::int64_t> class_choice(const std::string& text,
                                       const std::vector<std::string>& class_names) {
  std::vector<std::int64_t> chosen;
  if (text.empty()) {
    for (std::int64_t label = 0; label < std::ssize(class_names); ++label) chosen.push_back(label);
    return chosen;
  }
  std::string_view rest = text;
  while (true) {
    const std::size_t comma = std::min(rest.find(','), rest.size());
    add_choice(rest.substr(0, comma), class_names, chosen);
    if (comma == rest.size()) return chosen;
    rest.remove_prefix(comma + 1);
  }
}

Generated generate(Run& run, const GenerateSettings& settings) {
  Generated result;
  for (const std::int64_t label : settings.classes)
    result.labels.insert(result.labels.end(), static_cast<std::size_t>(settings.samples), label);
  const std::int64_t batches =
      (std::ssize(result.labels) + settings.batch_size - 1) / settings.batch_size;
  training::ImageRequest request{.labels = result.labels,
                                 .sampler = settings.sampler,
                                 .random = RandomStream(settings.seed).fork("generate"),
                                 .batch_size = settings.batch_size,
                                 .stop = settings.stop};
  request.watch = [&](const training::Denoised& now) {
    if (settings.progress)
      settings.progress(now.first / settings.batch_size * now.steps + now.step,
                        batches * now.steps);
    if (!settings.film || now.first > 0) return;
    // As many as a film has, and the last one.
    const std::int64_t every = (now.steps + kFrames - 1) / kFrames;
    if ((now.steps - now.step) % every == 0) result.film.frames.push_back(frame_of(now));
  };
  result.images = run.task().generate_images(request);
  return result;
}

visualise::Canvas image_grid(const Generated& generated,
                             const std::vector<std::string>& class_names,
                             const std::string& title) {
  visualise::Montage montage;
  montage.title = title;
  montage.factor = enlargement(generated.images);
  for (std::size_t i = 0; i < generated.labels.size(); ++i) {
    const std::int64_t label = generated.labels[i];
    if (i == 0 || label != generated.labels[i - 1]) {
      montage.rows.emplace_back();
      montage.row_labels.push_back(label < 0 ? "no class"
                                             : class_names[static_cast<std::size_t>(label)]);
    }
    montage.rows.back().push_back(picture_of_image(generated.images, static_cast<std::int64_t>(i)));
  }
  return visualise::render(montage);
}

std::optional<visualise::Canvas> epoch_samples(Run& run, const std::string& title) {
  const Experiment& e = run.experiment();
  const std::vector<std::string>& names = run.task().source().class_names();
  if (training::tasks().find(e.task).info.gives != std::string("images") || e.eval.samples == 0)
    return std::nullopt;
  GenerateSettings settings;
  const std::int64_t rows = std::min(kShownClasses, std::ssize(names));
  for (std::int64_t row = 0; row < rows; ++row)
    settings.classes.push_back(row * std::ssize(names) / rows);
  settings.samples = e.eval.samples;
  settings.sampler = training::sampler_options(e.eval.sampler);
  settings.seed = static_cast<std::uint64_t>(e.seed);
  return image_grid(generate(run, settings), names, title);
}

ProxyScores proxy_scores(Run& classifier, const Tensor& images) {
  FOVEA_CHECK(classifier.model().interface() == models::Interface::kImageClassifier, ConfigError,
              fmt::format("--classifier: the network of the run is {}; expected {}",
                          models::info_of(classifier.model().interface()).name,
                          models::info_of(models::Interface::kImageClassifier).name));
  const autograd::NoGrad no_grad;
  classifier.model().train(false);
  training::Task& task = classifier.task();
  const data::Split part = training::reported_part(task.source().parts());
  const data::ImageDataset& real = data::images_of(task.source().at(part));
  const Shape expected{images.size(0), real.channels(), real.height(), real.width()};
  FOVEA_CHECK(images.shape() == expected, ConfigError,
              fmt::format("--classifier: knows images of {} x {} x {} (channels, height, width); "
                          "those that were made are {}",
                          real.channels(), real.height(), real.width(),
                          to_string(images.shape().part(1, images.rank()))));
  const Device& host = task.source().options().host;
  Features made, true_ones;
  task.source().each_batch(part, std::nullopt, [&](const data::Batch& batch) {
    true_ones.add(task.output(batch), host);
  });
  const Shape channels{1, real.channels(), 1, 1};
  std::vector<double> scale, shift;
  for (std::size_t c = 0; c < real.mean().size(); ++c) {
    scale.push_back(1 / real.std()[c]);
    shift.push_back(-real.mean()[c] / real.std()[c]);
  }
  const auto of_channels = [&](const std::vector<double>& values) {
    return from_doubles(values, channels, DType::kFloat32, images.device());
  };
  const Tensor seen = ops::add(ops::mul(images, of_channels(scale)), of_channels(shift));
  const std::int64_t size = task.source().options().eval_batch_size();
  for (std::int64_t first = 0; first < images.size(0); first += size) {
    data::Batch batch;
    batch.set("image", seen.rows(first, std::min(first + size, images.size(0))));
    made.add(task.output(batch), host);
  }
  ProxyScores scores;
  scores.images = images.size(0);
  scores.real = real.size();
  scores.part = data::name_of(part);
  scores.splits = std::min<std::int64_t>(10, images.size(0));
  scores.fid =
      metrics::frechet_distance(metrics::feature_statistics(ops::concat(made.embeddings, 0)),
                                metrics::feature_statistics(ops::concat(true_ones.embeddings, 0)));
  // Images come class after class, and each part should have some of every one.
  const Tensor order = Tensor::from(
      RandomStream(0).fork("inception score").permutation(scores.images), {scores.images}, host);
  const metrics::InceptionScore is =
      metrics::inception_score(ops::embedding(ops::concat(made.logits, 0), order), scores.splits);
  scores.is_mean = is.mean;
  scores.is_std = is.std;
  return scores;
}

}  // namespace fovea::experiment
