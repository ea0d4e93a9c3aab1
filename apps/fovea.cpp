// fovea: the front of all programs. `fovea train ...` becomes the program train beside this one.

#include <fmt/format.h>
#include <unistd.h>

#include <csignal>
#include <iostream>

#include "base/version.h"
#include "common/app.h"
#include "common/output.h"
#include "common/programs.h"
#include "fovea/commands.h"
#include "fovea/completion.h"

namespace {

using namespace fovea;

std::string help() {
  std::string text =
      "Trains, scores, compares and explains attention networks described by experiment files.\n"
      "Usage: fovea COMMAND ...\n\nCommands:\n";
  for (const apps::Command& command : apps::commands()) {
    text += fmt::format("  {:<20} {}\n  {:<20}   {}\n", command.name, command.help, "",
                        command.example);
  }
  return text + "\nfovea COMMAND --help has the options of each; fovea --version the version.\n";
}

int complain(const std::string& message) {
  std::cerr << "fovea: " << message << "\n";
  return apps::kUsageError;
}

// Becomes the program, whose exit code is then ours.
int run(const std::string& name, char** argv) {
  const auto program = apps::program_of(name);
  if (!program) return complain(apps::not_built(name));
  std::signal(SIGPIPE, SIG_DFL);
  ::execv(program->c_str(), argv);
  return complain(fmt::format("{}: cannot be run", program->string()));
}

int complete(const std::string& shell) {
  if (shell == "bash") {
    std::cout << apps::bash_completion(apps::built_programs());
  } else if (shell == "zsh") {
    std::cout << apps::zsh_completion(apps::built_programs());
  } else {
    return complain("completion: expected bash or zsh, as in: source <(fovea completion bash)");
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  apps::prepare_children();
  std::signal(SIGPIPE, SIG_IGN);  // comes back as an error of the write
  const std::string name = argc > 1 ? argv[1] : "";
  if (name == "--version") {
    fmt::print("fovea {} ({}), {}\n", version(), commit(), compiler());
    return apps::finish_output("fovea", 0);
  }
  const bool asks = name == "--help" || name == "-h" || name == "help";
  if (asks && argc > 2) {  // fovea help train
    char option[] = "--help";
    char* words[] = {argv[2], option, nullptr};
    return apps::find_command(argv[2]) ? run(argv[2], words)
                                       : complain(apps::unknown_command(argv[2]));
  }
  if (asks || name.empty()) {
    std::cout << help();
    return apps::finish_output("fovea", asks ? 0 : apps::kUsageError);
  }
  if (name == "completion") return apps::finish_output("fovea", complete(argc > 2 ? argv[2] : ""));
  if (!apps::find_command(name)) return complain(apps::unknown_command(name));
  return run(name, argv + 1);
}
