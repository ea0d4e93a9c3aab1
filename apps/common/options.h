// Options of a program. The library that parses them stays in options.cpp: its header takes longer
// to compile than most of our sources.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace fovea::apps {

/// An option that was added; each call says more about it.
class Option {
 public:
  explicit Option(CLI::Option* option) : option_(option) {}
  Option& required();
  /// Numbers from `low` to `high`.
  Option& range(int low, int high);
  Option& range(double low, double high);
  /// Numbers within `limits`, which complete "expected a number ".
  Option& number(const std::string& limits, const std::function<bool(double)>& accepts);
  /// Numbers > 0, numbers >= 0.
  Option& positive();
  Option& non_negative();
  /// Values of a list are given apart by commas, "--seeds 0,1".
  Option& commas();
  /// Takes one to `n` values, "--list dataset digits".
  Option& at_most(int n);
  /// The value may be left out; then it stays as it was.
  Option& optional_value();
  /// Whether it was given, once the line is parsed.
  bool given() const;
  /// What stands for the value in the help. Completion of shells knows FILE, EXPERIMENT (a file or
  /// the folder of a run), FOLDER, and "a|b|c", words to choose from.
  Option& value(const std::string& name);
  /// Not allowed without the other, or beside it.
  Option& needs(const Option& other);
  Option& excludes(const Option& other);

 private:
  CLI::Option* option_;
};

/// The options of a program or of one of its subcommands.
class Options {
 public:
  explicit Options(CLI::App* app) : app_(app) {}
  /// `names` as in "-o,--out", or "EXPERIMENT" for a word by its place. T: std::string, int,
  /// std::int64_t, double, std::filesystem::path, and vectors of them. An option with a vector may
  /// be repeated and takes one value each time; a word with a vector takes all that follow.
  template <class T>
  Option add_option(const std::string& names, T& value, const std::string& help);
  Option add_flag(const std::string& names, bool& flag, const std::string& help);
  /// A flag that sets `choice` to `to`; of several the last counts.
  Option add_flag(const std::string& names, std::optional<bool>& choice, bool to,
                  const std::string& help);
  /// Options of the program may also stand behind it.
  Options add_subcommand(const std::string& name, const std::string& help);
  /// True if this subcommand was given.
  bool parsed() const;

 protected:
  CLI::App* app_;
};

/// A whole command line.
class CommandLine {
 public:
  /// `name` of the program; `description` keeps its layout (usage and example).
  CommandLine(const std::string& name, const std::string& description);
  ~CommandLine();
  CommandLine(const CommandLine&) = delete;
  CommandLine& operator=(const CommandLine&) = delete;

  Options options() { return Options(app_.get()); }

  /// Nothing where the program is to go on. Else its exit code: 0 after --help, --version or
  /// --list-options, `usage_error` after a complaint in one line on stderr.
  std::optional<int> parse(int argc, char** argv, int usage_error);

 private:
  std::string name_;
  std::unique_ptr<CLI::App> app_;
};

}  // namespace fovea::apps
