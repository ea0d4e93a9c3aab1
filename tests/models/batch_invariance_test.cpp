// An item's outputs are the same bits whatever lies in the batch around it: any number of other
// items, in any order, and any padding.
#include <catch2/catch.hpp>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include "autograd/mode.h"
#include "backend/devices.h"
#include "schema/json/parse.h"
#include "tests/models/network.h"
#include "tests/models/small_networks.h"
#include "tests/support/tensors.h"

using namespace fovea;
using namespace fovea::test;

namespace {

constexpr std::int64_t kItems = 7;

// Whatever libraries there are.
const Device& host() {
  static const Device device = make_cpu(2, true);
  return device;
}

using Items = std::vector<std::int64_t>;
using Bits = std::vector<std::byte>;

std::size_t bytes_of(const Tensor& x) {
  return static_cast<std::size_t>(x.numel()) * size_of(x.dtype());
}

Bits bits_of(const Tensor& x) {
  Bits bits(bytes_of(x));
  if (!bits.empty()) x.download(bits.data());
  return bits;
}

// The chosen items of a batch.
Tensor chosen(const Tensor& x, const Items& items) {
  Shape shape = x.shape();
  shape[0] = std::ssize(items);
  const Tensor to = Tensor::empty(shape, x.dtype(), host());
  const Bits from = bits_of(x);
  const auto size = static_cast<std::ptrdiff_t>(from.size()) / x.size(0);
  Bits bits;
  for (const std::int64_t i : items)
    bits.insert(bits.end(), from.begin() + i * size, from.begin() + (i + 1) * size);
  to.upload(bits.data());
  return to;
}

// Random items of all inputs. Texts end after different numbers of words, and recordings after
// different numbers of frames.
models::Inputs random_inputs(const models::Entry& entry) {
  models::Inputs inputs = zeros_for(entry, kItems, host());
  std::uint64_t seed = 5;
  for (const models::InputField& field : models::info_of(entry.interface).reads) {
    const Tensor& input = inputs.*field.tensor;
    if (field.dtype == DType::kFloat32) {
      inputs.*field.tensor = random_tensor(input.shape(), ++seed, DType::kFloat32);
      continue;
    }
    if (field.dtype != DType::kInt64) continue;
    edit<std::int64_t>(input, [&](auto values) {
      const auto row = static_cast<std::size_t>(input.numel() / kItems);
      for (std::size_t i = 0; i < values.size(); ++i) {
        const auto item = static_cast<std::int64_t>(i / row);
        values[i] = 1 + item % 4;
        if (field.name == "num_frames") values[i] = 19 - 2 * item;
        if (field.name == "image_size") values[i] = 64 - 3 * item;
        if (field.name == "tokens")
          values[i] = static_cast<std::int64_t>(i % row) < 7 - item
                          ? 1 + (7 * item + static_cast<std::int64_t>(i)) % 19
                          : 0;
      }
    });
  }
  return inputs;
}

models::Inputs chosen(const models::Inputs& inputs, const models::Entry& entry,
                      const Items& items) {
  models::Inputs part;
  for (const models::InputField& field : models::info_of(entry.interface).reads)
    part.*field.tensor = chosen(inputs.*field.tensor, items);
  return part;
}

void check_invariance(const schema::Value& options, std::optional<DType> activations,
                      const std::vector<Items>& batches) {
  const models::Entry& entry = entry_of(options.at("type").as_string());
  const auto model = build(options, host(), shape_for(entry), DType::kFloat32, activations);
  model->train(false);
  const models::Inputs all = random_inputs(entry);
  const auto outputs = [&](const Items& items) {
    const autograd::NoGrad no_grad;
    return (*model)(chosen(all, entry, items)).tensors();
  };
  Items in_order(kItems);
  std::iota(in_order.begin(), in_order.end(), 0);
  const std::vector<Tensor> whole = outputs(in_order);
  REQUIRE(!whole.empty());
  for (const Items& items : batches) {
    INFO("items " << Catch::StringMaker<Items>::convert(items));
    const std::vector<Tensor> parts = outputs(items);
    REQUIRE(parts.size() == whole.size());
    for (std::size_t t = 0; t < parts.size(); ++t) {
      INFO("output " << t << " of shape " << to_string(whole[t].shape()));
      const bool same = bits_of(parts[t]) == bits_of(chosen(whole[t], items));
      CHECK(same);
    }
  }
}

}  // namespace

TEST_CASE("networks: an item has the same bits in any batch", "[models][host]") {
  Items many;
  for (std::int64_t i = 0; i < 40; ++i) many.push_back((3 * i + 1) % kItems);
  for (const char* text : kSmallNetworks) {
    for (const std::optional<DType> activations :
         {std::optional<DType>(), std::optional(DType::kBFloat16)}) {
      INFO(text << (activations ? ", bfloat16" : ""));
      check_invariance(schema::parse(text, "network"), activations,
                       {{0}, {6}, {5, 2}, {6, 4, 3, 1, 0}, many});
    }
  }
}

TEST_CASE("networks with default options: an item has the same bits in any batch",
          "[models][host][slow]") {
  for (const models::Entry& entry : models::entries()) {
    INFO(entry.name);
    check_invariance(options_of(entry.name.c_str()), std::nullopt, {{0}, {5, 2}});
  }
}
