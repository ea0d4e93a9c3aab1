#include "bench/network.h"

#include <fmt/format.h>

#include "parallel/network_speed.h"
#include "schema/json/value.h"

namespace fovea::bench {

std::string network_words(parallel::Ranks& ranks, bool json) {
  const parallel::NetworkSpeed speed = parallel::measure_network(ranks);
  if (!ranks.first()) return "";
  if (json) {
    return schema::Value::object({{"ranks", ranks.size()},
                                  {"latency_s", speed.latency_s},
                                  {"net_bytes_per_s", speed.bytes_per_s}})
               .dump() +
           "\n";
  }
  return fmt::format("{} ranks: latency={:.2f}us net={:.3g}G\n", ranks.size(),
                     1e6 * speed.latency_s, 8e-9 * speed.bytes_per_s);
}

}  // namespace fovea::bench
