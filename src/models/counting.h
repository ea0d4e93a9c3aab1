// How papers count multiply-adds, where they differ from the engine's count.
#pragma once

#include <cstdint>
#include <vector>

#include "autograd/profiler.h"
#include "nn/module.h"

namespace fovea::models {

/// The count of a profiler with hooks on modules, over the events of one forward pass. kcla 3.6.
///   convolution, linear layer: multiply-adds without the bias
///   batch norm: 4 per element
///   average pooling: 1 per output, and 1 per input as well where the output size is given
///   bilinear upsampling: 11 per output
///   transposed convolution: input channels x kernel for every output, stride^2 times the real
///   count
/// Everything else, attention's products included, counts nothing.
std::int64_t module_hook_macs(const std::vector<autograd::Event>& events);

/// Multiply-adds of linear layers and convolutions, without biases, norms and the products of
/// attention, over the events of one forward pass: the count that the dformer paper's tables agree
/// with (dformer 5). A transposed convolution counts at the size of its output, stride^3 times the
/// real count.
std::int64_t layer_macs(const std::vector<autograd::Event>& events);

/// The count of ptflops up to 0.7.4, as the gdla paper's tables have it (gdla 4, rule R1), over the
/// events of one forward pass of `network`:
///   convolution, linear layer: multiply-adds, and 1 per output for the bias
///   transposed convolution: the same at the size of its output, stride^2 times the real count
///   batch norm: 2 per element; layer norm: 1
///   ReLU, GELU, ELU: 2 as modules, whose function is counted again, else 1; SiLU, ReLU6: 1 as
///   modules, else 0
///   pooling: 2 per input; interpolation: 2 per output as a module, else 1
/// Modules of the public code, and biases, follow from the network's modules. Products and softmax
/// of attention and everything elementwise count nothing: a network whose decoder calls softmax as
/// a function adds it itself.
std::int64_t ptflops_macs(const std::vector<autograd::Event>& events, const nn::Module& network);

/// The count by modules with which the mala paper's tables agree (mala 5.3):
///   convolution, transposed convolution, linear layer: multiply-adds, and 1 per output for the
///   bias
///   batch norm: 2 per element
/// Products of attention, other norms and functions count nothing. The paper's detectors have
/// layer norms and GELU in their counts as well, at most 0.2 % more; its classifiers do not.
std::int64_t module_macs(const std::vector<autograd::Event>& events, const nn::Module& network);

}  // namespace fovea::models
