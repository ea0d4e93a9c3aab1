#include "common/shown_flags.h"

#include <fmt/format.h>

#include "common/weights_flags.h"

namespace fovea::apps {

void add_shown_flags(Program& program, experiment::ShownPaths& paths, const char* input_help) {
  Options cli = program.options();
  cli.add_option("RUN", paths.runs,
                 "folders of runs made by train, what export made of them, or experiment files "
                 "with --weights")
      .required()
      .value("EXPERIMENT");
  cli.add_option("-i,--input", paths.inputs, input_help).value("FILE");
  cli.add_option("--text", paths.texts, "words for runs that read or write texts; repeatable");
  add_subject_flags(cli, paths.split, paths.checkpoint, paths.averaged);
  cli.add_option("--weights", paths.weights,
                 "safetensors file with the weights of an experiment file; once for each, in order")
      .value("FILE");
  add_renaming_flags(cli, paths.reading);
  add_mismatch_flags(cli, paths.reading);
  cli.add_option("--threads", paths.threads, "threads (0: all cores)").range(0, 1024);
  program.add_overrides(paths.overrides);
}

std::vector<experiment::Opened> opened(const experiment::ShownPaths& paths) {
  std::vector<experiment::Opened> runs = experiment::open_shown(paths);
  for (const experiment::Opened& one : runs) {
    for (const std::string& note : one.run->notes()) fmt::print(stderr, "note: {}\n", note);
  }
  return runs;
}

}  // namespace fovea::apps
