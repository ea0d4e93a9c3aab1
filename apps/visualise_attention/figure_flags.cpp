#include "visualise_attention/figure_flags.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace fovea::apps {
namespace {

using Kind = schema::Type::Kind;

// What stands for the value in the help.
std::string value_name(const schema::Type& type, const schema::Range& range) {
  if (!range.names.empty()) return fmt::format("{}", fmt::join(range.names, "|"));
  const char* name = type.innermost().kind == Kind::kInteger  ? "INT"
                     : type.innermost().kind == Kind::kNumber ? "FLOAT"
                                                              : "TEXT";
  const bool list = type.kind == Kind::kArray && type.innermost().kind != Kind::kString;
  return list ? std::string(name) + ",..." : name;
}

}  // namespace

FigureFlags::FigureFlags(Options cli) {
  std::vector<std::string> names, standard;
  for (const visualise::Figure& figure : visualise::figures()) {
    names.push_back(figure.name);
    if (figure.info.standard) standard.push_back(figure.name);
  }
  cli.add_option("--figure", figure_,
                 fmt::format("what is drawn, by its name above (default: the one of {} that fits "
                             "the runs)",
                             fmt::join(standard, ", ")))
      .value(fmt::format("{}", fmt::join(names, "|")));
  for (const visualise::Figure& figure : visualise::figures()) {
    if (!figure.info.flag || figure.fields->find(figure.name) != nullptr) continue;
    figures_.push_back({figure.name});
    cli.add_flag(visualise::flag_of(figure.name), figures_.back().on,
                 "the same as --figure " + figure.name);
  }
  for (const visualise::FigureOption& option : visualise::figure_options()) add_option(cli, option);
}

void FigureFlags::add_option(Options cli, const visualise::FigureOption& option) {
  if (option.type.kind == Kind::kBool) {
    switches_.push_back({option.key});
    cli.add_flag(option.flag, switches_.back().on, option.help);
    return;
  }
  words_.push_back({option.key, {}, {}});
  const bool list = option.type.kind == Kind::kArray;
  Option added = list ? cli.add_option(option.flag, words_.back().list, option.help)
                      : cli.add_option(option.flag, words_.back().one, option.help);
  added.value(value_name(option.type, option.range));
  // Words of no list are names of layers and the like, which may hold commas.
  if (list && (option.type.innermost().kind != Kind::kString || !option.range.names.empty()))
    added.commas();
  if (option.range.low || option.range.high) {
    added.number(option.range.text, [range = option.range](double number) {
      return range.accepts(schema::Value(number));
    });
  }
}

visualise::GivenOptions FigureFlags::given() const {
  visualise::GivenOptions given;
  for (const Switch& option : switches_) {
    if (option.on) given[option.name] = {};
  }
  for (const Words& option : words_) {
    if (!option.one.empty()) given[option.key] = {option.one};
    if (!option.list.empty()) given[option.key] = option.list;
  }
  return given;
}

const visualise::Figure* FigureFlags::asked() const {
  std::vector<std::string> flags;
  for (const Switch& figure : figures_) {
    if (figure.on) flags.push_back(figure.name);
  }
  return visualise::asked_figure(figure_, flags, given());
}

}  // namespace fovea::apps
