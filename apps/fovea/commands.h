// The commands of the front, and the programs behind them.
#pragma once

#include <string>
#include <vector>

namespace fovea::apps {

struct Command {
  std::string name;  // also of the program
  std::string help;
  std::string example;
};

/// In the order of the help.
const std::vector<Command>& commands();
const Command* find_command(const std::string& name);
/// "no command called "trian"; did you mean "train"? ..."
std::string unknown_command(const std::string& name);

/// An option as a program lists it (CommandLine, common/options.h).
struct ListedOption {
  std::vector<std::string> names;  // "-o", "--out"; one without dashes for a word by its place
  std::string value;               // "FILE", "a|b"; empty for flags
  std::string help;
  bool is_word() const { return names.front().front() != '-'; }
};

/// A program, or one of its subcommands.
struct ListedProgram {
  Command command;
  std::string subcommand;  // empty: the program itself
  std::vector<ListedOption> options;
};

/// All options of every program that was built; a program stands before its subcommands.
std::vector<ListedProgram> built_programs();

}  // namespace fovea::apps
