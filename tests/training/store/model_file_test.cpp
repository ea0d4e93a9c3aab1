// Files that hold a whole network, and what becomes of damaged ones.
#include "training/store/model_file.h"

#include <catch2/catch.hpp>

#include "backend/devices.h"
#include "base/error.h"
#include "base/file.h"
#include "schema/json/parse.h"
#include "tests/support/run_cli.h"

using namespace fovea;
using training::ModelFile;

namespace {

ModelFile small_model() {
  const Device host = make_cpu(1);
  ModelFile model;
  model.weights["head.weight"] = Tensor::from(std::vector<float>{1, 2, 3, 4, 5, 6}, {2, 3}, host);
  model.weights["steps"] = Tensor::from(std::vector<std::int64_t>{7}, {1}, host);
  model.config = schema::parse(R"({"name": "small", "model": {"type": "vit"}})", "test");
  // Texts that look like parts of the header.
  model.files = {{"vocabulary.txt", "<pad>\n<unk>\n\"hash\":\"0123456789abcdef\"\n"},
                 {"classes.json", "[\"ä\"]\n"}};
  model.about = schema::parse(R"({"license": "CC0-1.0", "metrics": null})", "test");
  return model;
}

}  // namespace

TEST_CASE("model file: what was written is read", "[training]") {
  const test::TestFolder folder("model-file");
  const auto file = folder.path("a.fovea"), again = folder.path("b.fovea");
  const ModelFile model = small_model();
  write_model_file(file, model);
  write_model_file(again, model);
  CHECK(io::read_text(file) == io::read_text(again));
  const ModelFile read = training::read_model_file(file, make_cpu(1));
  CHECK(read.config == model.config);
  CHECK(read.files == model.files);
  CHECK(read.about == model.about);
  CHECK(read.hash.size() == 16);
  REQUIRE(read.weights.size() == 2);
  CHECK(read.weights.at("head.weight").values<float>()[5] == 6);
  // Other programs read its weights.
  CHECK(read_safetensors(file, make_cpu(1)).tensors.size() == 2);
}

TEST_CASE("model file: a changed bit anywhere and every cut are refused", "[training]") {
  const test::TestFolder folder("model-file-damage");
  const auto file = folder.path("a.fovea");
  write_model_file(file, small_model());
  const std::string bytes = io::read_text(file);
  const auto refuses = [&](const std::string& damaged) {
    io::write_atomic(file, damaged);
    try {
      training::read_model_file(file, make_cpu(1));
    } catch (const FileError& error) {
      const std::string message = error.what();
      return message.starts_with(file.string()) && message.find('\n') == std::string::npos;
    }
    return false;
  };
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    INFO(at);
    std::string damaged = bytes;
    damaged[at] = static_cast<char>(damaged[at] ^ (1 << at % 8));
    REQUIRE(refuses(damaged));
    REQUIRE(refuses(bytes.substr(0, at)));
  }
  CHECK(refuses(bytes + " "));
  CHECK(refuses("{}"));
}
