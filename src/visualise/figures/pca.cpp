// What layers see of images: principal components of their patches as red, green and blue.
#include <fmt/format.h>

#include "base/csv_field.h"
#include "base/distinct_names.h"
#include "base/file.h"
#include "visualise/drawing/montage.h"
#include "visualise/figures/shared/image_inputs.h"
#include "visualise/figures/shared/shared_options.h"
#include "visualise/maps/features.h"

namespace fovea::visualise {
namespace {

struct PcaOptions : LayerOption, SmoothOption, FactorOption {};

const schema::Fields<PcaOptions>& pca_fields() {
  static const auto fields = schema::Fields<PcaOptions>{}
                                 .include(layer_field("all"))
                                 .include(smooth_field())
                                 .include(factor_field());
  return fields;
}

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
struct PcaColumn {
  std::string layer;
  ComponentPictures found;
};

std::vector<PcaColumn> see_layers(const ShownRun& run, const std::vector<ImageInput>& inputs,
                                  const FigureRequest& request, const PcaOptions& options) {
  std::vector<std::vector<LayerFeatures>> seen;  // by image
  for (const ImageInput& input : inputs)
    seen.push_back(observe_features(run.model, prepared(input, run, request)));
  std::vector<PcaColumn> columns;
  for (const std::size_t layer : chosen_layers(seen[0], options.layer, run.name)) {
    std::vector<LayerFeatures> images;
    for (const auto& layers : seen) images.push_back(layers[layer]);
    columns.push_back(
        {images[0].layer, component_pictures(images, inputs[0].picture.height,
                                             inputs[0].picture.width, options.smooth)});
  }
  return columns;
}

Canvas pca_picture(const std::vector<PcaColumn>& columns, const std::vector<ImageInput>& inputs,
                   const PcaOptions& options, const std::string& run) {
  Montage montage;
  montage.title = run + ": principal components of patches as red, green, blue";
  montage.factor = options.enlargement(inputs[0].picture);
  montage.column_labels = {"input"};
  for (const PcaColumn& column : columns) {
    const std::vector<double>& shares = column.found.shares;
    montage.column_labels.push_back(fmt::format("{} ({:.0f} + {:.0f} + {:.0f} %)", column.layer,
                                                100 * shares[0], 100 * shares[1], 100 * shares[2]));
  }
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    montage.row_labels.push_back(inputs[i].name);
    montage.rows.push_back({inputs[i].picture});
    for (const PcaColumn& column : columns) montage.rows[i].push_back(column.found.pictures[i]);
  }
  return render(montage);
}

void draw_pca(const FigureRequest& request, const PcaOptions& options) {
  const std::vector<ImageInput> inputs = image_inputs(request);
  std::string csv = "run,layer,component,variance,share\n";
  std::vector<std::string> files;
  for (const ShownRun& run : request.runs) {
    const std::vector<PcaColumn> columns = see_layers(run, inputs, request, options);
    request.say(fmt::format("{:<20} {}", run.name, run.weights));
    for (const auto& [layer, found] : columns) {
      for (std::size_t k = 0; k < found.shares.size(); ++k) {
        csv += fmt::format("{},{},{},{},{}\n", csv_field(run.name), layer, k + 1,
                           found.variances[k], found.shares[k]);
      }
      request.say(fmt::format("{:<20} {:<20} explains {:.1f} + {:.1f} + {:.1f} %", run.name, layer,
                              100 * found.shares[0], 100 * found.shares[1], 100 * found.shares[2]));
    }
    files.push_back(fmt::format("pca-{}.png", slug(run.name)));
    io::make_directories(request.out);
    write_png(request.out / files.back(), pca_picture(columns, inputs, options, run.name));
  }
  io::write_atomic(request.out / "pca.csv", csv);
  files.emplace_back("pca.csv");
  request.say_files(files);
}

FigureInfo pca_info() {
  return {.help =
              "what each layer sees of the images: the first three principal components of its "
              "patches as red, green and blue, and the variance that they explain",
          .files = {"pca-<run>.png", "pca.csv"},
          .fits = "a network of images",
          .misfit = unless_images,
          .network =
              [](const ShownRun& run) {
                return can([&] { observe_features(run.model, first_sample(run)); });
              },
          .flag = true};
}

}  // namespace

FOVEA_FIGURE(pca, pca_info(), pca_fields(), draw_pca)

}  // namespace fovea::visualise
