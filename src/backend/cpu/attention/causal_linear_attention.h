// Linear attention of queries to the keys before them and their own (LinearAttentionArgs::causal).
#pragma once

#include "backend/backend.h"
#include "backend/cpu/thread_pool.h"

namespace fovea::cpu {

void causal_linear_attention(ThreadPool& pool, const LinearAttentionArgs& args,
                             const LinearAttentionInputs& in, const Tensor& out,
                             const LinearAttentionSums& sums);
void causal_linear_attention_backward(ThreadPool& pool, const LinearAttentionArgs& args,
                                      const LinearAttentionInputs& in,
                                      const LinearAttentionUpstream& upstream,
                                      const LinearAttentionGradients& to);

}  // namespace fovea::cpu
