#include "training/store/run_log.h"

#include <catch2/catch.hpp>

#include <limits>

#include "base/error.h"
#include "schema/json/parse.h"
#include "tests/training/toy_task.h"
#include "training/events/settings_events.h"
#include "training/store/run_lock.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <string>
#include <thread>
#include <vector>

using namespace fovea;

TEST_CASE("run log: resuming drops what is newer than the checkpoint", "[training]") {
  const test::Folder folder("log");
  training::RunState state;
  {
    training::RunLog log(folder.path);
    log.record(schema::Value::object({{"step", 1}}));
    log.text("one");
    log.sync(state);
    log.record(schema::Value::object({{"step", 2}}));
    log.text("two");
  }
  {
    training::RunLog log(folder.path);
    log.cut_back(state);
    log.record(schema::Value::object({{"step", 3}}));
    log.record(schema::Value::object({{"step", 4}, {"split", "val"}, {"top1", 50.0}}));
  }
  CHECK(io::read_text(folder.path / "metrics.jsonl") ==
        "{\"step\":1}\n{\"step\":3}\n"
        "{\"step\":4,\"split\":\"val\",\"top1\":50.0}\n");
  CHECK(io::read_text(folder.path / "log.txt") == "one\n");
  state.text_bytes = 100;
  training::RunLog log(folder.path);
  CHECK_THROWS_WITH(log.cut_back(state), Catch::Contains("log.txt: holds 4 bytes"));
}

TEST_CASE("run log: values that are not finite become null and are named", "[training]") {
  schema::Value line = schema::Value::object();
  training::set_number(line, "loss", std::numeric_limits<double>::quiet_NaN());
  training::set_number(line, "lr", 0.5);
  training::set_number(line, "grad_norm", std::numeric_limits<double>::infinity());
  CHECK(line.dump(0) ==
        R"({"loss":null,"nonfinite":["loss","grad_norm"],"lr":0.5,"grad_norm":null})");
}

TEST_CASE("run log: the table has a row an epoch and a column a metric", "[training]") {
  const std::string jsonl =
      R"({"step":2,"epoch":0,"split":"train","loss":1.0,"lr":0.1,"samples":3,"time_s":1.0}
{"step":3,"epoch":0,"split":"train","loss":2.0,"lr":0.1,"samples":1,"time_s":1.0}
{"step":3,"epoch":0,"split":"val","loss":1.5,"top1":50.0,"time_s":1.0}
{"step":6,"epoch":1,"split":"train","loss":0.5,"lr":0.05,"samples":4,"time_s":1.0}
{"step":6,"epoch":1,"split":"val","loss":null,"top1":75.0,"ema_top1":80.0,"nonfinite":["loss"]}
{"step":3,"epoch":0,"split":"test","weights":"best","top1":70.0}
)";
  CHECK(training::metrics_csv(jsonl) ==
        "epoch,train_loss,val_loss,val_top1,val_ema_top1,test_top1,lr\n"
        "1,1.25,1.5,50.0,,70.0,0.1\n"
        "2,0.5,nan,75.0,80.0,,0.05\n");
  CHECK(training::metrics_csv("") == "epoch,train_loss,lr\n");
  CHECK_THROWS_WITH(training::metrics_csv("{\"step\":1,"), Catch::Contains("line 1"));
}

TEST_CASE("run log: epochs count from 1, in the logs of older programs too", "[training]") {
  const std::string from_one =
      R"({"step":2,"epoch":1,"split":"train","loss":1.0,"lr":0.1,"samples":3}
{"step":2,"epoch":1,"split":"val","loss":2.0,"hd95":4.0,"compared":{"hd95":{"defined":3,"of":4,"set":"a"}}}
{"step":4,"epoch":2,"split":"train","loss":0.5,"lr":0.1,"samples":3}
)";
  CHECK(training::metrics_csv(from_one) ==
        "epoch,train_loss,val_loss,val_hd95,lr\n"
        "1,1,2.0,4.0,0.1\n"
        "2,0.5,,,0.1\n");
  // A run of no steps has its evaluation alone.
  CHECK(training::metrics_csv(R"({"step":0,"epoch":1,"split":"val","loss":2.0})") ==
        "epoch,train_loss,val_loss,lr\n1,,2.0,\n");
}

