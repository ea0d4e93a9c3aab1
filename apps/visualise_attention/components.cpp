#include "visualise_attention/components.h"

#include <fmt/format.h>

#include "base/csv_field.h"
#include "base/distinct_names.h"
#include "base/error.h"
#include "base/file.h"
#include "visualise/drawing/montage.h"
#include "visualise/maps/features.h"
#include "visualise_attention/image_inputs.h"
#include "visualise_attention/subject.h"

namespace fovea::apps {
namespace {

using visualise::LayerFeatures;

// The places of the layers that --layer names; all, where it names none.
std::vector<std::size_t> chosen_layers(const std::vector<LayerFeatures>& layers,
                                       const std::vector<std::string>& wanted,
                                       const std::string& run) {
  std::vector<std::string> names;
  for (const LayerFeatures& layer : layers) names.push_back(layer.layer);
  std::vector<std::size_t> chosen;
  for (const std::string& text : wanted) chosen.push_back(layer_place(names, text, run));
  for (std::size_t i = 0; wanted.empty() && i < names.size(); ++i) chosen.push_back(i);
  return chosen;
}

// The features of one layer of every image, and what comes of them.
struct LayerColumn {
  std::string layer;
  visualise::ComponentPictures found;
};

std::vector<LayerColumn> see_layers(experiment::Run& run, const data::ImageDataset& first,
                                    const std::vector<ImageInput>& inputs, const Arguments& args,
                                    const std::string& name) {
  const data::ImageDataset& own = images_of(run, args);
  std::vector<std::vector<LayerFeatures>> seen;  // by image
  for (const ImageInput& input : inputs) {
    const Tensor x = prepared(input, own, first, name, run.device());
    seen.push_back(visualise::observe_features(run.model(), x));
  }
  std::vector<LayerColumn> columns;
  for (const std::size_t layer : chosen_layers(seen[0], args.layers, name)) {
    std::vector<LayerFeatures> images;
    for (const auto& layers : seen) images.push_back(layers[layer]);
    columns.push_back(
        {images[0].layer, visualise::component_pictures(images, inputs[0].picture.height,
                                                        inputs[0].picture.width, args.smooth)});
  }
  return columns;
}

void write_figure(const std::vector<LayerColumn>& columns, const std::vector<ImageInput>& inputs,
                  const Arguments& args, const std::string& name, const io::fs::path& path) {
  visualise::Montage montage;
  montage.title = name + ": principal components of patches as red, green, blue";
  montage.factor = enlargement(args, inputs[0].picture);
  montage.column_labels = {"input"};
  for (const LayerColumn& column : columns) {
    const std::vector<double>& shares = column.found.shares;
    montage.column_labels.push_back(fmt::format("{} ({:.0f} + {:.0f} + {:.0f} %)", column.layer,
                                                100 * shares[0], 100 * shares[1], 100 * shares[2]));
  }
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    montage.row_labels.push_back(inputs[i].name);
    montage.rows.push_back({inputs[i].picture});
    for (const LayerColumn& column : columns) montage.rows[i].push_back(column.found.pictures[i]);
  }
  visualise::write_png(path, visualise::render(montage));
}

}  // namespace

void draw_components(const Arguments& args, const Common& common) {
  const std::vector<std::string> names = folder_names(args);
  std::vector<experiment::Opened> runs = open_runs(args);
  for (std::size_t i = 0; i < names.size(); ++i) {
    FOVEA_CHECK(runs[i].run->model().interface() != models::Interface::kTextClassifier, ConfigError,
                fmt::format("--pca: {} reads texts; expected a network of images", names[i]));
  }
  const data::ImageDataset& first = images_of(*runs[0].run, args);
  const std::vector<ImageInput> inputs = image_inputs(args, first, names[0]);
  const io::fs::path out = args.out;
  std::string csv = "run,layer,component,variance,share\n";
  std::vector<std::string> files;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const auto columns = see_layers(*runs[i].run, first, inputs, args, names[i]);
    if (!common.quiet) fmt::print("{:<20} {}\n", names[i], weights_text(runs[i].weights));
    for (const auto& [layer, found] : columns) {
      for (std::size_t k = 0; k < found.shares.size(); ++k) {
        csv += fmt::format("{},{},{},{},{}\n", csv_field(names[i]), layer, k + 1,
                           found.variances[k], found.shares[k]);
      }
      if (common.quiet) continue;
      fmt::print("{:<20} {:<20} explains {:.1f} + {:.1f} + {:.1f} %\n", names[i], layer,
                 100 * found.shares[0], 100 * found.shares[1], 100 * found.shares[2]);
    }
    files.push_back(fmt::format("pca-{}.png", slug(names[i])));
    io::make_directories(out);
    write_figure(columns, inputs, args, names[i], out / files.back());
  }
  io::write_atomic(out / "pca.csv", csv);
  files.emplace_back("pca.csv");
  if (common.quiet) return;
  for (const std::string& file : files) fmt::print("{}\n", (out / file).string());
}

}  // namespace fovea::apps
