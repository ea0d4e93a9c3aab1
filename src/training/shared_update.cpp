#include "training/shared_update.h"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <set>
#include <span>
#include <utility>

#include "tensor/safetensors.h"
#include "training/store/weights.h"

namespace fovea::training {
namespace {

// The largest parameters first, each to the rank that has least so far.
std::vector<int> owners_of(const std::vector<optim::Parameter>& parameters, int ranks) {
  std::vector<std::size_t> order(parameters.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::ranges::stable_sort(order, std::greater(),
                           [&](std::size_t i) { return parameters[i].tensor.numel(); });
  std::vector<std::int64_t> load(static_cast<std::size_t>(ranks));
  std::vector<int> owners(parameters.size());
  for (const std::size_t i : order) {
    const auto least = std::ranges::min_element(load);
    *least += parameters[i].tensor.numel();
    owners[i] = static_cast<int>(least - load.begin());
  }
  return owners;
}

}  // namespace

SharedUpdate::SharedUpdate(optim::Optimiser& optimiser, parallel::Ranks& ranks, bool shared_out)
    : optimiser_(optimiser), ranks_(ranks) {
  if (!shared_out || ranks.alone()) return;
  owners_ = owners_of(optimiser.parameters(), ranks.size());
  tag_ = ranks.new_tag();
}

void SharedUpdate::step(double lr, const Tensor& scale) {
  const std::vector<optim::Parameter>& parameters = optimiser_.parameters();
  // An optimiser passes over parameters without a gradient.
  for (std::size_t i = 0; i < owners_.size(); ++i) {
    if (!own(i)) parameters[i].tensor.set_grad({});
  }
  optimiser_.step(lr, scale);
  if (shared_out()) spread();
}

// Every rank gives its parameters to all.
void SharedUpdate::spread() {
  const std::vector<optim::Parameter>& parameters = optimiser_.parameters();
  std::vector<std::vector<std::byte>> of_ranks(static_cast<std::size_t>(ranks_.size()));
  std::vector<std::size_t> begins(parameters.size());  // of a parameter in those of its owner
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    std::vector<std::byte>& bytes = of_ranks[static_cast<std::size_t>(owners_[i])];
    begins[i] = bytes.size();
    bytes.resize(bytes.size() + static_cast<std::size_t>(parameters[i].tensor.bytes()));
  }
  const auto place = [&](std::size_t i) {
    return of_ranks[static_cast<std::size_t>(owners_[i])].data() + begins[i];
  };
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    if (own(i)) parameters[i].tensor.download(place(i));
  }
  std::vector<parallel::Outgoing> sent;
  std::vector<parallel::Incoming> received;
  for (int r = 0; r < ranks_.size(); ++r) {
    if (r == ranks_.rank()) continue;
    sent.push_back({r, of_ranks[static_cast<std::size_t>(ranks_.rank())]});
    received.push_back({r, of_ranks[static_cast<std::size_t>(r)]});
  }
  parallel::Ranks::Pending pending = ranks_.begin(sent, received, tag_);
  ranks_.finish(pending);
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    if (own(i)) continue;
    parameters[i].tensor.upload(place(i));
    parameters[i].tensor.written("the update of another rank");
  }
}

void SharedUpdate::keep_own(std::map<std::string, Tensor>& state) const {
  std::set<std::string> others;
  for (std::size_t i = 0; i < owners_.size(); ++i) {
    if (!own(i)) others.insert(optimiser_.parameters()[i].name);
  }
  std::erase_if(state, [&](const auto& entry) {
    return others.contains(entry.first.substr(0, entry.first.rfind('.')));
  });
}

std::map<std::string, Tensor> SharedUpdate::state(const Device& host) const {
  std::map<std::string, Tensor> here = to_host(optimiser_.state(), host);
  if (!shared_out()) return here;
  keep_own(here);
  TensorFile file;
  file.tensors = std::move(here);
  std::map<std::string, Tensor> whole;
  for (int r = 0; r < ranks_.size(); ++r) {
    const std::string bytes =
        ranks_.from(r, r == ranks_.rank() ? serialise_safetensors(file) : std::string());
    if (ranks_.first()) whole.merge(parse_safetensors(bytes, "another rank", host).tensors);
  }
  return whole;
}

void SharedUpdate::load_state(std::map<std::string, Tensor> state) {
  if (shared_out()) {
    keep_own(state);
    // As if the others had never been updated.
    for (std::size_t i = 0; i < owners_.size(); ++i) {
      const optim::Parameter& parameter = optimiser_.parameters()[i];
      if (!own(i))
        state[parameter.name + ".step"] =
            Tensor::scalar<std::int64_t>(0, parameter.tensor.device());
    }
  }
  optimiser_.load_state(state);
}

}  // namespace fovea::training
