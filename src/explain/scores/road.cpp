#include "explain/scores/road.h"

#include <cmath>
#include <numeric>

#include "base/error.h"
#include "explain/scores/impute_linear.h"
#include "explain/scores/order.h"

namespace fovea::explain {
namespace {

double road_score(const Explained& e, const RoadOptions& options) {
  const auto noise = [&](std::size_t level, bool least) {
    const RandomStream stream = e.stream.fork(least ? "road lerf" : "road morf").fork(level);
    std::vector<double> values;
    for (std::size_t i = 0; i < e.image.values.size(); ++i) values.push_back(stream.normal(i));
    return values;
  };
  return road(e, options, noise).score();
}

double mean_of_all(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

schema::Fields<RoadOptions> road_fields() {
  return schema::Fields<RoadOptions>{}
      .add("levels", &RoadOptions::levels, schema::in_range(0, 1), "shares of removed units")
      .add("noise_scale", &RoadOptions::noise_scale, schema::at_least(0),
           "standard deviation of the noise on imputed pixels");
}

}  // namespace

double Road::score() const { return (mean_of_all(lerf_prob) - mean_of_all(morf_prob)) / 2; }

Road road(const Explained& e, const RoadOptions& options,
          const std::function<std::vector<double>(std::size_t level, bool least)>& noise) {
  FOVEA_CHECK(!options.levels.empty(), ConfigError,
              "road: no levels; expected shares of the units, such as 0.5");
  const Replacement replace(*e.units, e.image);
  const auto n = static_cast<double>(e.units->count());
  Road result;
  for (const bool least : {false, true}) {
    const std::vector<std::int64_t> order =
        least ? ascending(e.relevance) : descending(e.relevance);
    const auto change = [&](std::int64_t index, Image& image) {
      const auto level = static_cast<std::size_t>(index);
      // So that 0.3 of 20 units are 6.
      const auto count = static_cast<std::size_t>(std::floor(options.levels[level] * n + 1e-9));
      const auto removed = replace.mask(std::span(order).first(std::min(count, order.size())));
      impute_linear(image, removed);
      if (options.noise_scale != 0)
        add_noise(image, removed, noise(level, least), options.noise_scale);
    };
    for (const Answer& answer :
         e.network->ask(e.image, e.target, std::ssize(options.levels), change)) {
      (least ? result.lerf_prob : result.morf_prob).push_back(answer.probability);
      (least ? result.lerf_hit : result.morf_hit).push_back(answer.predicted == e.target);
    }
  }
  return result;
}

FOVEA_SCORE(road,
            "half of what the probability of the class is higher by with the least relevant units "
            "imputed than with the most relevant ones, mean over levels (ROAD)",
            (ScoreRule{Better::kHigher, {Need::kImage}}), road_fields(), road_score)

}  // namespace fovea::explain
