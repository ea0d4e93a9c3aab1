// export: a trained run as one file that can be handed on.

#include <fmt/format.h>

#include "backend/devices.h"
#include "base/error.h"
#include "base/file.h"
#include "common/app.h"
#include "experiment/run/exported.h"
#include "experiment/run/summary.h"

#include <cstdint>
#include <string>

namespace {

using namespace fovea;

int export_run(const experiment::ExportRequest& request, const io::fs::path& out, bool json) {
  FOVEA_CHECK(training::is_model_file(out), ConfigError,
              fmt::format("--out {}: expected a name that ends in {}", out.string(),
                          training::kModelEnding));
  FOVEA_CHECK(!io::exists_at_all(out), FileError,
              fmt::format("--out {}: is there already; choose another name", out.string()));
  training::write_model_file(out, experiment::exported(request));
  // Read back: what is handed on can be opened.
  const schema::Value told = experiment::described(training::read_model_file(out, make_cpu(1)));
  if (json) {
    fmt::print("{}\n", told.dump());
  } else {
    fmt::print("{}: {}, {}; hash {}\n", out.string(), told.at("weights_text").as_string(),
               experiment::bytes_text(static_cast<std::int64_t>(io::fs::file_size(out))),
               told.at("hash").as_string());
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  apps::Program program(
      "export",
      "Writes one file of a trained run: its weights, and all that they need to serve without the "
      "run and its\ndata. predict, eval, visualise-attention, generate and inspect take the file "
      "in the place of a run,\ntrain --init its weights. It is a safetensors file with "
      "metadata.\n\n"
      "Example: fovea export runs/dgvit --out dgvit.fovea --license CC-BY-4.0\n");
  experiment::ExportRequest request;
  std::string run, out;
  apps::Options cli = program.options();
  cli.add_option("RUN", run, "folder of a run made by train").required().value("FOLDER");
  cli.add_option("-o,--out", out, "file to write, which ends in .fovea; must be new")
      .required()
      .value("FILE");
  cli.add_option("--license", request.license,
                 "under which others may use it: an SPDX identifier, or a sentence");
  cli.add_option("--author", request.author, "who made it");
  cli.add_option("--description", request.description,
                 "what it is for, what it was trained on, where it fails");
  cli.add_option("--checkpoint", request.run.checkpoint,
                 "best, last or step-00001234 (default: the one that summary.json is about)");
  cli.add_flag("--ema", request.run.averaged, true,
               "the averaged weights (default: if train chose by their metric)");
  cli.add_flag("--no-ema", request.run.averaged, false, "the others");
  program.add_json();
  return program.run(argc, argv, [&] {
    request.run.folder = run;
    return export_run(request, out, program.common.json);
  });
}
