// Commands that the documentation shows: each is run as it stands where its data are at hand, on a
// few steps of training, and its settings are checked where they are not. What can neither be run
// nor checked is listed below.
#include <catch2/catch.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <set>
#include <sstream>

#include "base/file.h"
#include "tests/support/paths.h"
#include "tests/support/run_cli.h"

using namespace fovea;
using namespace fovea::test;

namespace {

// Data that come with the project or are drawn.
const std::set<std::string> kDataAtHand = {
    "digits",          "synthetic",         "synthetic_segmentation",
    "synthetic_boxes", "synthetic_volumes", "synthetic_scenes"};

const std::vector<std::string> kDocumentedPrograms = {
    "init",    "train",   "eval",  "predict", "generate", "export", "ablate", "visualise-attention",
    "explain", "inspect", "bench", "verify"};

// Of runs, weights, pictures and devices that a machine for tests does not have. By page, the
// beginnings of commands; a new command must run, or be checked, or be added here.
const std::map<std::string, std::vector<std::string>> kNotAtHand = {
    {"--help",
     {"fovea init images",
      "fovea init masks",
      "fovea init nnunet",
      "fovea init texts",
      "fovea train --extend 2 --out runs/dgvit",  // a test of its own
      "fovea eval experiments/imagenet/vit_tiny_patch16_224.json --weights",
      "fovea eval runs/fold0",
      "fovea eval runs/hippocampus --choose-postprocessing",
      "fovea predict runs/hippocampus",
      "fovea predict runs/dgvit cat.png",
      "fovea predict runs/dgt --text",
      "fovea predict runs/dgt reviews.csv",
      "fovea predict runs/fold0",
      "fovea generate runs/dit --classes 0-9",
      "fovea generate runs/dit --classes 3,5",
      "fovea generate runs/dit --samples 100",
      "fovea generate runs/gutenberg --prompt",
      "fovea generate runs/gutenberg --top-p",
      "fovea visualise-attention runs/dgvit runs/vit --input",
      "fovea visualise-attention runs/dgt",
      "fovea visualise-attention experiments/imagenet/vit_tiny_patch16_224.json --weights",
      "fovea visualise-attention runs/vit runs/linear --figure scores",
      "fovea visualise-attention runs/gdla runs/la --figure maps",
      "fovea visualise-attention runs/gdla runs/la --figure predictions",
      "fovea visualise-attention runs/bccd --input",
      "fovea visualise-attention runs/hippocampus --input 3",
      "fovea visualise-attention runs/hippocampus --input scan.nii.gz",
      "fovea ablate experiments/smoke/ablation.json --out runs/smoke --slurm",  // tests of their
                                                                                // own
      "fovea explain runs/dgvit runs/vit --input",
      "fovea explain runs/vit --input",
      "fovea explain runs/dgt --text",
      "fovea explain runs/vit --score",
      "fovea explain runs/dgvit runs/vit --score",
      "fovea explain runs/dgvit runs/vit --head-importance",
      "fovea explain runs/vit --input 7 --patch-from",
      "fovea explain runs/vit --input 7 --method rollout --set-heads",
      "fovea eval runs/vit --set-heads",
      "fovea inspect attention runs/dgvit",
      "mpirun -n 2 fovea bench --network",
      "fovea verify tests/fixtures/dgsa"}},                                 // tests of their own
    {"docs/adding-an-attention.md", {"fovea verify tests/fixtures/dgsa"}},  // tests of their own
    {"docs/cluster.md",
     {"fovea ablate experiments/smoke/ablation.json --out runs/sweep --slurm"}},  // a test of its
                                                                                  // own
    {"docs/devices.md",
     {"fovea train experiments/smoke/dgvit.json --device opencl",
      "fovea ablate experiments/smoke/ablation.json --set train.device=cuda:1",
      "fovea verify --device opencl"}},
    {"docs/data-sets.md",  // tests of their own
     {"fovea init", "fovea train birds.json", "fovea eval runs/birds", "fovea predict runs/birds"}},
    {"docs/evaluation.md",
     {"fovea predict runs/dgt reviews.csv", "fovea predict runs/dgt --text",
      "fovea predict runs/fold0", "fovea predict runs/hippocampus", "fovea eval runs/fold0",
      "fovea eval runs/hippocampus --choose-postprocessing",
      "fovea eval runs/language --set 'eval.questions",
      "fovea eval experiments/imagenet/vit_tiny_patch16_224.json --weights",
      "fovea visualise-attention experiments/imagenet/vit_tiny_patch16_224.json --weights",
      "fovea visualise-attention experiments/imagenet/vit_small_patch14_reg4_dinov2.json --weights",
      "fovea visualise-attention experiments/imagenet/vit_base_patch32_clip_quickgelu_224.json",
      "fovea visualise-attention experiments/imagenet/vit_small_patch14_reg4_dinov2.json "
      "--weights"}},
    {"docs/visualising.md",
     {"fovea visualise-attention dformer.fovea --input scan.nii.gz",
      "fovea inspect tradeoff runs/networks experiments/gdla/published.json",
      "fovea inspect tradeoff runs/networks --metric val_top1"}},
    {"experiments/dformer/README.md",
     {"fovea eval runs/hippocampus --save volumes", "fovea predict runs/hippocampus"}},
    {"experiments/dgsa/README.md",
     {"for run in runs/noise_text/runs/*", "fovea inspect robustness runs/noise_text"}},
    {"experiments/explain/README.md",
     {"fovea explain runs/explain_cifar10", "fovea explain runs/explain_cifar10",
      "fovea explain runs/explain_ph2"}},
    {"experiments/kcla/README.md",
     {"fovea visualise-attention runs/kcla110 --across-depth",
      "fovea visualise-attention runs/layer56 --across-depth",
      "fovea visualise-attention runs/mrla_l56 --across-depth", "fovea eval runs/kvasir"}},
    // Networks of a paper's size are timed.
    {"experiments/mala/README.md",
     {"fovea generate runs/small_language", "fovea inspect tradeoff", "fovea inspect tradeoff",
      "fovea inspect tradeoff"}},
};

// What stands in front of the program: a few steps instead of a training.
const char* const kFewSteps = R"sh(#!/bin/sh
case "$1" in
  train)
    case " $* " in *" --resume "*) exec 'BIN/fovea' "$@" --quiet ;; esac
    exec 'BIN/fovea' "$@" --quiet --set train.steps=2 ;;
  ablate)
    case " $* " in *" --seeds "*) ;; *) set -- "$@" --seeds 0 ;; esac
    exec 'BIN/fovea' "$@" --quiet --set train.steps=2 ;;
  bench)
    case " $* " in *" --steps "*) ;; *) set -- "$@" --steps 1 ;; esac
    exec 'BIN/fovea' "$@" ;;
  *) exec 'BIN/fovea' "$@" ;;
