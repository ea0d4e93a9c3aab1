#include "training/store/checkpoint.h"

#include <catch2/catch.hpp>

#include <cerrno>
#include <set>

#include "base/error.h"
#include "tests/support/tensors.h"
#include "tests/training/toy_task.h"
#include "training/store/weights_file.h"

using namespace fovea;
using training::Checkpoint;
using training::CheckpointStore;

namespace {

Checkpoint sample(std::int64_t step) {
  Checkpoint checkpoint;
  checkpoint.state.step = step;
  checkpoint.state.epoch = step / 2;
  checkpoint.state.window = {0.1, 1.0 / 3.0, 7, 2};
  checkpoint.state.config_hash = "abc";
  checkpoint.state.metrics.set("val", schema::Value::object({{"top1", 12.5}}));
  const auto tensor = [&](float offset) {
    return Tensor::from(std::vector<float>{offset + static_cast<float>(step), 2}, {2}, test::cpu());
  };
  checkpoint.model = {{"w", tensor(0)}};
  checkpoint.optimiser = {{"w.exp_avg", tensor(10)}};
  checkpoint.ema = {{"w", tensor(20)}};
  return checkpoint;
}

std::set<std::string> entries(const CheckpointStore& store) {
  std::set<std::string> names;
  for (const auto& entry : io::fs::directory_iterator(store.folder())) {
    names.insert(entry.path().filename().string());
  }
  return names;
}

void overwrite(const io::fs::path& file, const std::string& bytes) {
  io::File out(file, io::File::Mode::kCreate);
  out.write(bytes);
  out.close();
}

}  // namespace

TEST_CASE("checkpoint: what is saved is loaded, old steps go, best and kept ones stay",
          "[training]") {
  const test::Folder folder("checkpoint");
  CheckpointStore store(folder.path);
  CHECK_FALSE(store.any());
  CHECK_THROWS_WITH(store.load("last", test::cpu()), Catch::Contains("no such checkpoint"));
  for (std::int64_t step = 1; step <= 5; ++step) {
    Checkpoint checkpoint = sample(step);
    checkpoint.state.best = training::Best{0.5, 2, 1};
    if (step == 1) checkpoint.state.best.reset();
    if (step >= 3) checkpoint.state.kept = {3};
    store.save(checkpoint);
  }
  CHECK(entries(store) ==
        std::set<std::string>{"best", "last", "step-00000002", "step-00000003", "step-00000005"});
  const Checkpoint last = store.load("last", test::cpu());
  Checkpoint expected = sample(5);
  expected.state.best = training::Best{0.5, 2, 1};
  expected.state.kept = {3};
  CHECK(last.state == expected.state);
  CHECK(test::to_doubles(last.model.at("w")) == std::vector<double>{5, 2});
  CHECK(test::to_doubles(last.optimiser.at("w.exp_avg")) == std::vector<double>{15, 2});
  CHECK(test::to_doubles(last.ema.at("w")) == std::vector<double>{25, 2});
  CHECK(store.load("best", test::cpu()).state.step == 2);
  CHECK(io::read_text(store.folder() / "last") == "step-00000005\n");
  CHECK(io::read_text(store.folder() / "best") == "step-00000002\n");
}

TEST_CASE("checkpoint: saving a step again renews its state", "[training]") {
  const test::Folder folder("again");
  CheckpointStore store(folder.path);
  store.save(sample(4));
  Checkpoint again = sample(4);
  again.state.epoch = 9;
  again.state.best = training::Best{1, 4, 2};
  store.save(again);
  CHECK(store.load("best", test::cpu()).state.epoch == 9);
}

TEST_CASE("checkpoint: whichever system call fails, last is the old or the new one", "[training]") {
  const test::Folder folder("faults");
  CheckpointStore store(folder.path);
  store.save(sample(1));
  int failures = 0;
  for (int k = 0;; ++k) {
    const std::int64_t before = store.load("last", test::cpu()).state.step;
    Checkpoint next = sample(before + 1);
    next.state.best = training::Best{0.5, before + 1, 0};
    int calls = 0;
    io::set_fault_hook([&](std::string_view) { return calls++ == k ? ENOSPC : 0; });
    bool failed = false;
    try {
      store.save(next);
    } catch (const FileError&) {
      failed = true;
    }
    io::set_fault_hook({});
    const Checkpoint last = store.load("last", test::cpu());
    CHECK((last.state.step == before || last.state.step == before + 1));
    CHECK(test::to_doubles(last.model.at("w"))[0] == static_cast<double>(last.state.step));
    store.repair(last.state);
    if (last.state.best) {
      CHECK(store.load("best", test::cpu()).state.step == last.state.best->step);
    }
    if (!failed) break;
    ++failures;
  }
  CHECK(failures >= 25);
}

