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

}  // namespace fovea::visualise
