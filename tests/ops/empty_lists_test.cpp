// Operations on lists of nothing: no tokens, keys, rows or columns in a batch that is not empty.
#include "ops/elementwise.h"
#include "ops/indexing.h"
#include "ops/linear.h"
#include "ops/losses/loss.h"
#include "ops/reduce.h"
#include "ops/shape.h"
#include "tests/ops/empty_batch.h"

namespace fovea::test {

std::vector<Case> list_cases() {
  const Shape tokens{2, 0, 12};
  const Shape list{2, 0};
  const ops::AttentionOptions plain{0.5, false, {}};
  const ops::AttentionOptions causal{0.5, true, {}};
  std::vector<Case> cases = {
      {"concat of empty lists",
       {tokens, tokens},
       {},
       [](const auto& t) {
         return ops::concat({t[0], t[1]}, 1);
       },
       tokens},
      {"slice of an empty list",
       {tokens},
       {},
       [](const auto& t) { return ops::slice(t[0], 2, 4, 5); },
       {2, 0, 5}},
      {"permute an empty list",
       {tokens},
       {},
       [](const auto& t) {
         return ops::permute(t[0], {1, 2, 0});
       },
       {0, 12, 2}},
      {"expand an empty list",
       {{1, 0, 12}},
       {},
       [](const auto& t) {
         return ops::expand(t[0], {2, 0, 12});
       },
       tokens},
      {"roll an empty list",
       {list},
       {},
       [](const auto& t) { return ops::roll(t[0], {3}, {1}); },
       list},
      {"flip an empty list", {list}, {}, [](const auto& t) { return ops::flip(t[0], 1); }, list},
      {"embedding of no words",
       {},
       {{5, 3}},
       [](const auto& t) {
         return ops::embedding(t[0], indices({2, 0}), 0);
       },
       {2, 0, 3},
       false},
      {"gather nothing",
       {},
       {{3, 4}},
       [](const auto& t) {
         return ops::gather(t[0], 1, indices({3, 0}));
       },
       {3, 0},
       false},
      {"add to an empty list",
       {tokens},
       {{12}},
       [](const auto& t) { return ops::add(t[0], t[1]); },
       tokens,
       false},
      {"mul with an empty list",
       {tokens},
       {{12}},
       [](const auto& t) { return ops::mul(t[1], t[0]); },
       tokens,
       false},
      {"swiglu of an empty list",
       {tokens},
       {},
       [](const auto& t) { return ops::swiglu(t[0]); },
       {2, 0, 6}},
      {"swiglu without columns", {list}, {}, [](const auto& t) { return ops::swiglu(t[0]); }, list},
      {"sum of nothing", {list}, {}, [](const auto& t) { return ops::sum(t[0], {1}); }, {2}},
      {"mean of nothing", {list}, {}, [](const auto& t) { return ops::mean(t[0], {1}); }, {2}},
      {"max of no rows",
       {tokens},
       {},
       [](const auto& t) { return ops::max(t[0], {2}); },
       list,
       false},
      {"argmax of no rows",
       {tokens},
       {},
       [](const auto& t) { return ops::argmax(t[0]); },
       list,
       false},
      {"softmax of no keys",
       {{2, 3, 0}},
       {},
       [](const auto& t) {
         return ops::softmax(t[0], flags({2, 0}));
       },
       {2, 3, 0}},
      {"softmax of no queries",
       {{2, 0, 3}},
       {},
       [](const auto& t) { return ops::softmax(t[0], {}, true); },
       {2, 0, 3}},
      {"log_softmax of no classes",
       {list},
       {},
       [](const auto& t) { return ops::log_softmax(t[0]); },
       list,
       false},
      {"cross_entropy of no words",
       {tokens},
       {},
       [](const auto& t) {
         return ops::cross_entropy(t[0], indices({2, 0}));
       },
       {},
       false},
      {"mse of empty lists",
       {list, list},
       {},
       [](const auto& t) { return ops::mse(t[0], t[1]); },
       {},
       false},
      {"matmul of no rows",
       {tokens, {2, 12, 3}},
       {},
       [](const auto& t) { return ops::matmul(t[0], t[1]); },
       {2, 0, 3}},
      {"matmul to no columns",
       {{2, 3, 4}, {2, 4, 0}},
       {},
       [](const auto& t) { return ops::matmul(t[0], t[1]); },
       {2, 3, 0}},
      {"matmul over nothing",
       {{2, 3, 0}, {2, 0, 4}},
       {},
       [](const auto& t) { return ops::matmul(t[0], t[1]); },
       {2, 3, 4}},
      {"dropout of an empty list",
       {list},
       {},
       [](const auto& t) { return ops::dropout(t[0], 0.5, RandomStream(1)); },
       list},
      {"take_heads of no tokens",
       {tokens},
       {},
       [](const auto& t) { return ops::take_heads(view(t[0], 4)); },
       {2, 2, 0, 2}},
      {"merge_heads of no tokens",
       {{2, 2, 0, 4}},
       {},
       [](const auto& t) { return ops::merge_heads(t[0]); },
       {2, 0, 8}},
  };
  for (const auto& options : {plain, causal}) {
    cases.push_back({"attention of no queries",
                     {tokens, {2, 3, 12}},
                     {},
                     [=](const auto& t) {
                       return ops::attention(view(t[0], 0), view(t[1], 0), view(t[1], 4), options);
                     },
                     {2, 0, 4}});
    cases.push_back({"attention without keys",
                     {{2, 3, 12}, tokens},
                     {},
                     [=](const auto& t) {
                       return ops::attention(view(t[0], 0), view(t[1], 0), view(t[1], 4), options);
                     },
                     {2, 3, 4}});
    cases.push_back({"two_map_attention without keys",
                     {{2, 3, 12}, tokens, {2, 3, 2}},
                     {},
                     [=](const auto& t) {
                       return ops::two_map_attention(view(t[0], 0), view(t[1], 0), view(t[0], 4),
                                                     view(t[1], 4), view(t[1], 8), t[2], t[2],
                                                     options);
                     },
                     {2, 3, 4}});
  }
  return cases;
}

}  // namespace fovea::test
