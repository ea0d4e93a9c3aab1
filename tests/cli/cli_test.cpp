// The real programs on the digits that ship with the project.
#include <catch2/catch.hpp>

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include <csignal>

#include "base/file.h"
#include "tests/cli/refusal.h"
#include "tests/support/paths.h"
#include "tests/support/run_cli.h"

using namespace fovea;
using namespace fovea::test;
using nlohmann::json;

namespace {

const std::string kDigits = test::source_dir() + "/datasets/digits";

// A run of a second or two.
std::string tiny(const std::string& more = "") {
  return fmt::format(
      R"({{"name": "tiny", "seed": 3,
  "dataset": {{"type": "digits", "root": "{}", "limit": {{"train": 160, "test": 60}}}},
  "model": {{"type": "dgvit", "patch_size": 4, "embed_dim": 16, "depth": 2, "drop_rate": 0.1, "attention": {{"num_heads": 2}}}},
  "optimizer": {{"type": "adamw", "lr": 3e-3}},
  "train": {{"epochs": 2, "batch_size": 32}}{}}})",
      kDigits, more);
}

int count_lines(const std::string& text) {
  return static_cast<int>(std::count(text.begin(), text.end(), '\n'));
}

// One line on stderr, nothing on stdout, the given exit code.
std::string weights_of(const std::filesystem::path& run) {
  return io::read_text(checkpoint_of(run) / "model.safetensors");
}

}  // namespace

