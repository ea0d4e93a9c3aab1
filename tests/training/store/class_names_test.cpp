// Class names lie beside the weights and are compared: a network's third output means nothing
// without the name of the third class.
#include "training/store/class_names.h"

#include <catch2/catch.hpp>

#include "backend/devices.h"
#include "base/error.h"
#include "data/files/pictures/image_file.h"
#include "data/registry.h"
#include "tests/support/tensors.h"
#include "tests/training/toy_task.h"
#include "training/tasks/classification.h"

using namespace fovea;
using training::check_classes;
using training::classes_text;

namespace {

using Names = std::vector<std::string>;

// Pictures of one grey for each class.
void write_images(const io::fs::path& root, const Names& classes) {
  for (const char* part : {"train", "test"}) {
    for (std::size_t c = 0; c < classes.size(); ++c) {
      io::make_directories(root / part / classes[c]);
      for (int n = 0; n < 4; ++n) {
        const auto grey = static_cast<std::uint8_t>(60 * c + 10 + static_cast<std::size_t>(n));
        data::write_png(root / part / classes[c] / (std::to_string(n) + ".png"),
                        {8, 8, 3, std::vector<std::uint8_t>(8 * 8 * 3, grey)});
      }
    }
  }
}

struct ImageRun {
  std::unique_ptr<models::Model> model;
  std::unique_ptr<training::Classification> task;
  training::TrainerSetup setup;

  ImageRun(const io::fs::path& root, const io::fs::path& run)
      : setup(test::toy_setup(run, test::cpu())) {
    const auto part = [&](data::Split split) {
      return data::make_dataset(
          test::component(R"({"type": "image_folder", "img_size": 8, "root": ")" + root.string() +
                          "\"}"),
          split);
    };
    const nn::Build build{test::cpu(), DType::kFloat32, RandomStream(1), nn::Init::kTorch};
    model = models::make_model(test::component(R"({"type": "vit", "patch_size": 4, "embed_dim": 8,
                                             "depth": 1, "attention": {"num_heads": 2}})"),
                               build, {3, 8, 8, 3});
    training::BatchOptions options;
    options.train.batch_size = 4;
    options.host = test::cpu();
    const data::Splits splits{part(data::Split::kTrain), nullptr, part(data::Split::kTest)};
    task = std::make_unique<training::Classification>(
        *model, std::make_shared<training::BatchSource>(splits, options));
  }
};

}  // namespace

TEST_CASE("class names: equal lists pass, others are named with both orders", "[training]") {
  const Names names = {"bird", "cat", "dog"};
  const std::string text = classes_text(names);
  CHECK_NOTHROW(check_classes(text, names, "x"));
  CHECK_THROWS_WITH(
      check_classes(text, {"bird", "dog", "zcat"}, "run/classes.json"),
      Catch::StartsWith("run/classes.json: does not fit the data set: class 1 is \"cat\" for the "
                        "weights, \"dog\" in the data set") &&
          Catch::Contains("3 (bird, cat, dog)") && Catch::Contains("3 (bird, dog, zcat)"));
  CHECK_THROWS_WITH(check_classes(text, {"bird", "dog", "cat"}, "x"),
                    Catch::Contains("the same classes in another order: class 1 is \"cat\""));
  CHECK_THROWS_WITH(check_classes(text, {"bird", "cat"}, "x"),
                    Catch::Contains("class 2 is \"dog\" for the weights, nothing in the data set"));
  CHECK_THROWS_WITH(check_classes(text, {"bird", "cat", "dog", "eel"}, "x"),
                    Catch::Contains("class 3 is nothing for the weights, \"eel\""));
  CHECK_THROWS_AS(check_classes("[1]", names, "x"), FileError);
  CHECK_THROWS_AS(check_classes("{", names, "x"), FileError);
}

TEST_CASE("class names: any name, and lists of a thousand", "[training]") {
  const Names odd = {"", " a", "\"quoted\"", "caf\xe9", "\xc3\xa9t\xc3\xa9", "new\nline"};
  CHECK_NOTHROW(check_classes(classes_text(odd), odd, "x"));
  Names many;
  for (int i = 0; i < 1000; ++i) many.push_back("class" + std::to_string(i));
  CHECK_NOTHROW(check_classes(classes_text(many), many, "x"));
  Names other = many;
  other[500] = "changed";
  try {
    check_classes(classes_text(many), other, "x");
    FAIL("not compared");
  } catch (const FileError& error) {
    const std::string message = error.what();
    CHECK_THAT(message, Catch::Contains("class 500 is \"class500\" for the weights, \"changed\"") &&
                            Catch::Contains("(..., class500, class501"));
    CHECK(message.size() < 500);
  }
}

TEST_CASE("class names: a run with renamed class folders is not resumed", "[training]") {
  const test::Folder folder("classes");
  const io::fs::path root = folder.path / "images", run = folder.path / "run";
  write_images(root, {"bird", "cat", "dog"});
  ImageRun first(root, run);
  training::Trainer(*first.task, first.setup).run();
  const std::string stored = classes_text({"bird", "cat", "dog"});
  CHECK(io::read_text(run / "classes.json") == stored);
  CHECK(io::read_text(test::in_checkpoint(run, "classes.json")) == stored);

  const std::string metrics = io::read_text(run / "metrics.jsonl");
  for (const char* part : {"train", "test"})
    io::fs::rename(root / part / "cat", root / part / "zcat");
  ImageRun renamed(root, run);
  renamed.setup.resume = true;
  CHECK_THROWS_WITH(training::Trainer(*renamed.task, renamed.setup).run(),
                    Catch::Contains("classes.json: does not fit the data set: class 1 is \"cat\""));
  CHECK(io::read_text(run / "metrics.jsonl") == metrics);

  // Other data with the same classes are compared by name, not by path.
  const io::fs::path elsewhere = folder.path / "elsewhere";
  write_images(elsewhere, {"bird", "cat", "dog"});
  const auto checkpoint = training::CheckpointStore(run).load("last", test::cpu());
  CHECK(ImageRun(elsewhere, run).task->source().check_files(checkpoint.files, "x").empty());
}

TEST_CASE("class names: a checkpoint of an older program has none and is taken with a note",
          "[training]") {
  const test::Folder folder("classes_old");
  write_images(folder.path / "images", {"bird", "cat", "dog"});
  ImageRun run(folder.path / "images", folder.path / "run");
  const std::vector<std::string> notes =
      run.task->source().check_files({}, "run/checkpoints/step-00000001");
  REQUIRE(notes.size() == 1);
  CHECK_THAT(notes[0], Catch::Contains("step-00000001/classes.json: not found") &&
                           Catch::Contains("were not compared"));
}
