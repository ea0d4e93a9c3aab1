#include "inspect/units.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "backend/devices.h"
#include "base/error.h"
#include "experiment/tables/text_table.h"
#include "models/volumes/dformer_units.h"
#include "visualise/layouts/unit_drawing.h"

namespace fovea::apps {
namespace {

using models::Size3;
using models::UnitScheme;

Size3 three(const char* flag, const std::vector<std::int64_t>& numbers) {
  FOVEA_CHECK(
      numbers.size() == 3, ConfigError,
      fmt::format("{} {}: expected depth, height and width", flag, fmt::join(numbers, ",")));
  return {numbers[0], numbers[1], numbers[2]};
}

UnitScheme scheme_from_name(const std::string& name) {
  if (name == "local") return UnitScheme::kLocal;
  if (name == "global") return UnitScheme::kGlobal;
  FOVEA_CHECK(name == "shifted", ConfigError,
              fmt::format("--schemes {}: expected local, global or shifted", name));
  return UnitScheme::kShifted;
}

}  // namespace

Options add_units(Options cli, UnitArguments& args) {
  Options units = cli.add_subcommand(
      "units", "how D-Former cuts tokens into local, global and shifted units; needs no run");
  units.add_option("--grid", args.grid, "tokens: depth, height, width (default: 6,6,6)")
      .commas()
      .positive()
      .value("D,H,W");
  units.add_option("--unit", args.unit, "members of a unit (default: 2,2,2)")
      .commas()
      .positive()
      .value("D,H,W");
  units
      .add_option("--interval", args.interval,
                  "global units as the public code cuts them for this interval; without it they "
                  "have as many members as --unit")
      .positive();
  units.add_option("--schemes", args.schemes, "which to draw (default: local,global)")
      .commas()
      .value("local|global|shifted");
  units.add_option("--token", args.token, "whose units stand out (default: 0,0,0)")
      .commas()
      .non_negative()
      .value("Z,Y,X");
  units.add_option("-o,--out", args.out, "picture, .png (default: units.png)").value("FILE");
  return units;
}

int draw_units(const UnitArguments& args) {
  const Size3 grid = three("--grid", args.grid), unit = three("--unit", args.unit),
              token = three("--token", args.token);
  constexpr std::int64_t kMostTokens = 1 << 18;
  FOVEA_CHECK(
      std::max({grid[0], grid[1], grid[2]}) <= 256 && grid[0] * grid[1] * grid[2] <= kMostTokens,
      ConfigError,
      fmt::format("--grid {}: is too large to draw; at most 256 along an axis and {} tokens",
                  fmt::join(grid, ","), kMostTokens));
  for (std::size_t axis = 0; axis < 3; ++axis) {
    FOVEA_CHECK(token[axis] < grid[axis], ConfigError,
                fmt::format("--token {}: lies outside --grid {}", fmt::join(token, ","),
                            fmt::join(grid, ",")));
  }
  models::PartitionOptions options{.unit = unit, .rule = models::PartitionRule::kUnit};
  if (args.interval > 0) {
    options.interval = args.interval;
    options.rule = models::PartitionRule::kReference;
  }
  const Device host = make_cpu(1);
  visualise::UnitDrawing drawing;
  drawing.title =
      fmt::format("{} tokens in units of {}", fmt::join(grid, " × "), fmt::join(unit, " × "));
  drawing.grid = grid;
  drawing.token = token;
  experiment::TextTable table{{"units", "number", "members", "distance", "padding"}, {}};
  for (const std::string& name : args.schemes) {
    const ops::UnitPlan plan = models::partition(grid, scheme_from_name(name), options);
    const ops::Units units(plan, host);
    std::vector<std::int64_t> distance(3, 1);
    if (plan.dilated) distance = plan.count;
    table.rows.push_back({name, fmt::format("{}", units.count()),
                          fmt::format("{}", fmt::join(plan.unit, " x ")),
                          fmt::format("{}", fmt::join(distance, " x ")),
                          fmt::format("{}", units.count() * units.members() - units.n())});
    drawing.rows.push_back({name, units});
  }
  visualise::write_png(args.out, visualise::render(drawing));
  fmt::print("{}{}\n", experiment::plain_table(table), args.out);
  return 0;
}

}  // namespace fovea::apps
