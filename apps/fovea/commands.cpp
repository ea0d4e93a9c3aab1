#include "fovea/commands.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <memory>

#include "base/error.h"
#include "base/suggest.h"
#include "common/programs.h"

namespace fovea::apps {
namespace {

std::vector<std::string> split(const std::string& text, char at) {
  std::vector<std::string> parts(1);
  for (const char c : text) {
    if (c == at) {
      parts.emplace_back();
    } else {
      parts.back().push_back(c);
    }
  }
  return parts;
}

// In single quotes for a shell.
std::string quoted(const std::string& text) {
  std::string result = "'";
  for (const char c : text) result += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return result + "'";
}

std::string output_of(const std::string& command) {
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(::popen(command.c_str(), "r"), ::pclose);
  FOVEA_CHECK(pipe != nullptr, Error, fmt::format("{}: cannot be run", command));
  std::string text;
  char buffer[4096];
  while (const std::size_t n = std::fread(buffer, 1, sizeof buffer, pipe.get())) {
    text.append(buffer, n);
  }
  return text;
}

}  // namespace

const std::vector<Command>& commands() {
  static const std::vector<Command> all = {
      {"init", "an experiment file to start from, for a folder of your own data",
       "fovea init images birds"},
      {"train", "train the network of an experiment file",
       "fovea train experiments/smoke/dgvit.json --out runs/dgvit"},
      {"eval", "score a run, clean and under corruptions; predictions; foreign weights",
       "fovea eval runs/dgvit --noise all"},
      {"predict", "masks, labels or classes of pictures, volumes and texts of your own",
       "fovea predict runs/hippocampus scans --out predictions"},
      {"generate", "go on with a text, or make images of chosen classes",
       "fovea generate runs/gutenberg --prompt 'It was a dark'"},
      {"export", "one file of a run, to be handed on",
       "fovea export runs/dgvit --out dgvit.fovea --license CC-BY-4.0"},
      {"ablate", "train rows x seeds of a table, resumable",
       "fovea ablate experiments/smoke/ablation.json --out runs/smoke --jobs 2"},
      {"visualise-attention", "draw attention rollouts of runs side by side, and a page to explore",
       "fovea visualise-attention runs/dgvit runs/vit --heads"},
      {"explain", "what spoke for a class in images and texts, by over twenty methods",
       "fovea explain runs/dgvit runs/vit --input 7 --method rollout,generic_attention"},
      {"inspect", "parameters, multiply-adds, memory, settings, profile, curves, keys",
       "fovea inspect experiments/smoke/dgvit.json --profile"},
      {"bench", "time per step", "fovea bench experiments/smoke/dgvit.json --threads 2"},
      {"verify", "compare operators and networks with golden cases",
       "fovea verify tests/fixtures/dgsa"},
      {"completion", "completion of commands, options and files for bash or zsh",
       "source <(fovea completion bash)"}};
  return all;
}

const Command* find_command(const std::string& name) {
  const auto found = std::find_if(commands().begin(), commands().end(),
                                  [&](const Command& command) { return command.name == name; });
  return found == commands().end() ? nullptr : &*found;
}

std::string unknown_command(const std::string& name) {
  std::vector<std::string> known;
  for (const Command& command : commands()) known.push_back(command.name);
  const std::string hint = did_you_mean(name, known);
  return fmt::format("no command called \"{}\"{} see fovea --help", name,
                     hint.empty() ? ";" : hint);
}

std::vector<ListedProgram> built_programs() {
  std::vector<ListedProgram> programs;
  for (const Command& command : commands()) {
    const auto program = program_of(command.name);
    if (!program) continue;
    programs.push_back({command, "", {}});
    for (const std::string& line :
         split(output_of(quoted(program->string()) + " --list-options"), '\n')) {
      const std::vector<std::string> cells = split(line, '\t');
      if (cells.size() != 4) continue;
      if (cells[1].empty()) {
        programs.push_back({{command.name, cells[3], ""}, cells[0], {}});
      } else {
        programs.back().options.push_back({split(cells[1], ','), cells[2], cells[3]});
      }
    }
  }
  return programs;
}

}  // namespace fovea::apps