TEST_CASE("checkpoint: a file cut at any length or with any bit flipped is refused", "[training]") {
  const test::Folder folder("damage");
  CheckpointStore store(folder.path);
  store.save(sample(1));
  const std::string name =
      GENERATE("model.safetensors", "optimiser.safetensors", "ema.safetensors", "state.json");
  const io::fs::path file = store.folder_of("last") / name;
  const std::string good = io::read_text(file);
  for (std::size_t length = 0; length < good.size(); ++length) {
    // Without its last newline state.json is still whole.
    if (name == "state.json" && length == good.size() - 1) continue;
    overwrite(file, good.substr(0, length));
    INFO(name << " cut to " << length);
    CHECK_THROWS_AS(store.load("last", test::cpu()), FileError);
  }
  for (std::size_t bit = 0; bit < good.size() * 8; ++bit) {
    std::string bytes = good;
    bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ (1 << (bit % 8)));
    overwrite(file, bytes);
    INFO(name << " with bit " << bit << " flipped");
    CHECK_THROWS_AS(store.load("last", test::cpu()), FileError);
  }
  io::fs::remove(file);
  CHECK_THROWS_WITH(store.load("last", test::cpu()),
                    Catch::Contains(name) && Catch::Contains("not found"));
}

namespace {

// Steps 2 (best), 3 (kept) and 5 (last).
void save_some(CheckpointStore& store) {
  for (std::int64_t step = 1; step <= 5; ++step) {
    Checkpoint checkpoint = sample(step);
    if (step >= 2) checkpoint.state.best = training::Best{0.5, 2, 1};
    if (step >= 3) checkpoint.state.kept = {3};
    store.save(checkpoint);
  }
}

const std::set<std::string> kSome = {"best", "last", "step-00000002", "step-00000003",
                                     "step-00000005"};

}  // namespace

TEST_CASE("checkpoint: any copy of the folder is read and put right", "[training]") {
  const test::Folder folder("copies");
  CheckpointStore store(folder.path);
  save_some(store);
  const io::fs::path last = store.folder() / "last", best = store.folder() / "best";
  const auto newest = store.folder() / "step-00000005", chosen = store.folder() / "step-00000002";
  SECTION("symlinks, as older programs made them") {
    for (const auto& link : {last, best}) io::fs::remove(link);
    io::fs::create_symlink("step-00000005", last);
    io::fs::create_symlink("step-00000002", best);
  }
  SECTION("no symlinks: rsync -r leaves them out") {
    for (const auto& link : {last, best}) io::fs::remove(link);
  }
  SECTION("folders instead of symlinks: cp -rL, zip") {
    for (const auto& link : {last, best}) io::fs::remove(link);
    io::fs::copy(newest, last, io::fs::copy_options::recursive);
    io::fs::copy(chosen, best, io::fs::copy_options::recursive);
  }
  SECTION("nothing but the folders last and best") {
    for (const auto& link : {last, best}) io::fs::remove(link);
    io::fs::rename(newest, last);
    io::fs::rename(chosen, best);
    io::fs::create_directory(newest);  // what was cut on the way
  }
  SECTION("a newer folder that is not complete") {
    io::fs::remove(last);
    io::fs::copy(newest, store.folder() / "step-00000007", io::fs::copy_options::recursive);
    overwrite(store.folder() / "step-00000007/model.safetensors", "cut");
  }
  const Checkpoint loaded = store.load("last", test::cpu());
  CHECK(loaded.state.step == 5);
  CHECK(store.load("best", test::cpu()).state.step == 2);
  store.require_best(loaded.state);
  store.repair(loaded.state);
  CHECK(entries(store) == kSome);
  CHECK(io::read_text(last) == "step-00000005\n");
  CHECK(io::read_text(best) == "step-00000002\n");
  CHECK(test::to_doubles(store.load("last", test::cpu()).model.at("w"))[0] == 5);
  CHECK(test::to_doubles(store.load("best", test::cpu()).model.at("w"))[0] == 2);
  store.save(sample(6));  // selects nothing: `best` goes
  CHECK(entries(store) == std::set<std::string>{"last", "step-00000006"});
}