esac
)sh";

// A whole command, without its comment.
std::string without_comment(const std::string& line) {
  std::string text = line.substr(0, line.find(" #"));
  text.erase(text.find_last_not_of(' ') + 1);
  return text.erase(0, std::min(text.find_first_not_of(' '), text.size()));
}

// Lines of blocks that are shell: fenced without a language, or indented by four.
std::vector<std::string> commands_of(const io::fs::path& page) {
  std::istringstream lines(io::read_text(page));
  std::vector<std::string> commands;
  bool fenced = false, shell = false, goes_on = false;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("```")) {
      fenced = !fenced;
      shell = fenced && line == "```";
      continue;
    }
    if (!(fenced ? shell : line.starts_with("    "))) continue;
    std::string text = without_comment(line);
    const bool more = text.ends_with("\\");
    if (more) text.pop_back();
    if (goes_on) {
      commands.back() += " " + text;
    } else if (text.starts_with("fovea ") || text.find("; do fovea ") != std::string::npos) {
      commands.push_back(text);
    } else {
      continue;
    }
    goes_on = more;
  }
  return commands;
}

// A page's commands follow each other in one folder.
class DocumentationFolder {
 public:
  explicit DocumentationFolder(const std::string& page) : folder_("docs-commands"), page_(page) {
    for (const char* name : {"experiments", "datasets", "docs", "tests"})
      io::fs::create_directory_symlink(io::fs::path(source_dir()) / name, folder_.path(name));
    std::string script = kFewSteps;
    for (std::size_t at; (at = script.find("BIN")) != std::string::npos;)
      script.replace(at, 3, bin_dir());
    const std::string file = folder_.write("bin/fovea", script);
    io::fs::permissions(file, io::fs::perms::owner_all);
    if (const auto found = kNotAtHand.find(page); found != kNotAtHand.end())
      left_out_ = found->second;
  }
  ~DocumentationFolder() {
    for (const std::string& unused : left_out_) {
      INFO(page_ << " has no such command any more: " << unused);
      CHECK(false);
    }
  }

  void check(const std::string& command) {
    const auto listed = std::find_if(left_out_.begin(), left_out_.end(),
                                     [&](const auto& begin) { return command.starts_with(begin); });
    if (listed != left_out_.end()) {
      left_out_.erase(listed);
      return;
    }
    const CliResult result = run(instead_of(command));
    INFO(page_ << ": " << command << "\n" << instead_of(command) << "\n" << result.err);
    CHECK(result.code == 0);
  }

 private:
  CliResult run(const std::string& command) const {
    return run_cli("/bin/bash", {"-c", fmt::format("cd '{0}' && PATH='{0}/bin':$PATH && {1}",
                                                   folder_.path().string(), command)});
  }

