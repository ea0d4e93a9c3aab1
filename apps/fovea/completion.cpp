#include "fovea/completion.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace fovea::apps {
namespace {

// What can stand for a value: words of its own, or files.
std::vector<std::string> words_of(const std::string& value) {
  std::vector<std::string> words;
  if (value.find('|') == std::string::npos) return words;
  std::size_t from = 0;
  for (std::size_t at = 0; at != std::string::npos; from = at + 1) {
    at = value.find('|', from);
    words.push_back(value.substr(from, at - from));
  }
  return words;
}

// A line of shell that offers values for the word under the cursor.
std::string bash_values(const std::string& value) {
  if (value == "EXPERIMENT") return "_fovea_files '*.json'";
  if (value == "FILE") return "_fovea_files '*'";
  if (value == "FOLDER") return "_fovea_files ''";
  return fmt::format("_fovea_words '{}'", fmt::join(words_of(value), " "));
}

// What stands behind the second colon of a specification of _arguments.
std::string zsh_values(const std::string& value) {
  if (value == "EXPERIMENT") return "_files -g \"*.json\"";
  if (value == "FILE") return "_files";
  if (value == "FOLDER") return "_files -/";
  const std::vector<std::string> words = words_of(value);
  return words.empty() ? " " : fmt::format("({})", fmt::join(words, " "));
}

// For text inside '...[text]...': brackets and colons have a meaning there.
std::string zsh_text(const std::string& text) {
  std::string result;
  for (const char c : text) {
    if (c == '[' || c == ']' || c == ':' || c == '\\') result += '\\';
    result += c == '\'' ? "'\\''" : std::string(1, c);
  }
  return result;
}

std::vector<std::string> subcommands_of(const std::vector<ListedProgram>& programs,
                                        const ListedProgram& program) {
  std::vector<std::string> names;
  for (const ListedProgram& other : programs) {
    if (program.subcommand.empty() && other.command.name == program.command.name &&
        !other.subcommand.empty())
      names.push_back(other.subcommand);
  }
  return names;
}

std::string bash_case(const std::vector<ListedProgram>& programs, const ListedProgram& program) {
  std::string values, words;
  std::vector<std::string> options;
  for (const ListedOption& option : program.options) {
    if (option.is_word()) {
      words = bash_values(option.value);
      continue;
    }
    options.insert(options.end(), option.names.begin(), option.names.end());
    if (option.value.empty()) continue;
    values += fmt::format("        {}) {}; return ;;\n", fmt::join(option.names, "|"),
                          bash_values(option.value));
  }
  const std::string name = program.subcommand.empty()
                               ? program.command.name
                               : program.command.name + " " + program.subcommand;
  std::string text = fmt::format("    '{}')\n", name);
  if (!values.empty()) text += fmt::format("      case $before in\n{}      esac\n", values);
  text += fmt::format("      options='{}'\n", fmt::join(options, " "));
  const auto subcommands = subcommands_of(programs, program);
  if (!subcommands.empty()) {
    text += fmt::format("      ((COMP_CWORD == 2)) && _fovea_words '{}'\n",
                        fmt::join(subcommands, " "));
  }
  if (!words.empty()) text += fmt::format("      [[ $word == -* ]] || {}\n", words);
  return text + "      ;;\n";
}

std::string zsh_case(const std::vector<ListedProgram>& programs, const ListedProgram& program) {
  std::string text;
  const auto subcommands = subcommands_of(programs, program);
  for (const ListedOption& option : program.options) {
    const std::string help = zsh_text(option.help);
    if (option.is_word()) {
      text += fmt::format(" \\\n        '*:{}:{}'", zsh_text(option.names.front()),
                          zsh_values(option.value));
      continue;
    }
    for (const std::string& name : option.names) {
      const std::string value = option.value.empty() ? ""
                                                     : fmt::format(":{}:{}", zsh_text(option.value),
                                                                   zsh_values(option.value));
      text += fmt::format(" \\\n        '*{}[{}]{}'", name, help, value);
    }
  }
  std::string before;
  if (!subcommands.empty()) {
    before = fmt::format("      (( CURRENT == 3 )) && compadd {}\n", fmt::join(subcommands, " "));
  }
  const std::string name = program.subcommand.empty()
                               ? program.command.name
                               : program.command.name + " " + program.subcommand;
  return fmt::format(
      "    '{}')\n{}      shift $(( depth - 1 )) words; (( CURRENT -= depth - 1 ))\n"
      "      _arguments{}\n      ;;\n",
      name, before, text);
}

// The command and, where it has one under its first word, the subcommand, as "inspect config".
std::string subcommand_pattern(const std::vector<ListedProgram>& programs) {
  std::vector<std::string> names;
  for (const ListedProgram& program : programs) {
    if (!program.subcommand.empty())
      names.push_back(fmt::format("'{} {}'", program.command.name, program.subcommand));
  }
  return names.empty() ? "''" : fmt::format("{}", fmt::join(names, "|"));
}

std::vector<std::string> command_names() {
  std::vector<std::string> names;
  for (const Command& command : commands()) names.push_back(command.name);
  return names;
}

}  // namespace

std::string bash_completion(const std::vector<ListedProgram>& programs) {
  std::string cases;
  for (const ListedProgram& program : programs) cases += bash_case(programs, program);
  return fmt::format(R"SH(# bash completion of fovea; made by: fovea completion bash
_fovea_words() {{
  local found
  while IFS= read -r found; do COMPREPLY+=("$found"); done < <(compgen -W "$1" -- "$word")
}}
# Folders, and files of a pattern.
_fovea_files() {{
  local found
  compopt -o filenames 2>/dev/null
  while IFS= read -r found; do COMPREPLY+=("$found"); done < <(
    compgen -d -- "$word"
    [[ -z $1 ]] || compgen -f -X "!$1" -- "$word" | while IFS= read -r found; do
      [[ -d $found ]] || echo "$found"
    done)
}}
_fovea() {{
  local word=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD-1]}} options=
  local command=${{COMP_WORDS[1]}}
  COMPREPLY=()
  if ((COMP_CWORD == 1)); then
    _fovea_words '{}'
    return
  fi
  case "$command ${{COMP_WORDS[2]}}" in
    {}) ((COMP_CWORD == 2)) || command="$command ${{COMP_WORDS[2]}}" ;;
  esac
  case $command in
{}    completion) _fovea_words 'bash zsh' ;;
  esac
  [[ $word != -* ]] || _fovea_words "$options"
}}
complete -F _fovea fovea
)SH",
                     fmt::join(command_names(), " "), subcommand_pattern(programs), cases);
}

std::string zsh_completion(const std::vector<ListedProgram>& programs) {
  std::string cases, names;
  for (const ListedProgram& program : programs) cases += zsh_case(programs, program);
  for (const Command& command : commands()) {
    names += fmt::format("      '{}:{}'\n", command.name, zsh_text(command.help));
  }
  return fmt::format(R"SH(#compdef fovea
# zsh completion of fovea; made by: fovea completion zsh
_fovea() {{
  local -a commands
  local command=$words[2] depth=2
  if (( CURRENT == 2 )); then
    commands=(
{})
    _describe command commands
    return
  fi
  case "$command $words[3]" in
    {}) (( CURRENT == 3 )) || {{ command="$command $words[3]"; depth=3 }} ;;
  esac
  case $command in
{}    completion) compadd bash zsh ;;
  esac
}}
if [[ $funcstack[1] == _fovea ]]; then _fovea "$@"; else compdef _fovea fovea; fi
)SH",
                     names, subcommand_pattern(programs), cases);
}

}  // namespace fovea::apps
