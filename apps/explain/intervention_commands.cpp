#include "explain/intervention_commands.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <optional>
#include <utility>

#include "common/app.h"
#include "experiment/reports/explanations/head_files.h"
#include "experiment/reports/explanations/patching_files.h"
#include "explain/pass_printer.h"

namespace fovea::apps {
namespace {

void say_files(const std::vector<std::string>& files, const std::filesystem::path& out,
               bool quiet) {
  if (!quiet) fmt::print("wrote {} in {}\n", fmt::join(files, ", "), out.string());
}

}  // namespace

int judge_heads(explain::HeadRequest asked, const std::filesystem::path& out,
                schema::Value settings, bool quiet) {
  install_stop_handlers("explain");
  begin_work();
  std::optional<explain::JudgedHeads> judged;
  {
    PassPrinter printer("passes", quiet);
    asked.progress = [&](std::int64_t done, std::int64_t total) {
      printer.progressed(done, total);
    };
    asked.stop = [] { return stop_requested().load(std::memory_order_relaxed); };
    judged = explain::judge_heads(asked);
  }
  const auto files = experiment::write_head_files(out, *judged, std::move(settings));
  fmt::print("{}", experiment::head_tables_text(*judged));
  say_files(files, out, quiet);
  return 0;
}

int patch_activations(const explain::PatchRequest& asked, const std::filesystem::path& out,
                      schema::Value settings, bool quiet) {
  const std::vector<explain::PatchedInput> patched = explain::patch_runs(asked);
  const auto files = experiment::write_patching_files(out, patched, std::move(settings));
  fmt::print("{}", experiment::patching_tables_text(patched));
  say_files(files, out, quiet);
  return 0;
}

}  // namespace fovea::apps