TEST_CASE("train, eval, visualise-attention: files, contents and exit codes", "[cli]") {
  const TestFolder folder("cli-train");
  const std::string experiment = folder.write("tiny.json", tiny());
  const std::string run = folder.path("run").string();
  const CliResult trained = run_cli("train", {experiment, "--out", run, "--json"});
  REQUIRE(trained.code == 0);
  const json summary = json::parse(trained.out);
  CHECK(summary == json::parse(io::read_text(folder.path("run/summary.json"))));
  for (const char* key :
       {"metrics", "parameters", "macs", "time_s", "peak_bytes", "steps", "epochs", "weights"}) {
    CHECK(summary.contains(key));
  }
  CHECK_FALSE(summary.contains("best"));  // there is no validation part
  CHECK(summary["selected_on"].is_null());
  CHECK(summary["steps"] == 10);
  for (const char* file : {"config.json", "metrics.jsonl", "metrics.csv", "log.txt",
                           "checkpoints/last", "classes.json"}) {
    CHECK(io::fs::exists(folder.path("run") / file));
  }

  const CliResult scored =
      run_cli("eval", {run, "--noise", "gaussian", "--level", "0.3", "--json"});
  REQUIRE(scored.code == 0);
  const json score = json::parse(scored.out);
  CHECK(score["metrics"]["top1"] ==
        summary["metrics"]["test"]["top1"]);  // the logged number exactly
  CHECK(score["dataset"] == "digits");
  CHECK(score["noise"][1] == json({{"metric", "top1"},
                                   {"type", "gaussian"},
                                   {"level", 0.3},
                                   {"value", score["noise"][1]["value"]}}));
  CHECK(score["robustness"]["by_type"]["gaussian"] == score["noise"][1]["value"]);
  CHECK(score["cases"]["top1"].size() == 60);
  int samples = 0;
  for (const auto& row : score["confusion"]["counts"]) {
    for (const int count : row) samples += count;
  }
  CHECK(samples == 60);
  CHECK(io::fs::exists(folder.path("run/eval/test/confusion.png")));
  CHECK(io::fs::exists(folder.path("run/eval/test/confusion.csv")));

  const std::string maps = folder.path("maps").string();
  const CliResult drawn =
      run_cli("visualise-attention", {run, run, "--input", "2", "--heads", "--out", maps});
  REQUIRE(drawn.code == 0);
  CHECK(io::read_text(folder.path("maps/rollout.png")).substr(1, 3) == "PNG");
  CHECK(io::fs::exists(folder.path("maps/maps.safetensors")));
  const std::string explorer = io::read_text(folder.path("maps/explorer.html"));
  CHECK_THAT(explorer, Catch::Contains("(run)") && Catch::Contains("maps-0-1"));  // both runs
  const std::string plain = folder.path("plain").string();
  CHECK(run_cli("visualise-attention", {run, "--no-explorer", "--out", plain}).code == 0);
  CHECK_FALSE(io::fs::exists(folder.path("plain/explorer.html")));
  CHECK(io::read_text(folder.path("plain/overlay.png")).substr(1, 3) == "PNG");
  // Without --input one sample of each class, ten digits: "1: 0" and so on, 4 patches each.
  const std::string weights = io::read_text(folder.path("plain/weights.csv"));
  for (int digit = 0; digit < 10; ++digit)
    CHECK_THAT(weights, Catch::Contains(fmt::format("__{},", digit)));
  CHECK(count_lines(weights) == 1 + 10 * 4);
  const std::string alone = folder.path("alone").string();
  REQUIRE(run_cli("visualise-attention", {run, "--scale", "minmax,figure", "--colours", "plasma",
                                          "--overlay", "0", "--no-explorer", "--out", alone})
              .code == 0);
  CHECK_FALSE(io::fs::exists(folder.path("alone/overlay.png")));
  const std::string refused = folder.path("refused").string();
  check_refusal(run_cli("visualise-attention", {run, "--scale", "even_share", "--out", refused}), 2,
                "signed rollout");
  CHECK_FALSE(io::fs::exists(folder.path("refused")));
  check_refusal(run_cli("visualise-attention", {run, "--input", "99", "--out", maps}), 2,
                "the split has 60 samples");
  check_refusal(run_cli("visualise-attention", {run, "--input", "no.png", "--out", maps}), 1,
                "no.png");
  check_refusal(run_cli("visualise-attention", {run, "--text", "words", "--out", maps}), 2,
                "reads images");

  check_refusal(run_cli("train", {experiment, "--out", run}), 1, "holds a run already");
  check_refusal(run_cli("train", {experiment, "--out", run, "--resume", "--set", "train.epochs=3"}),
                2, "train.epochs");
  check_refusal(run_cli("eval", {folder.path("none").string()}), 1, "config.json: not found");

  // A checkpoint that was cut short, and one of another network.
  const auto model = checkpoint_of(run) / "model.safetensors";
  const std::string whole = io::read_text(model);
  io::write_atomic(model, whole.substr(0, whole.size() / 2));
  check_refusal(run_cli("eval", {run}), 1, "model.safetensors");
  io::write_atomic(model, whole);
  check_refusal(run_cli("train", {experiment, "--out", folder.path("wide").string(), "--init",
                                  model.string(), "--set", "model.embed_dim=32"}),
                1, "model.safetensors");
  CHECK_FALSE(io::fs::exists(folder.path("wide")));
}

TEST_CASE("train: killed at any moment and resumed, the weights are those of an uninterrupted run",
          "[cli]") {
  const TestFolder folder("cli-resume");
  const std::string experiment = folder.write("tiny.json", tiny(R"(, "schedule": "cosine")"));
  const std::vector<std::string> settings = {
      "--set", "train.epochs=12",     "--set",  "train.checkpoint_every_steps=2",
      "--set", "train.ema_decay=0.9", "--quiet"};
  const auto command = [&](const std::string& run, bool resume) {
    std::vector<std::string> words{experiment, "--out", folder.path(run).string()};
    words.insert(words.end(), settings.begin(), settings.end());
    if (resume) words.emplace_back("--resume");
    return words;
  };
  REQUIRE(run_cli("train", command("straight", false)).code == 0);
  int kills = 0;
  CliResult last{};
  for (int attempt = 0; attempt < 40; ++attempt) {
    const bool resume = io::fs::exists(folder.path("killed/config.json"));
    // Waits that grow make sure that the run gets to its end.
    const double wait = kills < 4 ? 0.12 + 0.07 * attempt : 0;
    last = run_cli("train", command("killed", resume), {.signal_after_s = wait, .signal = SIGKILL});
    if (last.code == 0) break;
    if (last.code != 128 + 9) FAIL(last.err);
    ++kills;
  }
  CHECK(kills >= 1);
  REQUIRE(last.code == 0);
  CHECK(weights_of(folder.path("straight")) == weights_of(folder.path("killed")));
  CHECK(io::read_text(checkpoint_of(folder.path("straight")) / "ema.safetensors") ==
        io::read_text(checkpoint_of(folder.path("killed")) / "ema.safetensors"));
}

