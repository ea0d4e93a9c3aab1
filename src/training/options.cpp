#include "training/options.h"

#include "base/threads.h"

#include <cmath>

namespace fovea::training {

using schema::at_least;

double TrainOptions::decay_of_step() const {
  if (ema_base_size == 0) return ema_decay;
  const auto samples = static_cast<double>(batch_size * grad_accum_steps);
  return std::pow(ema_decay, samples / static_cast<double>(ema_base_size));
}

const schema::Fields<TrainOptions>& train_fields() {
  using O = TrainOptions;
  static const auto fields =
      schema::Fields<O>{}
          .add("epochs", &O::epochs, at_least(0), "passes over the training data")
          .add("steps", &O::steps, at_least(0), "optimiser steps instead of epochs; 0 = by epochs")
          .add("batch_size", &O::batch_size, at_least(1),
               "samples in a forward pass; where none is given: 128 small images for a class, 32 "
               "large ones, texts or images to be made, 16 recordings, 8 streams, 4 images with "
               "masks or boxes, 2 volumes")
          .add("eval_batch_size", &O::eval_batch_size, at_least(0), "0 = batch_size")
          .add_enum("sampler", &O::sampler,
                    {{"shuffle", Sampler::kShuffle}, {"balanced", Sampler::kBalanced}},
                    "which samples an epoch has; shuffle: each once, in random order; balanced: as "
                    "many, drawn with replacement, each class as often as any other "
                    "(PyTorch's WeightedRandomSampler with weights 1 / samples of the class)")
          .add("num_workers", &O::num_workers, schema::in_range(0, 256),
               "threads that prepare batches")
          .no_effect()
          .add("grad_accum_steps", &O::grad_accum_steps, at_least(1),
               "batches whose gradients make one step; the mean is over all their samples")
          .add("freeze", &O::freeze,
               "names of parameters that stay as they are; * stands for any characters, the last "
               "pattern that matches decides, and ! before one takes names out again: [\"*\", "
               "\"!head.*\"] trains a linear probe; what is frozen as a whole works as in "
               "evaluation: batch norms keep their statistics, dropout is off")
          .add("clip_grad", &O::clip_grad, at_least(0), "limit for clipping; 0 = off")
          .add_enum("clip_mode", &O::clip_mode,
                    {{"norm", ClipMode::kNorm}, {"value", ClipMode::kValue}},
                    "clip the global norm, or every element")
          .add("ema_decay", &O::ema_decay, at_least(0) && schema::less_than(1),
               "decay of averaged weights, evaluated beside the others; 0 = off")
          .add("ema_base_size", &O::ema_base_size, at_least(0),
               "samples of a step that ema_decay is meant for: the decay of a step of n samples is "
               "ema_decay^(n / ema_base_size); 0 = the decay as it is")
          .add("eval_every", &O::eval_every, at_least(1), "epochs between evaluations")
          .add("eval_every_steps", &O::eval_every_steps, at_least(0),
               "steps between evaluations, instead of eval_every: for epochs that are long; the "
               "last step is always scored; 0 = by epochs")
          .add("log_every", &O::log_every, at_least(1), "steps between lines of metrics.jsonl")
          .no_effect()
          .add("checkpoint_every", &O::checkpoint_every, at_least(1), "epochs between checkpoints")
          .no_effect()
          .add("checkpoint_every_steps", &O::checkpoint_every_steps, at_least(0),
               "steps between further checkpoints; 0 = none")
          .no_effect()
          .add("keep_every", &O::keep_every, at_least(0),
               "epochs between checkpoints that are kept for good; 0 = only last and, where the "
               "run selects, best")
          .no_effect()
          .add("monitor", &O::monitor,
               "metric that decides which weights are best, of the part that select_on says; "
               "empty = the task's own")
          .add(
              "monitor_averages", &O::monitor_averages,
              "the monitored metric of averaged weights counts as well; the better of both decides")
          .add_enum("monitor_mode", &O::monitor_mode,
                    {{"auto", MonitorMode::kAuto},
                     {"max", MonitorMode::kMax},
                     {"min", MonitorMode::kMin}},
                    "whether larger or smaller is better; auto: what the metric says")
          .add("patience", &O::patience, at_least(0),
               "evaluations without improvement before the run ends early; 0 = never; needs a "
               "part to select on")
          .add("min_delta", &O::min_delta, at_least(0), "smallest improvement that counts")
          .add_enum("select", &O::select,
                    {{"auto", Select::kAuto}, {"best", Select::kBest}, {"last", Select::kLast}},
                    "weights that the run reports; best and patience need a part to select on; "
                    "auto: best if there is one")
          .add_enum("select_on", &O::select_on,
                    {{"val", SelectOn::kVal}, {"test", SelectOn::kTest}},
                    "part whose metric chooses the best weights and ends a run early; null: val "
                    "where there is one, else nothing is selected; test, as some papers do: the "
                    "results then say \"selected on test\"")
          .add("precision", &O::precision, schema::one_of({"float32", "bfloat16"}),
               "bfloat16: mixed precision, matrix products and activations in bfloat16; weights, "
               "sums, norms, softmax and losses stay float32")
          .add("device", &O::device,
               "cpu, opencl or cuda; with a number where there are several: cuda:1")
          .add("allow_tf32", &O::allow_tf32,
               "on cuda: products, convolutions and attention of float32 on tensor cores, which "
               "keep "
               "10 bits of an operand's mantissa; as in PyTorch's allow_tf32 of matrix products")
          .add("batch_invariant", &O::batch_invariant,
               "on cpu: an item's outputs in evaluation have the same bits whatever else is in its "
               "batch, on every processor; slower where it has tile registers or oneDNN's kernels")
          .add("threads", &O::threads, schema::in_range(0, kMostThreads),
               "threads of the kernels; 0 = all cores")
          .no_effect()
          .add("cuda_graphs", &O::cuda_graphs,
               "hand a step to a CUDA device as a graph of its kernels, which takes the host less "
               "time; no effect elsewhere")
          .no_effect()
          .add("detect_anomaly", &O::detect_anomaly,
               "check every operation for non-finite values, slowly")
          .no_effect()
          .add("tensorboard", &O::tensorboard, "write an event file for TensorBoard")
          .no_effect()
          .add(
              "rank_timeout", &O::rank_timeout, schema::greater_than(0),
              "of a run by several processes (mpirun, srun): seconds to wait for one that does not "
              "answer, before all end")
          .no_effect()
          .add_enum(
              "gradient_order", &O::gradient_order,
              {{"micro_batches", GradientOrder::kMicroBatches}, {"ranks", GradientOrder::kRanks}},
              "of a run by several processes: how the gradients of a step are added; "
              "micro_batches: from left to right, so that any number of processes gives the "
              "same bits; ranks: each adds its own first, which sends less where it has "
              "several, and last bits depend on how many there are")
          .add("gradient_type", &O::gradient_type, schema::one_of({"float32", "bfloat16"}),
               "bfloat16: the gradient of every micro-batch and their sum are rounded to it, by "
               "one process too, and half as much travels between several")
          .add("sync_batch_norm", &O::sync_batch_norm,
               "of a run by several processes: batch norms take their statistics over the batches "
               "that the processes make at the same time, as PyTorch's SyncBatchNorm does; results "
               "then depend on how many there are")
          .add("shard_optimizer", &O::shard_optimizer,
               "of a run by several processes: each keeps the optimiser's state of a part of the "
               "parameters and updates that part (ZeRO, stage 1); the same results with less "
               "memory, and weights travel once more in a step")
          .no_effect();
  return fields;
}

}  // namespace fovea::training
