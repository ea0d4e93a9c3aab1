// A folder with a tiny kind of experiment and a stand-in for `train`, for the tests of sweeps.
#pragma once

#include <unistd.h>

#include <string>

#include "base/error.h"
#include "base/file.h"
#include "experiment/run/run_folder.h"
#include "experiment/sweep/ablation.h"
#include "metrics/classification.h"
#include "schema/fields.h"

namespace fovea::experiment::test {

/// A fresh folder that is the working folder meanwhile, so that names in messages are short.
struct Folder {
  io::fs::path before = io::fs::current_path();
  io::fs::path path;
  explicit Folder(const std::string& name)
      : path(io::fs::temp_directory_path() / ("fovea_" + name + std::to_string(::getpid()))) {
    io::fs::remove_all(path);
    io::make_directories(path / "exp");
    io::fs::current_path(path / "exp");
  }
  ~Folder() {
    io::fs::current_path(before);
    io::fs::remove_all(path);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
};

inline void write(const io::fs::path& name, const std::string& text) {
  if (name.has_parent_path()) io::make_directories(name.parent_path());
  io::write_atomic(name, text);
}

struct Model {
  std::int64_t depth = 4;
  std::int64_t num_heads = 2;
};
struct Train {
  std::int64_t epochs = 1;
  std::int64_t threads = 0;
};
struct Experiment {
  std::string name;
  std::int64_t seed = 0;
  std::string mode = "ok";
  std::string root = "data";
  std::string fold;
  Model model;
  Train train;
};

/// What the stand-in understands.
inline const schema::Fields<Experiment>& fields() {
  using schema::Fields;
  static const auto all = [] {
    const auto model = Fields<Model>{}
                           .add("depth", &Model::depth, schema::at_least(1), "blocks")
                           .add("num_heads", &Model::num_heads, schema::at_least(1), "heads");
    const auto train = Fields<Train>{}
                           .add("epochs", &Train::epochs, "epochs")
                           .add("threads", &Train::threads, "threads")
                           .no_effect();
    return Fields<Experiment>{}
        .add("name", &Experiment::name, "name")
        .no_effect()
        .add("seed", &Experiment::seed, "seed")
        .add("mode", &Experiment::mode, "what the stand-in does")
        .add("root", &Experiment::root, "folder of the data")
        .is_place()
        .add("fold", &Experiment::fold, "i/k")
        .add_object("model", &Experiment::model, model, "model")
        .add_object("train", &Experiment::train, train, "train");
  }();
  return all;
}

inline const ExperimentKind& kind() {
  static const ExperimentKind tiny{
      .fields = &fields(),
      .resolve = [](const schema::Value& value,
                    schema::Notes&) { return fields().Description::resolve(value); },
      .metrics =
          [](const schema::Value&) {
            return std::vector<metrics::MetricInfo>{metrics::kLoss, metrics::kTop1};
          },
      .with_fold =
          [](const schema::Value& resolved, std::int64_t index, std::int64_t count) {
            FOVEA_CHECK(resolved.at("fold").as_string().empty(), ConfigError, "fold: is given");
            schema::Value changed = resolved;
            changed.set("fold", std::to_string(index) + "/" + std::to_string(count));
            return changed;
          }};
  return tiny;
}

/// A finished run of a job.
inline void finish(const io::fs::path& sweep, const Job& job, const std::string& metrics,
                   const std::string& rest = "") {
  const io::fs::path run = paths_of(sweep, job).run;
  write(run / "config.json", job.config.dump());
  write(run / "summary.json", R"({"metrics": )" + metrics + rest + "}");
}

template <class Function>
std::string complaint(Function function) {
  try {
    function();
  } catch (const Error& error) {
    return error.what();
  }
  return "(accepted)";
}

}  // namespace fovea::experiment::test
