#include "backend/attention_groups.h"

#include "tests/support/tensors.h"

using namespace fovea;
using namespace fovea::test;

namespace {

using Groups = std::vector<std::vector<std::int64_t>>;

HeadLayout layout(const std::vector<std::int64_t>& offsets, std::int64_t dim) {
  return {.batch_stride = 64, .token_stride = 32, .head_offsets = offsets, .dim = dim};
}

Groups groups_of(const AttentionArgs& args, const Tensor& dq, const Tensor& dk, const Tensor& dv) {
  const HeadGroups groups(args, dq, dk, dv);
  Groups all;
  for (std::int64_t i = 0; i < groups.count(); ++i) all.push_back(groups[i]);
  return all;
}

}  // namespace

TEST_CASE("head groups: heads that add to common channels take turns", "[backend]") {
  const Tensor a = random_tensor({1, 2, 32}, 1);
  const Tensor b = random_tensor({1, 2, 32}, 2);
  const Tensor c = random_tensor({1, 2, 32}, 3);
  const std::vector<std::int64_t> apart = {0, 4, 8, 12};
  AttentionArgs args;
  args.heads = 4;
  args.q = args.k = args.v = layout(apart, 4);
  const Groups alone = {{0}, {1}, {2}, {3}};
  CHECK(groups_of(args, a, b, c) == alone);

  SECTION("the same queries") {
    args.q = layout({0, 4, 0, 4}, 4);
    CHECK(groups_of(args, a, b, c) == Groups{{0, 2}, {1, 3}});
    CHECK(groups_of(args, {}, b, c) == alone);  // nobody wants that gradient
  }
  SECTION("a part of the queries, keys or values, in a chain") {
    const HeadLayout overlapping = layout({0, 3, 6, 20}, 4);
    const Groups chain = {{0, 1, 2}, {3}};
    AttentionArgs by_q = args, by_k = args, by_v = args;
    by_q.q = by_k.k = by_v.v = overlapping;
    CHECK(groups_of(by_q, a, b, c) == chain);
    CHECK(groups_of(by_k, a, b, c) == chain);
    CHECK(groups_of(by_v, a, b, c) == chain);
  }
  SECTION("two groups that a later head joins") {
    args.k = layout({0, 8, 4, 2}, 4);
    CHECK(groups_of(args, a, b, c) == Groups{{0, 2, 3}, {1}});
    args.k = layout({0, 12, 4, 6}, 7);
    CHECK(groups_of(args, a, b, c) == Groups{{0, 1, 2, 3}});
  }
  SECTION("queries of one head, values of another") {
    args.v = layout({16, 20, 24, 8}, 4);
    CHECK(groups_of(args, a, b, a) == Groups{{0}, {1}, {2, 3}});
    CHECK(groups_of(args, a, b, c) == alone);
  }
  SECTION("the second stream") {
    args.k2 = layout({16, 20, 24, 11}, 4);
    args.q2 = layout({16, 20, 24, 28}, 4);
    CHECK(groups_of(args, a, b, c) == Groups{{0}, {1}, {2, 3}});
  }
  SECTION("every channel belongs to one head") {
    args.add = false;
    CHECK(groups_of(args, a, a, a) == alone);
  }
}
