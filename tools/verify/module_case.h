// Runs a module on the inputs of a case, forward and backward, and compares everything.
#pragma once

#include <functional>
#include <map>
#include <string>

#include "attention/attention.h"
#include "nn/module.h"
#include "verify/case.h"

namespace fovea::verify {

/// The case's inputs by name, as leaves that require a gradient where one is expected.
std::map<std::string, Tensor> leaf_inputs(const Case& c);

/// How parameters are made before the case's values replace them.
nn::Build build_for(const Case& c);

/// Copies param/* into the module's parameters and buffers; fails for names that do not match.
void load_parameters(const Case& c, nn::Module& module, Checker& check);

/// Runs `forward` (inputs -> outputs by name), takes loss = sum(output * upstream), or the output
/// "loss" where there is no upstream, and compares outputs, gradients and buffers.
using Forward = std::function<std::map<std::string, Tensor>(const std::map<std::string, Tensor>&)>;
void run_module(const Case& c, nn::Module& module, const Forward& forward, Checker& check);

/// Compares aux/* with what a probe saw: aux/<name>, or aux/<name>/<layer> in networks.
void compare_probe(const Case& c, const attention::Probe& probe, Checker& check);

}  // namespace fovea::verify