TEST_CASE("train: the same bits for any number of threads and workers", "[cli]") {
  const TestFolder folder("cli-threads");
  const std::string experiment = folder.write("tiny.json", tiny());
  const std::string precision = GENERATE("float32", "bfloat16");
  std::string first;
  for (const char* threads : {"1", "2", "3"}) {
    const std::string run = folder.path(precision + threads).string();
    REQUIRE(run_cli("train", {experiment, "--out", run, "--threads", threads, "--set",
                              std::string("train.num_workers=") + threads, "--set",
                              "train.precision=" + precision, "--quiet"})
                .code == 0);
    const std::string weights = weights_of(run);
    if (first.empty()) first = weights;
    CHECK(weights == first);
  }
}

TEST_CASE("train: bad experiments are refused in one line and leave nothing", "[cli]") {
  const TestFolder folder("cli-bad");
  const std::string out = folder.path("run").string();
  const auto refuses = [&](const std::string& text, const std::string& message, int code = 2) {
    const std::string file = folder.write("bad.json", text);
    check_refusal(run_cli("train", {file, "--out", out}), code, message);
    CHECK_FALSE(io::fs::exists(out));
  };
  refuses("{\"model\": \"vit\",\n  \"seed\": }", "bad.json:2:");
  refuses(tiny(R"(, "modle": "vit")"), "unknown key; did you mean \"model\"?");
  refuses(tiny(R"(, "seed": 4)"), "given twice");
  refuses(tiny(R"(, "schedule": "cosin")"), "did you mean \"cosine\"?");
  const std::string good = folder.write("good.json", tiny());
  const auto refuses_setting = [&](const std::string& setting, const std::string& message,
                                   int code = 2) {
    check_refusal(run_cli("train", {good, "--out", out, "--set", setting}), code, message);
    CHECK_FALSE(io::fs::exists(out));
  };
  refuses_setting("train.batch_size=many", "expected integer >= 1");
  refuses_setting("train.epoch=3", "did you mean train.epochs?");
  refuses_setting("model.attention.num_heads=3", "not divisible by 2 x num_heads (2 x 3)");
  refuses_setting("model.patch_size=3", "not divisible by patch 3");
  refuses_setting("dataset.root=/nonexistent", "not found", 1);
  refuses_setting("train.device=gpu", "device", 2);
  check_refusal(run_cli("train", {folder.path("none.json").string(), "--out", out}), 1,
                "none.json");
  check_refusal(run_cli("train", {good, "--out", "/proc/nowhere/run"}), 1, "/proc/nowhere");
  check_refusal(run_cli("train", {good, "--out", out, "--thread", "2"}), 2,
                "did you mean \"--threads\"?");
  check_refusal(run_cli("train", {"--resume", "--out", out}), 1, "config.json: not found");
}

TEST_CASE("train: image folders with damaged or missing images", "[cli]") {
  const TestFolder folder("cli-images");
  const auto train = [&](const std::string& root) {
    const std::string file = folder.write(
        "images.json", fmt::format(R"({{"dataset": {{"type": "image_folder", "root": "{}"}},
        "model": {{"type": "vit", "patch_size": 4, "embed_dim": 16, "depth": 1, "attention": {{"num_heads": 2}}}},
        "train": {{"epochs": 1, "batch_size": 4}}}})",
                                   folder.path(root).string()));
    return run_cli("train", {file, "--out", folder.path("run").string()});
  };
  check_refusal(train("missing"), 1, "not found");
  for (const char* split : {"train", "test"}) {
    io::make_directories(folder.path(fmt::format("empty/{}/cat", split)));
    folder.write(fmt::format("damaged/{}/cat/0.png", split), "\x89PNG\r\n\x1a\n and nothing else");
  }
  check_refusal(train("empty"), 1, "holds no image");
  check_refusal(train("damaged"), 1, "0.png");
}

