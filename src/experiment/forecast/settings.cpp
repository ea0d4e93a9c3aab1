#include "experiment/forecast/settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <span>
#include <sstream>
#include <string_view>
#include <system_error>

#include "base/error.h"
#include "base/shown.h"
#include "experiment/forecast/cards.h"
#include "schema/fields.h"
#include "schema/json/parse.h"

namespace fovea::experiment {
namespace {

// What may stand behind a number, the longer ones first: its unit, and what one of it is.
struct Unit {
  std::string_view name;
  double size;
};
struct Quantity {
  std::vector<Unit> units;
  bool prefixes;        // K, M, G, T before the unit
  double low, high;     // in the unit in which it is kept
  std::string example;  // completes "expected string "
};

const Quantity& bandwidth() {
  static const Quantity quantity{{{"bit/s", 0.125}, {"B/s", 1}, {"", 0.125}},
                                 true,
                                 125,
                                 1.25e14,
                                 "like 400G (400 Gbit/s) or 50GB/s, from 1K to 1000T"};
  return quantity;
}
const Quantity& memory_bandwidth() {
  static const Quantity quantity{
      {{"B/s", 1}}, true, 1e3, 1e16, "like 3.35TB/s, from 1KB/s to 10000TB/s"};
  return quantity;
}
const Quantity& bytes() {
  static const Quantity quantity{{{"B", 1}}, true, 1e6, 1e15, "like 80GB, from 1MB to 1000TB"};
  return quantity;
}
const Quantity& duration() {
  static const Quantity quantity{{{"ns", 1e-9}, {"us", 1e-6}, {"ms", 1e-3}, {"s", 1}},
                                 false,
                                 0,
                                 10,
                                 "like 5us or 0.2ms, from 0s to 10s"};
  return quantity;
}
const Quantity& factor() {
  static const Quantity quantity{
      {{"x", 1}, {"", 1}}, false, 1e-6, 1e6, "like 20x, from 1e-6x to 1e6x"};
  return quantity;
}

double prefix(std::string_view text) {
  if (text.empty()) return 1;
  const std::size_t at = std::string_view("KMGTP").find(text);
  return text.size() == 1 && at != std::string_view::npos
             ? std::pow(1e3, static_cast<double>(at + 1))
             : 0;
}

std::optional<double> read(const Quantity& quantity, std::string_view text) {
  double number = 0;
  const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (status != std::errc()) return {};
  const std::string_view rest(end, static_cast<std::size_t>(text.data() + text.size() - end));
  for (const Unit& unit : quantity.units) {
    if (!rest.ends_with(unit.name)) continue;
    const std::string_view before = rest.substr(0, rest.size() - unit.name.size());
    const double scale = quantity.prefixes || before.empty() ? prefix(before) : 0;
    const double value = number * scale * unit.size;
    const bool inside = scale > 0 && value >= quantity.low && value <= quantity.high;
    return inside ? std::optional(value) : std::nullopt;
  }
  return {};
}

// Texts of a quantity; "" = not given, which no word can say.
schema::Range is(const Quantity& quantity) {
  schema::Range range;
  range.text = quantity.example;
  range.accepts = [&quantity](const schema::Value& value) {
    return value.is_string() &&
           (value.as_string().empty() || read(quantity, value.as_string()).has_value());
  };
  return range;
}

const char* const kNoCard = "none";

// As they are written; "" and 0 = not given.
struct Words {
  std::int64_t ranks = 0, gpus = 0;
  std::string net, latency, node_net, host_copy;
  std::int64_t ranks_per_node = 1;
  SumKind sum = SumKind::kOrdered;
  double overlap = kOverlapOfTrain;
  std::int64_t zero = 0;
  std::int64_t batch = 0;
  std::string card = kNoCard;
  double tflops = 0;
  std::string memory_bandwidth, memory;
  double share = ForecastSettings().share;
  std::string speed;
};

std::string complaint(const Words& words) {
  if (words.ranks == 0 && words.gpus == 0)
    return "no ranks or gpus, expected at least 'gpus=64 net=400G'";
  if (words.ranks > 0 && words.gpus > 0) return "ranks and gpus are one thing; give one of them";
  if (words.net.empty()) return "no net, expected at least 'gpus=64 net=400G'";
  const bool peak = words.tflops > 0, bandwidth = !words.memory_bandwidth.empty();
  if (words.card == kNoCard && peak != bandwidth)
    return "without a card a time is calculated from tflops and memory_bandwidth together";
  if (words.card == kNoCard && !peak && words.share != Words().share)
    return "share belongs to card, or to tflops and memory_bandwidth; a measured time has speed=2x";
  return "";
}

const schema::Fields<Words>& fields() {
  static const auto fields = [] {
    constexpr double kMostRanks = 1 << 20;
    std::vector<std::string> names{kNoCard};
    for (const Card& card : cards()) names.push_back(card.name);
    return schema::Fields<Words>{}
        .add("ranks", &Words::ranks, schema::in_range(0, kMostRanks), "processes")
        .add("gpus", &Words::gpus, schema::in_range(0, kMostRanks), "the same")
        .add("net", &Words::net, is(bandwidth()), "bandwidth of a rank to other machines")
        .add("latency", &Words::latency, is(duration()), "of a message")
        .add("ranks_per_node", &Words::ranks_per_node, schema::in_range(1, kMostRanks),
             "on one machine")
        .add("node_net", &Words::node_net, is(bandwidth()), "bandwidth within a machine")
        .add("host_copy", &Words::host_copy, is(bandwidth()), "between device and host")
        .add_enum("sum", &Words::sum, {{"ordered", SumKind::kOrdered}, {"ring", SumKind::kRing}},
                  "how gradients are summed")
        .add("overlap", &Words::overlap, schema::in_range(0, 1),
             "share of the backward pass behind which sums hide")
        .add("zero", &Words::zero, schema::in_range(0, 1), "1: ZeRO-1")
        .add("batch", &Words::batch, schema::in_range(0, 1e12), "samples of a step of all ranks")
        .add("card", &Words::card, schema::one_of(names), "whose time is calculated")
        .add("tflops", &Words::tflops, schema::in_range(0, 1e6), "peak of a card")
        .add("memory_bandwidth", &Words::memory_bandwidth, is(memory_bandwidth()), "of a card")
        .add("memory", &Words::memory, is(bytes()), "of a card")
        .add("share", &Words::share, schema::in_range(1e-3, 1), "of the peaks that kernels reach")
        .add("speed", &Words::speed, is(factor()), "of the ranks' devices, relative")
        .check(complaint);
  }();
  return fields;
}

// One word as a member: text where the key takes text, else JSON.
schema::Value value_of(const schema::Field* field, const std::string& text,
                       const schema::Origin& origin) {
  schema::Value value(text);
  if (field != nullptr && field->type.kind != schema::Type::Kind::kString) {
    try {
      value = schema::parse(text, origin.file);
    } catch (const ConfigError&) {  // then the text is named as what it is
    }
  }
  value.set_origin_deep(origin);
  return value;
}

schema::Value object_of(const std::string& text) {
  schema::Value object = schema::Value::object();
  object.set_origin({"--forecast", 0, 0});
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    const schema::Origin origin{"--forecast " + shown(word, 200), 0, 0};
    const std::size_t equals = word.find('=');
    FOVEA_CHECK(equals != std::string::npos && equals > 0 && equals + 1 < word.size(), ConfigError,
                origin.file + ": expected key=value, such as net=400G");
    const std::string key = word.substr(0, equals);
    FOVEA_CHECK(object.find(key) == nullptr, ConfigError,
                fmt::format("{}: {} is given twice", origin.file, shown(key)));
    object.set(key, value_of(fields().find(key), word.substr(equals + 1), origin));
    object.members().back().key_origin = origin;
  }
  return object;
}

}  // namespace

ForecastSettings read_forecast_settings(const std::string& text) {
  const Words words = fields().parse(object_of(text));
  ForecastSettings settings;
  settings.ranks = std::max(words.ranks, words.gpus);
  Network& network = settings.network;
  network.net = read(bandwidth(), words.net).value();
  network.node_net = read(bandwidth(), words.node_net).value_or(network.net);
  network.latency = read(duration(), words.latency).value_or(network.latency);
  network.ranks_per_node = words.ranks_per_node;
  settings.host_copy = read(bandwidth(), words.host_copy);
  settings.sum = words.sum;
  settings.overlap = words.overlap;
  settings.zero = words.zero == 1;
  settings.batch = words.batch;
  if (words.card != kNoCard) settings.card = words.card;
  if (words.tflops > 0) settings.tflops = words.tflops;
  settings.memory_bandwidth = read(memory_bandwidth(), words.memory_bandwidth);
  settings.memory = read(bytes(), words.memory);
  settings.share = words.share;
  settings.speed = read(factor(), words.speed).value_or(1);
  return settings;
}

std::vector<std::string> forecast_keys() { return fields().keys(); }

}  // namespace fovea::experiment