TEST_CASE("run log: evaluations within an epoch have rows of their own", "[training]") {
  const std::string jsonl =
      R"({"step":10,"epoch":1,"split":"train","loss":4.0,"lr":0.1,"samples":1}
{"step":20,"epoch":1,"split":"train","loss":2.0,"lr":0.2,"samples":1}
{"step":20,"epoch":1,"split":"val","loss":3.5}
{"step":30,"epoch":1,"split":"train","loss":1.5,"lr":0.3,"samples":1}
{"step":40,"epoch":1,"split":"val","loss":3.0}
{"step":50,"epoch":2,"split":"train","loss":1.0,"lr":0.4,"samples":1}
{"step":20,"epoch":1,"split":"test","weights":"best","loss":3.75}
)";
  CHECK(training::metrics_csv(jsonl) ==
        "epoch,step,train_loss,val_loss,test_loss,lr\n"
        "1,20,3,3.5,3.75,0.2\n"
        "1,40,1.5,3.0,,0.3\n"
        "2,50,1,,,0.4\n");
}

TEST_CASE("run state: the best epoch of an older program's checkpoint stays the same epoch",
          "[training]") {
  training::RunState state;
  state.best = training::Best{0.5, 20, 3, "loss", schema::Value::object()};
  schema::Value now = training::to_value(state);
  CHECK(now.at("best").at("epoch").as_int() == 4);  // from 1
  CHECK(training::run_state_from(now) == state);
  schema::Value old = now;
  old.erase("epochs_from");
  old.find("best")->set("epoch", 3);
  const training::RunState resumed = training::run_state_from(old);
  CHECK(resumed.best->epoch == 3);
  CHECK(resumed.epochs_from == 0);  // its logs go on as they began
  CHECK(training::to_value(resumed).at("best").at("epoch").as_int() == 3);
}

TEST_CASE("run log: columns and tags say which part a number is of", "[training]") {
  // Without a validation part, and with the training samples evaluated (--overfit).
  const std::string jsonl =
      R"({"step":2,"epoch":0,"split":"train","loss":1.0,"lr":0.1,"samples":3,"time_s":1.0}
{"step":2,"epoch":0,"split":"test","loss":1.5}
{"step":2,"epoch":0,"split":"train","loss":0.5}
)";
  CHECK(training::metrics_csv(jsonl) ==
        "epoch,train_loss,test_loss,train_eval_loss,lr\n"
        "1,1,1.5,0.5,0.1\n");
  const test::Folder folder("tags");
  {
    training::RunLog log(folder.path);
    std::istringstream lines(jsonl);
    for (std::string line; std::getline(lines, line);) log.record(schema::parse(line, "test"));
  }
  for (const auto& entry : io::fs::directory_iterator(folder.path)) {
    if (!entry.path().filename().string().starts_with("events.")) continue;
    const std::string events = io::read_text(entry.path());
    for (const char* tag : {"train/loss", "test/loss", "train_eval/loss"})
      CHECK(events.find(tag) == events.rfind(tag));  // one value each
    CHECK(events.find("train_eval/loss") != std::string::npos);
  }
}

TEST_CASE("event file: records as TensorBoard reads them", "[training]") {
  CHECK(training::crc32c("123456789") == 0xe3069283u);  // the check value of CRC-32C
  // Event {wall_time 1.0, step 300, Summary {Value {"a", 0.5}}}, encoded by hand.
  const std::string event(
      "\x09\0\0\0\0\0\0\xf0\x3f\x10\xac\x02\x2a\x0a\x0a\x08\x0a\x01"
      "a\x15\0\0\0\x3f",
      24);
  CHECK(training::summary_event(1.0, 300, {training::scalar_value("a", 0.5)}) == event);
  const std::string record = training::event_record(event);
  REQUIRE(record.size() == 8 + 4 + 24 + 4);
  CHECK(record[0] == 24);
  CHECK(record.substr(12, 24) == event);

  const test::Folder folder("events");
  std::int64_t after_one = 0;
  {
    training::EventFile file(folder.path);
    file.add(1, {training::scalar_value("train/loss", 0.5)});
    after_one = file.size();
    file.add(2, {training::scalar_value("train/loss", 0.25)});
    CHECK(file.size() > after_one);
  }
  training::EventFile file(folder.path, training::EventFile::find(folder.path));
  file.cut_back(after_one);
  CHECK(file.size() == after_one);
  file.cut_back(0);
  file.add(1, {training::scalar_value("train/loss", 0.5)});  // with its version again
  CHECK(file.size() == after_one);
}