TEST_CASE("train --dry-run and --overfit", "[cli]") {
  const TestFolder folder("cli-dry");
  const std::string experiment = folder.write("tiny.json", tiny());
  const CliResult dry =
      run_cli("train", {experiment, "--out", folder.path("run").string(), "--dry-run", "--json"});
  REQUIRE(dry.code == 0);
  CHECK(json::parse(dry.out)["total_steps"] == 10);
  CHECK(json::parse(dry.out)["lr"]["highest"] == 0.003);
  const CliResult warm =
      run_cli("train", {experiment, "--out", folder.path("run").string(), "--dry-run", "--set",
                        R"(schedule={"type": "constant", "warmup_steps": 4})"});
  CHECK_THAT(warm.out,
             Catch::Contains("\nlr           epoch 1: 0 to 0.003, highest 0.003 in step 5 of 10"));
  CHECK(json::parse(dry.out)["notes"].empty());
  // What the run would say when it begins.
  const std::string zero =
      R"(schedule={"type": "constant", "warmup_epochs": 1, "warmup_unit": "epoch"})";
  const CliResult noted = run_cli("train", {experiment, "--dry-run", "--set", zero});
  CHECK_THAT(noted.out, Catch::Contains("\nnote: ") && Catch::Contains("\nwould write\n"));
  const CliResult begun =
      run_cli("train", {experiment, "--out", folder.path("noted").string(), "--set", zero});
  const std::string note = noted.out.substr(noted.out.find("note: "));
  CHECK_THAT(begun.out + begun.err, Catch::Contains(note.substr(0, note.find('\n'))));
  CHECK_FALSE(io::fs::exists(folder.path("run")));
  for (const char* type : {"vit", "diff_vit", "dgvit"}) {
    const CliResult fit =
        run_cli("train", {experiment, "--out", folder.path(type).string(), "--overfit", "16",
                          "--set", std::string("model.type=") + type, "--set", "model.drop_rate=0",
                          "--set", "train.epochs=120", "--set", "train.eval_every=120", "--set",
                          "train.checkpoint_every=120", "--json", "--quiet"});
    REQUIRE(fit.code == 0);
    CHECK(json::parse(fit.out)["metrics"]["train"]["top1"] == 100.0);
  }
}

TEST_CASE("ablate: trains every row, writes every table, does nothing the second time", "[cli]") {
  const TestFolder folder("cli-ablate");
  folder.write("a/tiny.json", tiny());
  const std::string file =
      folder.write("a/ablation.json", R"({"name": "two", "base": "tiny.json", "seeds": [0, 1],
    "set": {"train.epochs": 1}, "metrics": ["test_top1"],
    "rows": [{"name": "ViT", "set": {"model": {"type": "vit", "patch_size": 4, "embed_dim": 16, "depth": 1}}}, {"name": "DGViT"}]})");
  const std::string out = folder.path("sweep").string();
  const CliResult first = run_cli("ablate", {file, "--out", out, "--jobs", "2", "--json"});
  INFO(first.err);
  REQUIRE(first.code == 0);
  const json results = json::parse(first.out);
  REQUIRE(results.size() == 2);
  for (const char* key : {"name", "overrides", "seeds", "metrics", "parameters", "macs"})
    CHECK(results[0].contains(key));
  CHECK(results[1]["metrics"]["test_top1"]["n"] == 2);
  for (const char* table : {"results.json", "results.csv", "results.md", "results.tex"}) {
    CHECK(io::fs::exists(folder.path("sweep") / table));
  }
  const CliResult second = run_cli("ablate", {file, "--out", out, "--json"});
  CHECK(second.code == 0);
  CHECK(second.err.find("started") == std::string::npos);
  CHECK(second.out == first.out);
}

