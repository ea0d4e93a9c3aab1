#include "models/counting.h"

#include <map>
#include <set>
#include <string>

namespace fovea::models {
namespace {

// The multiply-adds of a transposed convolution, counted at the size of its output.
std::int64_t at_outputs(const autograd::Event& event) {
  const std::int64_t outputs = event.output.numel() / event.output[1];  // places
  const std::int64_t inputs = event.input.numel() / event.input[1];
  return event.macs / inputs * outputs;
}

std::int64_t count(const autograd::Event& event) {
  if (event.op == "conv" || event.op == "linear") return event.macs;
  if (event.op == "batch_norm" || event.op == "batch_norm_relu") return 4 * event.output.numel();
  // The convolution and the norm of the operation; its running sum is not counted.
  if (event.op == "running_value") return (9 + 4) * event.output.numel();
  if (event.op == "avg_pool") return event.output.numel();
  if (event.op == "adaptive_avg_pool" || event.op == "pooled_again")
    return event.input.numel() + event.output.numel();
  if (event.op == "resize") return 11 * event.output.numel();
  if (event.op == "conv_transpose") return at_outputs(event);
  return 0;
}

// `type`: of the module.
std::int64_t count_ptflops(const autograd::Event& event, const std::string& type, bool has_bias) {
  const std::string& op = event.op;
  const std::int64_t elements = event.output.numel();
  const std::int64_t bias = has_bias ? elements : 0;
  if (op == "conv" || op == "token_conv" || op == "linear") return event.macs + bias;
  if (op == "conv_transpose") return at_outputs(event) + bias;
  if (op == "batch_norm_relu") return 4 * elements;
  if (op == "batch_norm" || op == "relu" || op == "gelu") return 2 * elements;
  if (op == "layer_norm") return elements;
  if (op == "silu") return type == "GatedDifferentialLinearAttention" ? 0 : elements;
  if (op == "swiglu") return type == "GatedMixFFN" ? elements : 0;
  if (op == "clamp") return type == "MultiScaleConv" ? elements : 0;  // ReLU6
  if (op == "resize") return type == "UpConv" ? 2 * elements : elements;
  // ELU of queries and of keys, each as many as there are values: modules, or a function.
  if (op == "linear_attention" || op == "two_map_linear_attention")
    return type == "LinearAttention" ? 4 * elements : 2 * elements;
  if (op.ends_with("_pool") || op == "pooled_again") return 2 * event.input.numel();
  return 0;
}

std::int64_t count_modules(const autograd::Event& event, bool has_bias) {
  const std::int64_t bias = has_bias ? event.output.numel() : 0;
  if (event.op == "conv" || event.op == "token_conv" || event.op == "linear" ||
      event.op == "conv_transpose")
    return event.macs + bias;
  return event.op.starts_with("batch_norm") ? 2 * event.output.numel() : 0;
}

std::set<std::string> biases_of(const nn::Module& network) {
  std::set<std::string> biases;
  for (const nn::NamedTensor& named : network.parameters()) {
    if (named.name.ends_with(".bias")) biases.insert(named.name);
  }
  return biases;
}

}  // namespace

std::int64_t module_macs(const std::vector<autograd::Event>& events, const nn::Module& network) {
  const std::set<std::string> biases = biases_of(network);
  std::int64_t total = 0;
  for (const autograd::Event& event : events) {
    if (!event.backward) total += count_modules(event, biases.contains(event.module + ".bias"));
  }
  return total;
}

std::int64_t ptflops_macs(const std::vector<autograd::Event>& events, const nn::Module& network) {
  const std::set<std::string> biases = biases_of(network);
  const std::map<std::string, std::string> types = network.types();
  std::int64_t total = 0;
  for (const autograd::Event& event : events) {
    if (event.backward) continue;
    const auto type = types.find(event.module);
    total += count_ptflops(event, type == types.end() ? "" : type->second,
                           biases.contains(event.module + ".bias"));
  }
  return total;
}

std::int64_t layer_macs(const std::vector<autograd::Event>& events) {
  std::int64_t total = 0;
  for (const autograd::Event& event : events) {
    if (event.backward) continue;
    const std::string& op = event.op;
    if (op == "conv_transpose") total += at_outputs(event);
    if (op == "conv" || op == "token_conv" || op == "linear" || op == "patch_logits")
      total += event.macs;
  }
  return total;
}

std::int64_t module_hook_macs(const std::vector<autograd::Event>& events) {
  std::int64_t total = 0;
  for (const autograd::Event& event : events) {
    if (!event.backward) total += count(event);
  }
  return total;
}

}  // namespace fovea::models