// As tensorboard 2.21 encodes them (hparams_pb and SessionEndInfo).
TEST_CASE("event file: settings as TensorBoard's HPARAMS reads them", "[training]") {
  const std::string null_tensor("B\x06\x08\x01\x12\x02\x12\x00", 8);
  const auto hparams = [&](const std::string& length, const std::string& data) {
    return "\n\x1c_hparams_/session_start_info" + null_tensor + "J" + length + "\n\x07hparams\x12" +
           data + std::string(")\0\0\0\0\0\0\xf0?", 9);
  };
  const auto value = [](const std::string& json) {
    return training::hparams_value(schema::parse(json, "test"), 1.0);
  };
  CHECK(value(R"({"optimizer": {"lr": 0.5}, "none": null})") ==
        hparams("3\n1",
                std::string("&\x1a$\n\x19\n\x0coptimizer.lr\x12\t\x11\0\0\0\0\0\0\xe0?", 30)));
  CHECK(value(R"({"a": true})") == hparams("!\n\x1f",
                                           "\x14\x1a\x12\n\x07\n\x01"
                                           "a\x12\x02 \x01"));
  CHECK(value(R"({"b": "x"})") == hparams("\"\n ",
                                          "\x15\x1a\x13\n\x08\n\x01"
                                          "b\x12\x03\x1a\x01x"));
  CHECK_THAT(value(R"({"betas": [0.9, 0.5]})"), Catch::Contains("[0.9,0.5]"));
  CHECK(training::finished_value(2.0) ==
        "\n\x1a_hparams_/session_end_info" + null_tensor +
            std::string("J\x1a\n\x18\n\x07hparams\x12\r\"\x0b\x08\x01\x11\0\0\0\0\0\0\0@", 28));
}

TEST_CASE("run lock: a second program is refused, a killed one is succeeded", "[training]") {
  const test::Folder folder("lock");
  const pid_t child = ::fork();
  if (child == 0) {
    const io::Claim claim = training::claim_run(folder.path);
    ::kill(::getpid(), SIGSTOP);
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(child, &status, WUNTRACED);
  CHECK_THROWS_WITH(
      training::claim_run(folder.path),
      Catch::EndsWith("in use by process " + std::to_string(child) + " on " + host_name()));
  ::kill(child, SIGKILL);
  ::waitpid(child, &status, 0);
  CHECK(io::fs::exists(folder.path / "run.lock"));
  { const io::Claim claim = training::claim_run(folder.path); }
  CHECK_FALSE(io::fs::exists(folder.path / "run.lock"));
}

TEST_CASE("run lock: programs of other machines are waited for, older ones respected",
          "[training]") {
  const test::Folder folder("far_lock");
  const io::fs::path file = training::run_lock_of(folder.path);
  const io::ClaimTimes quick{std::chrono::milliseconds(5), std::chrono::milliseconds(60)};
  std::vector<std::string> said;
  const auto say = [&](const std::string& line) { said.push_back(line); };

  io::write_atomic(file, "process 1 on host elsewhere\n");
  CHECK_THROWS_WITH(training::claim_run(folder.path, say, nullptr, quick),
                    Catch::EndsWith("the run is in use by process 1 on elsewhere; if that program "
                                    "is gone, delete this file"));
  io::write_atomic(file, "process 1 on host " + host_name() + "\n");
  { const io::Claim claim = training::claim_run(folder.path, say, nullptr, quick); }
  CHECK(said.empty());

  const std::string far = "process 1\nhost elsewhere\nboot b\ntoken 0123456789abcdef\n";
  io::write_atomic(file, far);
  { const io::Claim claim = training::claim_run(folder.path, say, nullptr, quick); }
  REQUIRE(said.size() == 1);
  CHECK_THAT(said[0], Catch::Contains("held by process 1 on elsewhere; goes on if there is no "
                                      "sign of life"));
  CHECK_FALSE(io::fs::exists(file));

  io::write_atomic(file, far);
  const std::atomic<bool> stop{true};
  CHECK_THROWS_AS(training::claim_run(folder.path, {}, &stop, quick), Interrupted);
  std::atomic<bool> alive{true};
  std::thread beats([&] {
    while (alive) {
      ::utimensat(AT_FDCWD, file.c_str(), nullptr, 0);
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  });
  CHECK_THROWS_WITH(training::claim_run(folder.path, {}, nullptr,
                                        {std::chrono::milliseconds(5), std::chrono::minutes(1)}),
                    Catch::Contains("in use by process 1 on elsewhere"));
  alive = false;
  beats.join();
  CHECK(io::fs::exists(file));
}