TEST_CASE("ablate: nothing starts before every row is known to be sound", "[cli]") {
  const TestFolder folder("cli-preflight");
  folder.write("a/tiny.json", tiny());
  const std::string file =
      folder.write("a/ablation.json", R"({"name": "bad", "base": "tiny.json", "seeds": [0],
    "metrics": ["test_top9"], "set": {"train.epochs": 1}, "rows": [{"name": "good"},
    {"name": "heads", "set": {"model.attention.num_heads": 3}},
    {"name": "name", "set": {"train.monitor": "topp1"}}]})");
  const CliResult result = run_cli("ablate", {file, "--out", folder.path("sweep").string()});
  CHECK(result.code == 2);
  CHECK(result.out.empty());
  CHECK(count_lines(result.err) == 3);
  CHECK_THAT(result.err, Catch::Contains("(row \"heads\")") && Catch::Contains("(row \"name\")") &&
                             Catch::Contains("did you mean \"top1\"?") &&
                             Catch::Contains("metrics: no metric called \"test_top9\""));
  CHECK_FALSE(io::fs::exists(folder.path("sweep")));
  const CliResult column =
      run_cli("ablate", {file, "--out", folder.path("sweep").string(), "--only", "good"});
  CHECK(column.code == 2);
  CHECK_THAT(column.err, Catch::Contains("metrics: no metric called \"test_top9\""));
}

TEST_CASE("train --dry-run: everything that is wrong is said at once", "[cli]") {
  const TestFolder folder("cli-dry");
  const std::string experiment = folder.write("tiny.json", tiny());
  const std::string out = folder.path("run").string();
  const CliResult result =
      run_cli("train", {experiment, "--dry-run", "--out", out, "--set", "train.monitor=topp1",
                        "--set", "model.attention.num_heads=3"});
  CHECK(result.code == 2);
  CHECK(count_lines(result.err) == 2);
  CHECK_THAT(result.err, Catch::Contains("not divisible") && Catch::Contains("train.monitor"));
  CHECK(run_cli("train", {experiment, "--dry-run", "--out", out, "--quiet"}).code == 0);
  check_refusal(run_cli("train", {experiment, "--out", out, "--set", "train.monitor=topp1"}), 2,
                "train.monitor: no metric called \"topp1\"; did you mean \"top1\"?");
  CHECK_FALSE(io::fs::exists(out));
}

TEST_CASE("--set: another type keeps what both know and says what it drops", "[cli]") {
  const TestFolder folder("cli-type");
  const std::string experiment = folder.write(
      "tiny.json", tiny(R"(, "schedule": {"type": "cosine", "warmup_epochs": 1, "min_lr": 1e-6})"));
  const CliResult result = run_cli("inspect", {"config", experiment, "--set", "schedule=multi_step",
                                               "--set", "schedule.milestones=[1]", "--json"});
  REQUIRE(result.code == 0);
  const json config = json::parse(result.out);
  CHECK(config["schedule"]["type"] == "multi_step");
  CHECK(config["schedule"]["warmup_epochs"] == 1);
  CHECK(result.err == "inspect: schedule: dropped min_lr, which multi_step does not have\n");
  const CliResult attention =
      run_cli("inspect", {"config", experiment, "--set", "model.attention=m_dgsa", "--json"});
  REQUIRE(attention.code == 0);
  CHECK(json::parse(attention.out)["model"]["attention"]["num_heads"] == 2);
}

