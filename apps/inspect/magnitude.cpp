#include "inspect/magnitude.h"

#include <fmt/format.h>

#include "experiment/tables/text_table.h"

namespace fovea::apps {

Options add_magnitude(Options cli, MagnitudeArguments& args) {
  Options magnitude = cli.add_subcommand(
      "magnitude",
      "scores of a query that grows, with random keys: softmax, linear attention, MALA; needs no "
      "run");
  magnitude.add_option("--keys", args.settings.keys, "number of keys (default: 16)").positive();
  magnitude.add_option("--dim", args.settings.dim, "of query and keys (default: 64)").positive();
  magnitude
      .add_option("--key-std", args.settings.key_std,
                  "deviation of the entries of keys (default: 0.5)")
      .positive();
  magnitude
      .add_option("--factors", args.settings.factors, "lengths of the query (default: 1,2,4,8)")
      .commas()
      .positive()
      .value("A,...");
  magnitude.add_option("--seed", args.seed, "of the query's direction and the keys").non_negative();
  magnitude
      .add_option("-o,--out", args.out,
                  "picture, .png or .svg, with a .csv beside it (default: magnitude.png)")
      .value("FILE");
  return magnitude;
}

int draw_magnitude(MagnitudeArguments args) {
  args.settings.seed = static_cast<std::uint64_t>(args.seed);
  const auto responses =
      visualise::magnitude_responses(visualise::drawn_query(args.settings), args.settings.factors);
  visualise::write_magnitude(args.out, responses);
  experiment::TextTable table{{"mechanism", "a", "entropy", "maximum", "least"}, {}};
  for (const visualise::MagnitudeResponse& r : responses) {
    table.rows.push_back({r.mechanism, fmt::format("{}", r.factor),
                          fmt::format("{:.4f}", r.entropy), fmt::format("{:.4f}", r.maximum),
                          fmt::format("{:.4f}", r.minimum)});
  }
  fmt::print("{}{}\n", experiment::plain_table(table), args.out);
  return 0;
}

}  // namespace fovea::apps
