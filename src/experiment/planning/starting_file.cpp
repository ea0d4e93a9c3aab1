#include "experiment/planning/starting_file.h"

#include <fmt/format.h>

#include <cctype>

#include "data/registry.h"
#include "experiment/file/experiment.h"
#include "experiment/planning/commented_json.h"
#include "experiment/planning/starting_draft.h"
#include "experiment/run/preflight.h"

namespace fovea::experiment {
namespace {

namespace fs = std::filesystem;
using schema::Value;

// Lower-case letters, digits, - and _: for a file, a folder and tables.
std::string name_from(const fs::path& folder) {
  const fs::path plain = fs::absolute(folder).lexically_normal();
  std::string name;
  for (const char c : (plain.has_filename() ? plain : plain.parent_path()).stem().string()) {
    const auto byte = static_cast<unsigned char>(c);
    name += std::isalnum(byte) != 0 ? static_cast<char>(std::tolower(byte)) : c == '-' ? '-' : '_';
  }
  return name.empty() ? "experiment" : name;
}

std::vector<CommentedKey> keys_of(const Draft& draft, const std::string& name) {
  std::vector<std::string> about_data = draft.found.remarks;
  about_data.insert(about_data.end(), draft.about_data.begin(), draft.about_data.end());
  std::vector<CommentedKey> keys = {{{}, "name", name},
                                    {{}, "task", task_of(draft.found.dataset)},
                                    {{}, "seed", 0},
                                    {about_data, "dataset", draft.found.dataset},
                                    {draft.about_model, "model", draft.model}};
  if (!draft.loss.is_null()) keys.push_back({{}, "loss", draft.loss});
  keys.push_back({draft.about_recipe, "optimizer", draft.optimiser});
  keys.push_back({{}, "schedule", draft.schedule});
  keys.push_back({{}, "train", draft.train});
  if (!draft.eval.is_null()) keys.push_back({draft.about_eval, "eval", draft.eval});
  return keys;
}

Value value_of(const Draft& draft, const std::string& name) {
  Value all = Value::object();
  for (const CommentedKey& one : keys_of(draft, name)) all.set(one.key, one.value);
  return all;
}

void fit_memory(Draft& draft) {
  OpenData data;
  for (;;) {
    const Preflight look = look_ahead(resolve(value_of(draft, "")), data);
    const std::int64_t batch = draft.train.at("batch_size").as_int();
    if (memory_problem(look, memory_of(draft)).empty() || batch < 2) return;
    draft.train.set("batch_size", batch / 2);
  }
}

StartingFile finished(Draft& draft, const std::string& name, const StartKind& kind,
                      const fs::path& folder) {
  const Value& dataset = draft.found.dataset;
  const data::Kind data = data::kind_of({dataset.at("type").as_string(), dataset});
  if (data == data::Kind::kTexts) {
    draft_texts(draft);
  } else if (data == data::Kind::kImages) {
    draft_images(draft);
  } else {
    draft_maps(draft);
  }
  draft.train.set("device", draft.options.device);
  fit_memory(draft);
  StartingFile file;
  file.name = name;
  file.resolved = resolve(value_of(draft, name));
  file.text = commented_json(
      {fmt::format("Written by fovea init {} {}.", kind.name, folder.string()),
       "Every key may be changed; fovea inspect config FILE prints all, with their defaults."},
      keys_of(draft, name));
  file.summary = draft.summary;
  file.example = draft.found.example;
  return file;
}

}  // namespace

const std::vector<StartKind>& start_kinds() {
  static const std::vector<StartKind> all = {
      {"images",
       "pictures in folders of classes: FOLDER/train/CLASS/FILE (val and test beside it, if there "
       "are any) or FOLDER/CLASS/FILE",
       find_images},
      {"masks",
       "images with masks of the same names: FOLDER/images and FOLDER/masks, or "
       "FOLDER/train/images and FOLDER/train/masks (val and test beside it); channels may lie in "
       "files NAME_0000.png, NAME_0001.png, ...",
       find_masks},
      {"nnunet",
       "volumes in nnU-Net's folders: FOLDER/dataset.json, FOLDER/imagesTr/NAME_0000.nii.gz, "
       "FOLDER/labelsTr/NAME.nii.gz",
       find_volumes},
      {"texts",
       "texts with classes: a table FILE.csv or FILE.tsv, FOLDER/train.csv (val.csv, test.csv), or "
       "FOLDER/CLASS/FILE with a text a file",
       find_texts}};
  return all;
}

StartingFile starting_file(const StartKind& kind, const fs::path& folder,
                           const StartOptions& options) {
  Draft draft{kind.find(folder), options, options.device == "cpu"};
  return finished(draft, options.name.empty() ? name_from(folder) : options.name, kind, folder);
}

}  // namespace fovea::experiment
