// Runs that an older program made, or that go by another name, are known by their configuration.
#include <catch2/catch.hpp>

#include "experiment/run/run_folder.h"
#include "schema/renamed.h"
#include "tests/experiment/fixture.h"

using namespace fovea;
using namespace fovea::experiment;
using namespace fovea::experiment::test;

namespace {

// As the fixture's experiment was before num_heads and root came.
schema::Value older(schema::Value config) {
  config.find("model")->erase("num_heads");
  config.erase("root");
  return config;
}

void finish(const std::string& id, const schema::Value& config) {
  write("out/jobs/" + id + ".json", config.dump());
  write("out/runs/" + id + "/config.json", config.dump());
  write("out/runs/" + id + "/summary.json", R"({"metrics": {"test": {"top1": 1}}})");
}

Ablation load(const std::string& name = "x") {
  write("a.json", R"({"name": "a", "base": {}, "seeds": [0, 1], "rows": [{"name": ")" + name +
                      R"("}, {"name": "y", "set": {"model.depth": 2}}]})");
  return load_ablation("a.json", kind());
}

}  // namespace

TEST_CASE("recognise: a run stored before a key existed is finished", "[experiment]") {
  const Folder folder("recognise-key");
  Ablation ablation = load();
  finish(ablation.jobs[0].id, older(ablation.jobs[0].config));
  CHECK(status_of(ablation, "out", ablation.jobs[0]).state == JobState::kFinished);
  // With another value than today's default it is another run.
  schema::Value other = ablation.jobs[1].config;
  other.find("model")->set("num_heads", 5);
  finish(ablation.jobs[1].id, other);
  CHECK(status_of(ablation, "out", ablation.jobs[1]).state != JobState::kFinished);
  // What means nothing to this program is nobody's.
  other.set("no_such_key", 1);
  finish(ablation.jobs[1].id, other);
  CHECK(status_of(ablation, "out", ablation.jobs[1]).state != JobState::kFinished);
}

TEST_CASE("recognise: folders under an older hash or an older name are found", "[experiment]") {
  const Folder folder("recognise-id");
  Ablation ablation = load("new name");
  finish("x-s0-01234567", older(ablation.jobs[0].config));
  // Twice: the finished one counts. And one that only began.
  write("out/runs/a-unfinished/config.json", ablation.jobs[0].config.dump());
  write("out/jobs/y-s1-89abcdef.json", older(ablation.jobs[3].config).dump());
  write("out/jobs/y-s1-89abcdef.failed", "loss is nan\n");
  write("out/runs/rubbish/config.json", "{");
  const std::string fresh = ablation.jobs[1].id;
  recognise_jobs(ablation, "out");
  CHECK(ablation.jobs[0].id == "x-s0-01234567");
  CHECK(status_of(ablation, "out", ablation.jobs[0]).state == JobState::kFinished);
  CHECK(ablation.jobs[1].id == fresh);
  CHECK(ablation.jobs[3].id == "y-s1-89abcdef");
  CHECK(status_of(ablation, "out", ablation.jobs[3]).state == JobState::kFailed);
}

TEST_CASE("recognise: nothing to find in an empty place", "[experiment]") {
  const Folder folder("recognise-none");
  Ablation ablation = load();
  const std::string id = ablation.jobs[0].id;
  recognise_jobs(ablation, "nowhere");
  CHECK(ablation.jobs[0].id == id);
}

TEST_CASE("recognise: rows that differ in where their data lie are two runs", "[experiment]") {
  const Folder folder("recognise-place");
  write("a.json", R"({"name": "a", "base": {}, "seeds": [0], "rows": [
    {"name": "x", "set": {"root": "here"}}, {"name": "y", "set": {"root": "there"}},
    {"name": "z", "set": {"root": "there", "model.depth": 2}}]})");
  const Ablation ablation = load_ablation("a.json", kind());
  CHECK(ablation.jobs[0].hash != ablation.jobs[1].hash);
  CHECK(ablation.jobs[0].counted.places == schema::Places::kCounted);
  CHECK(ablation.jobs[2].counted.places == schema::Places::kIgnored);
  finish(ablation.jobs[0].id, ablation.jobs[1].config);
  CHECK(status_of(ablation, "out", ablation.jobs[0]).state != JobState::kFinished);
  // Alone, a row may find its data elsewhere.
  schema::Value moved = ablation.jobs[2].config;
  moved.set("root", "elsewhere");
  finish(ablation.jobs[2].id, moved);
  CHECK(status_of(ablation, "out", ablation.jobs[2]).state == JobState::kFinished);
  // Equal in all that matters is still a mistake.
  write("a.json", R"({"name": "a", "base": {}, "seeds": [0], "rows": [
    {"name": "x", "set": {"root": "here"}}, {"name": "y", "set": {"root": "here"}}]})");
  CHECK(complaint([] { load_ablation("a.json", kind()); }) ==
        R"(a.json: rows "x" and "y" have the same configuration)");
}
