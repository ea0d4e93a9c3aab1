#include "common/options.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <functional>
#include <iostream>

#include "base/shown.h"
#include "base/suggest.h"
#include "base/version.h"
#include "common/one_line.h"
#include "data/files/pictures/image_file.h"

namespace fovea::apps {
namespace {

std::vector<std::string> flag_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  for (const CLI::App* sub : app.get_subcommands({})) {
    for (const std::string& name : flag_names(*sub)) names.push_back(name);
  }
  return names;
}

// The type without the ranges that the library appends, "INT:INT in [0 - 9]"; nothing for flags.
std::string value_of(const CLI::Option& option) {
  if (option.get_items_expected_max() == 0) return "";
  const std::string type = option.get_type_name();
  return type.substr(0, type.find_first_of(": "));
}

// For the completion of shells, a line for each option and subcommand: the subcommand it belongs
// to, its names apart by commas, its value, its help, apart by tabs.
void list_options(const CLI::App& app, const std::string& subcommand) {
  for (const CLI::Option* option : app.get_options()) {
    fmt::print("{}\t{}\t{}\t{}\n", subcommand, option->get_name(false, true), value_of(*option),
               option->get_description());
  }
  for (const CLI::App* sub : app.get_subcommands({})) {
    fmt::print("{}\t\t\t{}\n", sub->get_name(), sub->get_description());
    list_options(*sub, sub->get_name());
  }
}

// The library's own checks write the limits of a double with three hundred digits. `limits` is also
// part of the help.
void check_number(CLI::Option* option, const std::string& limits,
                  const std::function<bool(double)>& accepts) {
  const auto complaint = [limits, accepts](std::string& text) -> std::string {
    double value = 0;
    const char* const end = text.data() + text.size();
    const auto [rest, error] = std::from_chars(text.data(), end, value);
    const bool good = error == std::errc() && rest == end && accepts(value);
    return good ? "" : fmt::format("{}: expected a number {}", shown(text), limits);
  };
  option->check(CLI::Validator(complaint, limits));
}

}  // namespace

Option& Option::required() {
  option_->required();
  return *this;
}
Option& Option::number(const std::string& limits, const std::function<bool(double)>& accepts) {
  check_number(option_, limits, accepts);
  return *this;
}
Option& Option::range(int low, int high) {
  check_number(option_, fmt::format("from {} to {}", low, high),
               [=](double x) { return x >= low && x <= high; });
  return *this;
}
Option& Option::range(double low, double high) {
  check_number(option_, fmt::format("from {} to {}", low, high),
               [=](double x) { return x >= low && x <= high; });
  return *this;
}
Option& Option::positive() {
  check_number(option_, "> 0", [](double x) { return x > 0; });
  return *this;
}
Option& Option::non_negative() {
  check_number(option_, ">= 0", [](double x) { return x >= 0; });
  return *this;
}
Option& Option::commas() {
  option_->delimiter(',');
  return *this;
}
Option& Option::at_most(int n) {
  option_->expected(1, n);
  return *this;
}
Option& Option::optional_value() {
  option_->expected(0, 1);
  return *this;
}
bool Option::given() const { return option_->count() > 0; }
Option& Option::value(const std::string& name) {
  option_->type_name(name);
  return *this;
}
Option& Option::needs(const Option& other) {
  option_->needs(other.option_);
  return *this;
}
Option& Option::excludes(const Option& other) {
  option_->excludes(other.option_);
  return *this;
}

template <class T>
Option Options::add_option(const std::string& names, T& value, const std::string& help) {
  CLI::Option* option = app_->add_option(names, value, help);
  if (option->nonpositional()) option->allow_extra_args(false);
  return Option(option);
}

template Option Options::add_option(const std::string&, std::string&, const std::string&);
template Option Options::add_option(const std::string&, int&, const std::string&);
template Option Options::add_option(const std::string&, std::int64_t&, const std::string&);
template Option Options::add_option(const std::string&, double&, const std::string&);
template Option Options::add_option(const std::string&, std::filesystem::path&, const std::string&);
template Option Options::add_option(const std::string&, std::vector<std::string>&,
                                    const std::string&);
template Option Options::add_option(const std::string&, std::vector<std::int64_t>&,
                                    const std::string&);
template Option Options::add_option(const std::string&, std::vector<double>&, const std::string&);
template Option Options::add_option(const std::string&, std::vector<std::filesystem::path>&,
                                    const std::string&);

Option Options::add_flag(const std::string& names, bool& flag, const std::string& help) {
  return Option(app_->add_flag(names, flag, help));
}

Option Options::add_flag(const std::string& names, std::optional<bool>& choice, bool to,
                         const std::string& help) {
  return Option(app_->add_flag_callback(
      names, [&choice, to] { choice = to; }, help));
}

Options Options::add_subcommand(const std::string& name, const std::string& help) {
  return Options(app_->add_subcommand(name, help)->fallthrough());
}

bool Options::parsed() const { return app_->parsed(); }

CommandLine::CommandLine(const std::string& name, const std::string& description)
    : name_(name), app_(std::make_unique<CLI::App>(description, "fovea " + name)) {
  app_->set_version_flag("--version", [name] {
    return fmt::format("{} {} ({}), {}, JPEG by {}", name, version(), commit(), compiler(),
                       data::jpeg_decoder());
  });
  app_->get_formatter()->column_width(34);
}

CommandLine::~CommandLine() = default;

std::optional<int> CommandLine::parse(int argc, char** argv, int usage_error) {
  if (argc == 2 && std::string_view(argv[1]) == "--list-options") {
    list_options(*app_, "");
    return 0;
  }
  try {
    app_->parse(argc, argv);
    return std::nullopt;
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app_->exit(error);  // --help, --version
    std::string hint;
    for (int i = 1; i < argc; ++i) {
      const std::string given = std::string(argv[i]).substr(0, std::string_view(argv[i]).find('='));
      const auto known = flag_names(*app_);
      const bool unknown =
          given.rfind("--", 0) == 0 && std::find(known.begin(), known.end(), given) == known.end();
      if (unknown) hint = did_you_mean(given, known);
    }
    std::cerr << fmt::format("{}: {}{}{} see fovea {} --help\n", name_, one_line(error.what()),
                             hint, hint.empty() ? ";" : "", name_);
    return usage_error;
  }
}

}  // namespace fovea::apps
