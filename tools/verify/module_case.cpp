#include "verify/module_case.h"

#include <fmt/format.h>

#include <cmath>

#include "autograd/graph.h"
#include "autograd/mode.h"
#include "nn/weights.h"
#include "ops/create.h"
#include "ops/elementwise.h"
#include "ops/in_place.h"
#include "ops/reduce.h"

namespace fovea::verify {

Inputs::Inputs(const Case& c) : case_(c) {
  for (const auto& [name, tensor] : c.below("input/")) {
    Tensor leaf = ops::clone(tensor);
    if (c.has("grad_input/" + name)) leaf.set_requires_grad(true);
    tensors_.emplace(name, leaf);
  }
}

const Tensor& Inputs::at(const std::string& name) const {
  const auto found = tensors_.find(name);
  FOVEA_CHECK(found != tensors_.end(), NotImplemented,
              fmt::format("no input \"{}\", which {} needs", name, case_.op()));
  read_.insert(name);
  return found->second;
}

void Inputs::compare_gradients(Checker& check) const {
  for (const auto& [name, input] : tensors_) {
    if (case_.has("grad_input/" + name)) check.compare("grad_input/" + name, input.grad());
  }
}

void Inputs::check_all_read() const {
  for (const auto& [name, input] : tensors_) {
    if (!read_.contains(name)) case_.refuse_input(name);
  }
}

nn::Build build_for(const Case& c) {
  return {c.device(), DType::kFloat32, RandomStream(1), nn::Init::kTorch};
}

namespace {

// Tensors whose values follow from the options: temperatures of heads, rates of rotary positions.
void check_computed(const nn::NamedTensor& own, const Tensor& given, Checker& check) {
  if (!own.name.ends_with("norm_d") && !own.name.ends_with("RoPE.angle")) return;
  const std::vector<double> computed = to_doubles(own.tensor), expected = to_doubles(given);
  for (std::size_t i = 0; i < computed.size(); ++i) {
    if (std::abs(computed[i] - expected[i]) > 1e-5 * std::abs(expected[i]))
      check.fail(fmt::format("param/{}: element {} is {} in the file and {} by the configuration",
                             own.name, i, expected[i], computed[i]));
  }
}

}  // namespace

void load_parameters(const Case& c, nn::Module& module, Checker& check) {
  c.check_all_read();
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
      check_computed(named, found->second, check);
      ops::copy_into(found->second, named.tensor);
    }
    expected.erase(found);
  }
  for (const auto& [name, tensor] : expected) {
    if (!module.is_unused(name)) check.fail(fmt::format("param/{}: the module has none", name));
  }
}

void run_module(const Case& c, nn::Module& module, const Forward& forward, Checker& check) {
  load_parameters(c, module, check);
  if (!check.passed()) return;
  module.train(c.training());
  module.set_random(RandomStream(1));
  const Inputs inputs(c);
  const auto outputs = forward(inputs);
  inputs.check_all_read();
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
  inputs.compare_gradients(check);
  const auto own = nn::named_tensors(module);
  const auto in_file = [&](const std::string& name) { return c.has("param/" + name); };
  for (const auto& [name, ref] : c.below("grad_param/")) {
    const auto parameter = own.find(module.own_name(name, in_file));
    if (parameter != own.end()) check.compare("grad_param/" + name, parameter->second.grad());
    if (module.is_unused(name))  // of which nothing depends
      check.compare("grad_param/" + name, std::vector<double>(to_doubles(ref).size(), 0.0));
  }
  for (const auto& [name, ref] : c.below("buffer_after/")) {
    const auto buffer = own.find(module.own_name(name, in_file));
    if (buffer != own.end()) check.compare("buffer_after/" + name, buffer->second);
  }
}

namespace {

class NoParameters final : public nn::Module {
 public:
  std::string type() const override { return "NoParameters"; }
};

}  // namespace

void run_operation(const Case& c, const Forward& forward, Checker& check) {
  NoParameters none;
  run_module(c, none, forward, check);
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
