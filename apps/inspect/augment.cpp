#include "inspect/augment.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "backend/devices.h"
#include "data/collate.h"
#include "data/image_dataset.h"
#include "data/registry.h"
#include "experiment/experiment.h"
#include "visualise/attention_maps.h"
#include "visualise/montage.h"

namespace fovea::apps {
namespace {

visualise::Canvas canvas_of(std::vector<float> image, const data::ImageDataset& images,
                            bool normalised) {
  const std::int64_t plane = images.height() * images.width();
  for (std::int64_t i = 0; normalised && i < std::ssize(image); ++i) {
    const auto c = static_cast<std::size_t>(i / plane);
    float& value = image[static_cast<std::size_t>(i)];
    value = static_cast<float>(double{value} * images.std()[c] + images.mean()[c]);
  }
  return visualise::picture_of(image, images.channels(), images.height(), images.width());
}

// A batch of these samples as an epoch has it, a picture each.
std::vector<visualise::Canvas> pictures_of(const data::ImageDataset& images,
                                           const std::vector<std::int64_t>& chosen,
                                           const data::Draw& draw) {
  data::Collator collator(images.fields(), std::ssize(chosen), make_cpu(1));
  data::Sample sample;
  for (const std::int64_t i : chosen) {
    collator.next(sample);
    images.prepare(i, draw, sample);
    collator.add(sample);
  }
  data::Batch batch = collator.finish();
  images.mix(batch, draw);
  const Tensor& all = batch.at("image");
  std::vector<visualise::Canvas> pictures;
  for (std::int64_t row = 0; row < all.size(0); ++row) {
    const auto values = all.rows(row, row + 1).values<float>();
    pictures.push_back(canvas_of({values.begin(), values.end()}, images, true));
  }
  return pictures;
}

std::string label_of(const data::ImageDataset& images, std::int64_t i) {
  if (!images.has("label")) return fmt::format("{}", i);
  return fmt::format("{}: {}", i, images.class_names()[static_cast<std::size_t>(images.label(i))]);
}

}  // namespace

Options add_augment(Options cli, std::string& experiment, AugmentArguments& args) {
  Options augment = cli.add_subcommand(
      "augment",
      "training images as the network sees them, epoch by epoch: augmented, mixed, with noise");
  augment.share_options();
  augment.add_option("EXPERIMENT", experiment, "experiment file").required().value("EXPERIMENT");
  augment.add_option("--samples", args.samples, "images (default: 6)").positive();
  augment.add_option("--epochs", args.epochs, "epochs (default: 6)").positive();
  augment.add_option("-o,--out", args.out, "picture, .png (default: augment.png)").value("FILE");
  return augment;
}

int draw_augmented(const schema::Value& resolved, const AugmentArguments& args) {
  const experiment::Experiment e = experiment::parse(resolved);
  const auto train = data::make_dataset(e.dataset, data::Split::kTrain);
  const data::ImageDataset& images = data::images_of(*train);
  const std::int64_t count = std::min(args.samples, images.size());
  std::vector<std::int64_t> chosen;
  visualise::Montage montage;
  montage.title = "training images, " + e.dataset.type;
  montage.factor = std::max<std::int64_t>(1, 128 / std::max(images.height(), images.width()));
  montage.column_labels = {"sample"};
  for (std::int64_t k = 0; k < count; ++k) {
    chosen.push_back(k * images.size() / count);
    montage.row_labels.push_back(label_of(images, chosen.back()));
    const auto values = images.get(chosen.back()).at("image").values<float>();
    montage.rows.push_back({canvas_of({values.begin(), values.end()}, images, false)});
  }
  for (std::int64_t epoch = 0; epoch < args.epochs; ++epoch) {
    montage.column_labels.push_back(fmt::format("epoch {}", epoch + 1));
    const data::Draw draw{
        .seed = static_cast<std::uint64_t>(e.seed), .epoch = epoch, .augment = true};
    const auto pictures = pictures_of(images, chosen, draw);
    for (std::size_t k = 0; k < pictures.size(); ++k) montage.rows[k].push_back(pictures[k]);
  }
  visualise::write_png(args.out, visualise::render(montage));
  fmt::print("{}\n", args.out);
  return 0;
}

}  // namespace fovea::apps
