#include "experiment/inference/predict_inputs.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "base/error.h"
#include "data/audio/speech_dataset.h"
#include "data/files/nifti.h"
#include "data/files/pictures/image_file.h"
#include "data/files/sound_file.h"
#include "data/given/channel_files.h"
#include "data/images/image_dataset.h"
#include "data/parts/folder.h"
#include "data/volumes/volume_dataset.h"

namespace fovea::experiment {
namespace {

namespace fs = std::filesystem;

// What the inputs of a run are.
struct InputKind {
  bool (*fits)(const fs::path& file);
  std::string what;
};
InputKind kind_of(const data::Dataset& samples) {
  if (data::find_volumes(samples) != nullptr)
    return {[](const fs::path& file) { return data::has_nifti_extension(file); },
            ".nii or .nii.gz file"};
  if (data::find_speech(samples) != nullptr)
    return {data::has_sound_extension, "recording (.wav, .flac, .ogg, .aiff, .aif, .au)"};
  return {[](const fs::path& file) { return data::has_image_extension(file); },
          fmt::format("picture ({})", fmt::join(data::image_extensions(), ", "))};
}

using data::GivenFile;

// One folder with its sub-folders.
class Search {
 public:
  Search(const InputKind& kind, const fs::path& folder, const fs::path& out)
      : kind_(kind), folder_(folder), out_(fs::weakly_canonical(out)) {
    enter(folder, "");
  }

  const std::vector<GivenFile>& found() const { return found_; }
  /// "18 of 150 files are left out: .gif 10, .txt 8", and links to folders; of each one, if any.
  std::vector<std::string> notes() const {
    std::vector<std::string> notes, counts;
    std::size_t files = 0;
    for (const auto& [ending, count] : left_out_) {
      counts.push_back(fmt::format("{} {}", ending, count));
      files += count;
    }
    if (files > 0)
      notes.push_back(fmt::format("{}: {} of {} files are left out: {}", folder_.string(), files,
                                  files + found_.size(), fmt::join(counts, ", ")));
    if (!links_.empty())
      notes.push_back(fmt::format("{}: links to folders are not followed: {}; give them as inputs",
                                  folder_.string(), fmt::join(links_, ", ")));
    return notes;
  }

 private:
  void enter(const fs::path& folder, const fs::path& name) {
    std::error_code code;
    if (fs::equivalent(folder, out_, code)) return;
    for (const auto& entry : data::sorted_entries("predict", folder)) {
      const fs::path own = name / entry.path().filename();
      if (entry.is_directory(code)) {
        if (entry.is_symlink(code)) {
          links_.push_back(own.string());
        } else {
          enter(entry.path(), own);
        }
      } else if (kind_.fits(entry.path())) {
        found_.push_back({entry.path(), own});
      } else {
        const std::string ending = entry.path().extension().string();
        ++left_out_[ending.empty() ? "without ending" : ending];
      }
    }
  }

  const InputKind& kind_;
  fs::path folder_, out_;
  std::vector<GivenFile> found_;
  std::map<std::string, std::size_t> left_out_;  // files by ending
  std::vector<std::string> links_;
};

std::vector<GivenFile> files_of(const std::vector<fs::path>& given, const InputKind& kind,
                                const fs::path& out, std::vector<std::string>& notes) {
  std::vector<GivenFile> files;
  std::error_code code;
  for (const fs::path& path : given) {
    FOVEA_CHECK(fs::exists(path, code), FileError, fmt::format("{}: not found", path.string()));
    if (!fs::is_directory(path, code)) {
      files.push_back({path, path.filename()});
      continue;
    }
    const Search search(kind, path, out);
    FOVEA_CHECK(!search.found().empty(), FileError,
                fmt::format("{}: holds no {}, nor do its sub-folders", path.string(), kind.what));
    files.insert(files.end(), search.found().begin(), search.found().end());
    const std::vector<std::string> said = search.notes();
    notes.insert(notes.end(), said.begin(), said.end());
  }
  return files;
}

// Files of an input that are read by number; 0: names have none.
std::int64_t channels_of(const data::Dataset& samples) {
  if (const auto* volumes = data::find_volumes(samples)) return volumes->info().channels;
  const auto* images = dynamic_cast<const data::ImageDataset*>(&samples);
  return images == nullptr ? 0 : std::ssize(images->channel_names());
}

// As they are; a later one that is taken gets " (2)", " (3)", ...
void make_distinct(std::vector<PredictInput>& inputs) {
  std::set<std::string> taken;
  for (PredictInput& input : inputs) {
    const std::string first = input.name;
    for (int number = 2; !taken.insert(input.name).second; ++number)
      input.name = fmt::format("{} ({})", first, number);
  }
}

}  // namespace

PredictInputs predict_inputs(const data::Dataset& samples, const std::vector<fs::path>& given,
                             const fs::path& out) {
  const std::int64_t channels = channels_of(samples);
  PredictInputs result;
  const std::vector<GivenFile> files = files_of(given, kind_of(samples), out, result.notes);
  for (data::GivenCase& one : data::given_cases(files, channels))
    result.inputs.push_back({std::move(one.files), std::move(one.name), std::ssize(result.inputs)});
  make_distinct(result.inputs);
  return result;
}

}  // namespace fovea::experiment
