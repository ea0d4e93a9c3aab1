// The analysis of saved maps that docs/adding-an-attention.md shows, word for word.
#include <catch2/catch.hpp>

#include <fmt/format.h>

#include <cmath>

#include "base/file.h"
#include "tensor/safetensors.h"
#include "tensor/xtensor.h"
#include "tests/support/paths.h"
#include "tests/support/tensors.h"

namespace {

using namespace fovea;

// Entropy in nats of the rows of every head, mean over the rows: a list for each layer. `input` is
// what the tensors' names begin with, "run/0-cat". For maps whose rows sum to one.
std::vector<xt::xtensor<double, 1>> head_entropies(const TensorFile& maps,
                                                   const std::string& input) {
  std::vector<xt::xtensor<double, 1>> layers;
  for (;;) {
    const auto found = maps.tensors.find(fmt::format("{}/attn/{}", input, layers.size()));
    if (found == maps.tensors.end()) return layers;
    const auto a = as_xtensor<const double, 3>(found->second);  // (heads, n, n)
    const auto terms = xt::where(a > 0, -a * xt::log(a), 0.0);
    const xt::xtensor<double, 2> rows = xt::sum(terms, {2});
    layers.push_back(xt::mean(rows, {1}));
  }
}

}  // namespace

TEST_CASE("example analysis: entropies of the heads in maps.safetensors", "[attention]") {
  // A head that attends to everything, and one that attends to one token.
  const std::vector<double> even(4, 0.5), sharp = {0, 1, 1, 0};
  std::vector<double> both = even;
  both.insert(both.end(), sharp.begin(), sharp.end());
  TensorFile file;
  file.tensors.emplace("run/0-cat/attn/0", Tensor::from(both, {2, 2, 2}, test::cpu()));
  file.tensors.emplace("run/0-cat/attn/1", Tensor::from(sharp, {1, 2, 2}, test::cpu()));
  const TensorFile read =
      parse_safetensors(serialise_safetensors(file), "maps.safetensors", test::cpu());
  const auto layers = head_entropies(read, "run/0-cat");
  REQUIRE(layers.size() == 2);
  REQUIRE(layers[0].size() == 2);
  CHECK(layers[0](0) == Approx(std::log(2)));
  CHECK(layers[0](1) == 0);
  CHECK(layers[1](0) == 0);
}

TEST_CASE("example analysis: the page shows what is compiled here", "[attention]") {
  const std::string page = io::read_text(test::source_dir() + "/docs/adding-an-attention.md");
  const std::string here =
      io::read_text(test::source_dir() + "/tests/attention/example_analysis_test.cpp");
  const std::string fence = "```cpp\n";
  std::size_t begin = page.find(fence);
  REQUIRE(begin != std::string::npos);
  begin += fence.size();
  const std::string code = page.substr(begin, page.find("```", begin) - begin);
  CHECK_THAT(here, Catch::Contains(code));
}