TEST_CASE("inspect: summaries, listings, configurations", "[cli]") {
  const TestFolder folder("cli-inspect");
  const std::string experiment = folder.write("tiny.json", tiny());
  const CliResult summary = run_cli("inspect", {experiment, "--json"});
  REQUIRE(summary.code == 0);
  const json object = json::parse(summary.out);
  CHECK(object["modules"][0]["parameters"] == object["parameters"]);
  CHECK(object["macs"].get<std::int64_t>() > 0);
  const CliResult list = run_cli("inspect", {"--list", "attention"});
  CHECK_THAT(list.out, Catch::Contains("m_dgsa") && Catch::Contains("differential"));
  const CliResult config = run_cli("inspect", {"config", experiment, "--set", "train.epochs=7"});
  CHECK_THAT(config.out,
             Catch::Contains("--set train.epochs=7") && Catch::Contains("tiny.json:2:"));
  check_refusal(run_cli("inspect", {"--list", "atention"}), 2, "did you mean \"attention\"?");
  for (const char* program :
       {"train", "eval", "predict", "ablate", "visualise-attention", "inspect"}) {
    const CliResult help = run_cli(program, {"--help"});
    CHECK(help.code == 0);
    CHECK_THAT(help.out, Catch::Contains("Example:"));
    CHECK(run_cli(program, {"--version"}).code == 0);
  }
}

TEST_CASE("train: the first interrupt saves and exits 75, the run can go on", "[cli]") {
  const TestFolder folder("cli-interrupt");
  const std::string experiment = folder.write("tiny.json", tiny());
  const std::vector<std::string> words = {
      experiment,         "--out", folder.path("run").string(), "--quiet", "--set",
      "train.epochs=400", "--set", "train.eval_every=400"};
  const CliResult stopped = run_cli("train", words, {.signal_after_s = 0.6, .signal = SIGINT});
  check_refusal(stopped, 75, "--resume");
  CHECK(io::fs::exists(checkpoint_of(folder.path("run")) / "model.safetensors"));
  const CliResult again =
      run_cli("train", {"--resume", "--out", folder.path("run").string(), "--quiet"},
              {.signal_after_s = 0.6, .signal = SIGTERM});
  CHECK(again.code == 75);
}

TEST_CASE("train: before the first step a signal ends it at once", "[cli]") {
  const TestFolder folder("cli-early");
  const std::string experiment = folder.write("tiny.json", tiny());
  const std::vector<std::string> words = {experiment, "--dry-run", "--set", "model.depth=1000"};
  const CliResult stopped = run_cli("train", words, {.signal_after_s = 0.3, .signal = SIGTERM});
  check_refusal(stopped, 75, "train: stopped before it began; nothing was written");
}

TEST_CASE("sizes that cannot be are refused at once", "[cli]") {
  const TestFolder folder("cli-sizes");
  const std::string experiment = folder.write("tiny.json", tiny());
  const auto refuses = [&](const std::string& setting, int code, const std::string& message) {
    check_refusal(run_cli("inspect", {experiment, "--set", setting}), code, message);
    const CliResult trained =
        run_cli("train", {experiment, "--dry-run", "--quiet", "--set", setting});
    CHECK(trained.code == 2);
    CHECK_THAT(trained.err, Catch::Contains(message));
  };
  refuses("model.depth=1000000000", 2, "model.depth: expected integer from 1 to 1000");
  refuses("model.img_size=1000000000", 2, "model.img_size.0: expected integer from 1 to 100000");
  // More weights than any machine holds, each of them no larger than it may be.
  const CliResult heavy =
      run_cli("train", {experiment, "--quiet", "--out", folder.path("run").string(), "--set",
                        "model.embed_dim=65536", "--set", "model.depth=100"});
  check_refusal(heavy, 2, "model: its weights alone take");
  CHECK_FALSE(io::fs::exists(folder.path("run")));
}

TEST_CASE("train: a full disk ends in one line", "[cli]") {
  const TestFolder folder("cli-full");
  const std::string experiment = folder.write("tiny.json", tiny());
  const CliResult full =
      run_cli("train", {experiment, "--out", folder.path("run").string(), "--quiet"},
              {.max_file_bytes = 20000});
  check_refusal(full, 1, "File too large");
  CHECK_FALSE(io::fs::exists(folder.path("run/checkpoints/last")));
}

TEST_CASE("documentation: the page on experiment files is what the schema says", "[cli]") {
  const std::string page = io::read_text(test::source_dir() + "/docs/experiment-files.md");
  const CliResult docs = run_cli("inspect", {"docs"});
  REQUIRE(docs.code == 0);
  INFO("run tools/make-docs");
  CHECK(page.find(docs.out) != std::string::npos);
}
