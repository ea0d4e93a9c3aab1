#include "explain/interventions/set_heads.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <utility>

#include "base/error.h"
#include "base/name_pattern.h"
#include "base/shown.h"
#include "base/suggest.h"
#include "explain/maps/tokens.h"

namespace fovea::explain {
namespace {

[[noreturn]] void refuse_setting(const std::string& text, const std::string& why) {
  throw ConfigError(
      fmt::format("--set-heads {}: {}; expected MODULE:HEADS=off or MODULE:HEADS=FACTOR, for "
                  "example blocks.3:0,2=off, blocks.3:0-2=0.5 or blocks.*:*=off",
                  shown(text), why));
}

double factor_of(const std::string& text, const std::string& word) {
  if (word == "off") return 0;
  double factor = 0;
  const char* const end = word.data() + word.size();
  const auto [stop, error] = std::from_chars(word.data(), end, factor);
  if (error != std::errc() || stop != end || !std::isfinite(factor))
    refuse_setting(text, fmt::format("\"{}\" is neither off nor a number", shown(word)));
  return factor;
}

// Whether a site is the module of this name, or a part of it.
bool is_in(const std::string& site, const std::string& pattern) {
  return matches_pattern(site, pattern) || matches_pattern(site, pattern + ".*");
}

// Names that would have been right: the attentions and the blocks that they are parts of.
std::vector<std::string> known_modules(const std::vector<HeadSite>& sites) {
  std::vector<std::string> names;
  for (const HeadSite& site : sites) {
    names.push_back(site.module);
    const std::size_t dot = site.module.rfind('.');
    if (dot != std::string::npos) names.push_back(site.module.substr(0, dot));
  }
  return names;
}

void check_heads_there(const HeadSetting& setting, const HeadSite& site) {
  for (const auto& [first, last] : setting.ranges) {
    FOVEA_CHECK(last < site.heads, ConfigError,
                fmt::format("--set-heads {}: {} has no head {}; expected heads from 0 to {}",
                            setting.text, site.module, last, site.heads - 1));
  }
}

bool names_head(const HeadSetting& setting, std::int64_t head) {
  return setting.ranges.empty() || std::ranges::any_of(setting.ranges, [&](const auto& range) {
           return head >= range.first && head <= range.second;
         });
}

}  // namespace

HeadSetting head_setting(const std::string& text) {
  const std::size_t equals = text.rfind('=');
  if (equals == std::string::npos) refuse_setting(text, "says not what becomes of the heads");
  const std::size_t colon = text.rfind(':', equals);
  if (colon == std::string::npos || colon == 0 || colon + 1 == equals)
    refuse_setting(text, "names no module, or no heads of it");
  HeadSetting setting{
      text.substr(0, colon), {}, factor_of(text, text.substr(equals + 1)), shown(text)};
  const std::string heads = text.substr(colon + 1, equals - colon - 1);
  if (heads == "*") return setting;
  setting.ranges = number_ranges(heads, [&](const std::string& word) {
    refuse_setting(text, fmt::format("\"{}\" is no head and no range of heads", shown(word)));
  });
  return setting;
}

std::vector<HeadSetting> head_settings(const std::vector<std::string>& texts) {
  std::vector<HeadSetting> settings;
  for (const std::string& text : texts) settings.push_back(head_setting(text));
  return settings;
}

SetHeads::SetHeads(const std::vector<HeadSite>& sites, const std::vector<HeadSetting>& settings) {
  std::vector<std::vector<double>> factors;
  for (const HeadSite& site : sites) factors.emplace_back(as_index(site.heads), 1.0);
  for (const HeadSetting& setting : settings) {
    bool found = false;
    for (std::size_t s = 0; s < sites.size(); ++s) {
      if (!is_in(sites[s].module, setting.module)) continue;
      found = true;
      check_heads_there(setting, sites[s]);
      for (std::int64_t head = 0; head < sites[s].heads; ++head)
        if (names_head(setting, head)) factors[s][as_index(head)] = setting.factor;
    }
    FOVEA_CHECK(found, ConfigError,
                fmt::format("--set-heads {}: no attention called \"{}\"{} (the first is {}, the "
                            "last {})",
                            setting.text, shown(setting.module),
                            did_you_mean(setting.module, known_modules(sites)),
                            sites.front().module, sites.back().module));
  }
  for (std::size_t s = 0; s < sites.size(); ++s) {
    if (std::ranges::any_of(factors[s], [](double factor) { return factor != 1; }))
      scaled_.push_back(std::make_unique<ScaledHeads>(sites[s], factors[s]));
  }
}

}  // namespace fovea::explain