TEST_CASE("checkpoint: whichever system call of a repair fails, the next one ends it",
          "[training]") {
  for (int k = 0;; ++k) {
    const test::Folder folder("repair");
    CheckpointStore store(folder.path);
    save_some(store);
    for (const char* name : {"last", "best"}) {
      const io::fs::path from = store.folder_of(name);
      io::fs::remove(store.folder() / name);
      io::fs::copy(from, store.folder() / name, io::fs::copy_options::recursive);
    }
    io::fs::remove_all(store.folder() / "step-00000002");
    int calls = 0;
    io::set_fault_hook([&](std::string_view) { return calls++ == k ? EIO : 0; });
    bool failed = false;
    try {
      store.repair(store.load("last", test::cpu()).state);
    } catch (const FileError&) {
      failed = true;
    }
    io::set_fault_hook({});
    const Checkpoint loaded = store.load("last", test::cpu());
    CHECK(loaded.state.step == 5);
    store.require_best(loaded.state);
    store.repair(loaded.state);
    CHECK(store.load("best", test::cpu()).state.step == 2);
    std::set<std::string> left = entries(store);
    for (const char* aside : {"last.tmp", "best.tmp"}) left.erase(aside);  // gone with a resume
    CHECK(left == kSome);
    if (!failed) {
      CHECK(k >= 10);
      break;
    }
  }
}

TEST_CASE("checkpoint: names that lead nowhere are refused", "[training]") {
  const test::Folder folder("nowhere");
  CheckpointStore store(folder.path);
  save_some(store);
  io::write_atomic(store.folder() / "last", "step-00000009\n");
  CHECK_THROWS_WITH(store.load("last", test::cpu()),
                    Catch::Contains("names step-00000009, which is not there"));
  io::write_atomic(store.folder() / "last", "../../elsewhere\n");
  CHECK_THROWS_WITH(store.load("last", test::cpu()), Catch::Contains("expected the name"));
  io::fs::remove(store.folder() / "last");
  for (const char* step : {"2", "3", "5"}) {
    const auto file =
        store.folder() / (std::string("step-0000000") + step) / "optimiser.safetensors";
    overwrite(file, "cut");
  }
  CHECK(store.any());
  CHECK_FALSE(store.find_last().has_value());
  CHECK_THROWS_WITH(store.load("last", test::cpu()), Catch::Contains("no such checkpoint"));
  training::RunState state = sample(5).state;
  state.best = training::Best{1, 4, 2};
  CHECK_THROWS_WITH(store.require_best(state), Catch::Contains("step-00000004: not found"));
}

TEST_CASE("weights file: a run, a checkpoint and a file in it are found by their paths",
          "[training]") {
  const test::Folder folder("weights_file");
  CheckpointStore store(folder.path);
  save_some(store);
  const auto in = [&](const char* step, const char* file = "model.safetensors") {
    return store.folder() / step / file;
  };
  using training::weights_file;
  const io::fs::path run = folder.path;
  CHECK(weights_file(run) == in("step-00000005"));
  CHECK(weights_file(run / "checkpoints/last") == in("step-00000005"));
  CHECK(weights_file(run / "checkpoints/best/") == in("step-00000002"));
  CHECK(weights_file(run / "checkpoints/step-00000003") == in("step-00000003"));
  CHECK(weights_file(run / "checkpoints/last/model.safetensors") == in("step-00000005"));
  CHECK(weights_file(run / "checkpoints/best/ema.safetensors") ==
        in("step-00000002", "ema.safetensors"));
  io::write_atomic(run / "summary.json", R"({"weights": "best"})");
  CHECK(weights_file(run) == in("step-00000002"));
  CHECK(weights_file(run / "none.safetensors") == run / "none.safetensors");
  io::make_directories(run / "empty");
  CHECK_THROWS_WITH(weights_file(run / "empty"), Catch::Contains("without checkpoints"));
}

TEST_CASE("checkpoint: hashes differ for every changed bit and for added zeros", "[training]") {
  const std::string text(21, '\0');
  std::set<std::string> hashes = {training::hash_bytes(text),
                                  training::hash_bytes(text + std::string(1, '\0'))};
  for (std::size_t bit = 0; bit < text.size() * 8; ++bit) {
    std::string other = text;
    other[bit / 8] = static_cast<char>(1 << (bit % 8));
    hashes.insert(training::hash_bytes(other));
  }
  CHECK(hashes.size() == 2 + text.size() * 8);
}
