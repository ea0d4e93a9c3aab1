// What a run leaves, without times: two runs are the same if this is.
#pragma once

#include <set>
#include <sstream>
#include <string>

#include "base/file.h"
#include "schema/json/parse.h"
#include "training/store/checkpoint.h"

namespace fovea::test {

inline std::string run_bytes(const io::fs::path& run) {
  using schema::Value;
  const auto in_checkpoint = [&](const std::string& file, const std::string& which) {
    return training::CheckpointStore(run).folder_of(which) / file;
  };
  std::string text;
  for (const char* name : {"model", "optimiser", "ema"}) {
    for (const char* which : {"last", "best"}) {
      const io::fs::path file = in_checkpoint(std::string(name) + ".safetensors", which);
      // Not all runs keep averages.
      text += io::fs::exists(file) ? training::hash_bytes(io::read_text(file)) + "\n" : "none\n";
    }
  }
  std::istringstream lines(io::read_text(run / "metrics.jsonl"));
  for (std::string line; std::getline(lines, line);) {
    Value value = schema::parse(line, "metrics.jsonl");
    value.erase("time_s");
    value.erase("samples_per_s");
    text += value.dump(0) + "\n";
  }
  Value state =
      schema::parse(io::read_text(in_checkpoint("state.json", "last")), "state").at("state");
  state.erase("time_s");
  state.erase("metrics_bytes");  // times have different lengths
  state.erase("metrics_hash");   // of lines with times
  state.erase("text_bytes");
  state.erase("event_bytes");
  state.erase("event_file");  // has the time in its name
  text += state.dump() + io::read_text(run / "log.txt") + io::read_text(run / "metrics.csv");
  std::set<std::string> names;
  for (const auto& entry : io::fs::recursive_directory_iterator(run)) {
    std::string name = io::fs::relative(entry.path(), run).string();
    if (name.starts_with("events.out.tfevents.")) {
      // Of the same length, since every number in it has a fixed width.
      name = "events " + std::to_string(io::fs::file_size(entry.path()));
    }
    names.insert(name);
  }
  for (const std::string& name : names) text += name + "\n";
  return text;
}

}  // namespace fovea::test
