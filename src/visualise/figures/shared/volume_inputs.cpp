#include "visualise/figures/shared/volume_inputs.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/distinct_names.h"
#include "base/error.h"
#include "base/file.h"
#include "data/given/channel_files.h"
#include "data/volumes/volume_dataset.h"
#include "visualise/figures/shared/image_inputs.h"

namespace fovea::visualise {
namespace {

void check_file(const io::fs::path& file) {
  std::error_code code;
  FOVEA_CHECK(io::fs::exists(file, code), ConfigError,
              fmt::format("--input {}: not found; expected the number of a sample, or a .nii or "
                          ".nii.gz file",
                          file.string()));
  FOVEA_CHECK(!io::fs::is_directory(file, code) && data::has_nifti_extension(file), ConfigError,
              fmt::format("--input {}: the run reads volumes; expected the number of a sample, or "
                          "a .nii or .nii.gz file",
                          file.string()));
}

}  // namespace

std::vector<VolumeInput> volume_inputs(const FigureRequest& request, const ShownRun& run) {
  const data::VolumeDataset& volumes = *data::find_volumes(run.samples);
  std::vector<VolumeInput> inputs;
  const auto add_sample = [&](std::int64_t i) { inputs.push_back({volumes.case_name(i), i}); };
  if (request.inputs.empty()) {
    for (std::int64_t i = 0; i < std::min<std::int64_t>(4, volumes.size()); ++i) add_sample(i);
  }
  std::vector<data::GivenFile> files;
  for (const std::string& text : request.inputs) {
    if (is_index(text)) {
      add_sample(sample_index(text, volumes.size()));
      continue;
    }
    const io::fs::path file = text;
    check_file(file);
    files.push_back({file, file.filename()});
  }
  for (data::GivenCase& one : data::given_cases(files, volumes.info().channels))
    inputs.push_back({std::move(one.name), {}, std::move(one.files)});
  std::vector<std::string> names;
  for (const VolumeInput& input : inputs) names.push_back(input.name);
  names = distinct(std::move(names));
  for (std::size_t i = 0; i < inputs.size(); ++i) inputs[i].name = names[i];
  return inputs;
}

VolumeInput input_for(const VolumeInput& input, const ShownRun& run, const FigureRequest& request) {
  VolumeInput own = input;
  if (input.index)
    own.index = same_sample(run.samples, request.runs.front().samples, *input.index, run.name);
  return own;
}

std::string volumes_text(const ShownRun& run, const std::vector<VolumeInput>& inputs) {
  const auto samples = std::count_if(inputs.begin(), inputs.end(), [](const VolumeInput& input) {
    return input.index.has_value();
  });
  if (samples == 0) return "given files";
  const std::string split(data::name_of(run.split));
  return samples == std::ssize(inputs) ? split : split + " and given files";
}

std::vector<std::string> page_notes(const ShownRun& run, const std::vector<VolumeInput>& inputs) {
  const data::VolumeDataset& volumes = *data::find_volumes(run.samples);
  std::vector<std::string> notes = {
      fmt::format("Weights: {}. Cases: {}.", run.weights, volumes_text(run, inputs)),
      "Voxels, truth and prediction are those of the prepared volume that the network sees; Dice "
      "is of the voxels of the file, as eval counts. Given files have no truth."};
  if (volumes.plan().canonical)
    notes.push_back(
        "The volumes were turned to RAS+ for the network (dataset.canonical); numbers of slices "
        "and voxels are those of the file as it is.");
  if (!volumes.info().regions.empty())
    notes.push_back(
        "Dice is of the regions that the network learns; colours are those of their labels.");
  if (volumes.info().channels > 1)
    notes.push_back(fmt::format("The first of {} channels is shown.", volumes.info().channels));
  return notes;
}

}  // namespace fovea::visualise