  // The command itself, or, where its data are not at hand or a step of it takes long, one that
  // resolves its settings.
  std::string instead_of(const std::string& command) const {
    std::istringstream words(command);
    std::string program, subcommand, file;
    words >> program >> subcommand >> file;
    const bool trains = subcommand == "train" || subcommand == "ablate";
    const bool long_step = command.find(" --profile") != std::string::npos ||
                           command.find(" --time ") != std::string::npos || subcommand == "bench";
    if (!trains && !long_step) return command;
    if (file.find("experiments/smoke/") == 0 || file.starts_with("--")) return command;
    if (subcommand == "ablate") return command + " --list";
    const std::string settings = "fovea inspect config " + file + overrides(command);
    if (!trains) return settings;
    const CliResult resolved = run(settings + " --json");
    INFO(resolved.err);
    REQUIRE(resolved.code == 0);
    const auto config = nlohmann::json::parse(resolved.out);
    const bool at_hand = kDataAtHand.count(config["dataset"]["type"].get<std::string>()) > 0;
    return at_hand ? command : settings;
  }

  // Its --set options as they stand, quotes and all.
  static std::string overrides(const std::string& command) {
    std::string found;
    for (std::size_t at = command.find(" --set "); at != std::string::npos;
         at = command.find(" --set ", at + 1)) {
      const bool quoted = command[at + 7] == '\'';
      const std::size_t end = quoted ? command.find('\'', at + 8) + 1 : command.find(' ', at + 7);
      found += command.substr(at, end == std::string::npos ? end : end - at);
    }
    return found;
  }

  TestFolder folder_;
  std::string page_;
  std::vector<std::string> left_out_;  // and not met yet
};

}  // namespace

TEST_CASE("documentation: commands of blocks run, or at least resolve", "[cli][documentation]") {
  std::vector<std::string> pages = {"README.md"};
  for (const char* folder : {"docs", "experiments", "datasets"}) {
    const io::fs::path root = source_dir();
    for (const auto& entry : io::fs::recursive_directory_iterator(root / folder)) {
      if (entry.path().extension() == ".md")
        pages.push_back(io::fs::relative(entry.path(), root).string());
    }
  }
  std::sort(pages.begin(), pages.end());
  for (const auto& [page, commands] : kNotAtHand)
    CHECK((page == "--help" || std::find(pages.begin(), pages.end(), page) != pages.end()));
  std::size_t met = 0;
  for (const std::string& page : pages) {
    const std::vector<std::string> commands = commands_of(io::fs::path(source_dir()) / page);
    met += commands.size();
    if (commands.empty()) continue;
    DocumentationFolder folder(page);
    for (const std::string& command : commands) folder.check(command);
  }
  CHECK(met > 50);
}

TEST_CASE("documentation: examples of --help run, or at least resolve", "[cli][documentation]") {
  DocumentationFolder folder("--help");
  for (const std::string& program : kDocumentedPrograms) {
    const std::string help = run_cli(program, {"--help"}).out;
    const std::size_t begin = help.find("Example: ");
    INFO(program);
    REQUIRE(begin != std::string::npos);
    std::istringstream lines(help.substr(begin + 9, help.find("\n\n", begin) - begin - 9));
    for (std::string line; std::getline(lines, line);) folder.check(without_comment(line));
  }
}

TEST_CASE("documentation: programs are called by their front", "[cli][documentation]") {
  // `eval` alone is a command of the shell.
  static const std::vector<std::string> kPrograms = {
      "train", "eval", "predict", "ablate", "visualise-attention", "inspect", "bench", "verify"};
  const io::fs::path root = source_dir();
  std::vector<io::fs::path> pages = {root / "README.md"};
  for (const char* folder : {"docs", "experiments", "datasets"}) {
    for (const auto& entry : io::fs::recursive_directory_iterator(root / folder)) {
      const bool generated = entry.path().filename() == "experiment-files.md";
      if (entry.path().extension() == ".md" && !generated) pages.push_back(entry.path());
    }
  }
  for (const io::fs::path& page : pages) {
    std::istringstream lines(io::read_text(page));
    for (std::string line; std::getline(lines, line);) {
      INFO(page.string() << ": " << line);
      CHECK(line.find("`eval`") == std::string::npos);
      for (const std::string& program : kDocumentedPrograms) {
        for (const char* next : {" -", " R", " E", " experiments/", " runs/", " $"}) {
          CHECK(line.find("`" + program + next) == std::string::npos);
          CHECK(line.find("do " + program + next) == std::string::npos);
          CHECK_FALSE(line.starts_with("    " + program + next));
          CHECK_FALSE(line.starts_with(program + next));
        }
      }
    }
  }
}
