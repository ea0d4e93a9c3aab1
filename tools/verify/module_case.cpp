#include "verify/module_case.h"

#include <fmt/format.h>

#include "autograd/graph.h"
#include "autograd/mode.h"
#include "nn/weights.h"
#include "ops/create.h"
#include "ops/elementwise.h"
#include "ops/in_place.h"
#include "ops/reduce.h"

namespace fovea::verify {

std::map<std::string, Tensor> leaf_inputs(const Case& c) {
  std::map<std::string, Tensor> inputs;
  for (const auto& [name, tensor] : c.below("input/")) {
    Tensor leaf = ops::clone(tensor);
    if (c.has("grad_input/" + name)) leaf.set_requires_grad(true);
    inputs.emplace(name, leaf);
  }
  return inputs;
}

nn::Build build_for(const Case& c) {
  return {c.device(), DType::kFloat32, RandomStream(1), nn::Init::kTorch};
}

void load_parameters(const Case& c, nn::Module& module, Checker& check) {
  std::map<std::string, Tensor> expected = nn::with_own_names(module, c.below("param/"));
  std::vector<nn::NamedTensor> own = module.parameters();
  for (const nn::NamedTensor& buffer : module.buffers()) own.push_back(buffer);
  for (const nn::NamedTensor& named : own) {
    const auto found = expected.find(named.name);
    // Golden cases have no batch counters.
    if (found == expected.end() && named.name.ends_with("num_batches_tracked")) continue;
    if (found == expected.end()) {
      check.fail(fmt::format("param/{}: not in the file", named.name));
      continue;
    }
    if (found->second.shape() != named.tensor.shape()) {
      check.fail(fmt::format("param/{}: file has {}, module {}", named.name,
                             to_string(found->second.shape()), to_string(named.tensor.shape())));
    } else {
      ops::copy_into(found->second, named.tensor);
    }
    expected.erase(found);
  }
  for (const auto& [name, tensor] : expected)
    check.fail(fmt::format("param/{}: the module has none", name));
}

void run_module(const Case& c, nn::Module& module, const Forward& forward, Checker& check) {
  load_parameters(c, module, check);
  if (!check.passed()) return;
  module.train(c.training());
  module.set_random(RandomStream(1));
  const auto inputs = leaf_inputs(c);
  const auto outputs = forward(inputs);
  Tensor loss;
  for (const auto& [name, output] : outputs) {
    check.compare("output/" + name, output);
    const std::string upstream = "upstream/" + name;
    Tensor term;
    if (c.has(upstream)) {
      term = ops::sum(ops::mul(output, c.at(upstream)));
    } else if (name == "loss") {
      term = output;
    }
    if (term.defined()) loss = loss.defined() ? ops::add(loss, term) : term;
  }
  if (loss.defined()) autograd::backward(loss);
  for (const auto& [name, input] : inputs) {
    if (c.has("grad_input/" + name)) check.compare("grad_input/" + name, input.grad());
  }
  const auto own = nn::named_tensors(module);
  const auto in_file = [&](const std::string& name) { return c.has("param/" + name); };
  for (const auto& [name, ref] : c.below("grad_param/")) {
    const auto parameter = own.find(module.own_name(name, in_file));
    if (parameter != own.end()) check.compare("grad_param/" + name, parameter->second.grad());
  }
  for (const nn::NamedTensor& named : module.buffers()) {
    if (c.has("buffer_after/" + named.name))
      check.compare("buffer_after/" + named.name, named.tensor);
  }
}

void compare_probe(const Case& c, const attention::Probe& probe, Checker& check) {
  std::map<std::string, int> layer;
  for (const auto& record : probe.records()) {
    const std::string key = "aux/" + record.name;
    const std::string numbered = fmt::format("{}/{}", key, layer[record.name]++);
    if (c.has(key)) check.compare(key, record.value);
    if (c.has(numbered)) check.compare(numbered, record.value);
  }
}

}  // namespace fovea::verify
