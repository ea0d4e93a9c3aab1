// Which operators of the golden cases are known, one table a paper.
#pragma once

#include "verify/table.h"

namespace fovea::verify {

/// papers/dgsa: attention, blocks, vision networks.
Table dgsa_networks();
/// papers/dgsa: optimisers, schedules, noise.
Table dgsa_procedures();
/// papers/dgsa: rollout and heat maps.
Table dgsa_rollouts();
/// papers/dgsa: training sequences.
Table dgsa_training();
/// papers/kcla: layer attentions in stacks.
Table kcla_stacks();
/// papers/kcla: stages of dynamic layer attention, channel attentions, their parts.
Table kcla_operators();
/// papers/kcla: stochastic depth.
Table kcla_drop_path();
/// papers/kcla: the numbers behind its figures.
Table kcla_figures();
/// papers/kcla: batch norm, convolutions, ResNets.
Table kcla_networks();
/// papers/kcla: losses, metrics, recipes, pre-processing, segmentation networks.
Table kcla_segmentation();
/// papers/gdla: attention, feed-forward networks and other operators.
Table gdla_operators();
/// papers/gdla: PVTv2 and its parts.
Table gdla_encoders();
/// papers/gdla: decoders and segmentation networks.
Table gdla_decoders();
/// papers/gdla: losses.
Table gdla_losses();
/// papers/gdla: metrics.
Table gdla_metrics();
/// papers/gdla: its schedule, training sequences.
Table gdla_training();
/// papers/gdla: zooming, turning and resizing of samples.
Table gdla_data();
/// papers/gdla: the maps and overlays of its figures.
Table gdla_figures();
/// papers/mala: losses, schedule and averages of the classification recipe, the scores of figure 2.
Table mala_recipe();
/// papers/mala: the scores of detections and scenes.
Table dense_metrics();
/// papers/mala: the operator, rotary positions.
Table mala_operators();
/// papers/mala: MAViT and its parts.
Table mavit();

/// papers/mala: the attentions around MALA, and DeiT with them.
Table mala_family();
/// papers/mala: Swin with each attention.
Table mala_swin();
/// papers/mala: what detectors are made of: boxes, RoIAlign, suppression, losses.
Table mala_detection();
/// papers/mala: necks and heads of dense prediction.
Table mala_dense();
/// papers/mala: heads of detectors.
Table mala_detectors();
/// papers/mala: diffusion transformers, diffusion, scores of generated images.
Table mala_generation();

/// papers/mala: the language model.
Table mala_language();

/// papers/mala: log-mel features, CTC, Conformers.
Table mala_speech();

/// papers/dformer: units, attention, blocks, stages and the layers between them.
Table dformer_operators();
/// papers/dformer: networks.
Table dformer_networks();
/// papers/dformer: NIfTI files, resampling, intensities.
Table dformer_data();
/// papers/dformer: losses, metric, schedule, optimiser.
Table dformer_training();

/// papers/explain: explanations from maps, values, activations and masks.
Table explain_maps();
/// papers/explain: explanations of networks.
Table explain_networks();
/// Explanations: scores that remove parts of an input and ask the network again.
Table explain_removal();
/// Explanations: scores without a network, statistics.
Table explain_measures();
/// Diagnostics of attention.
Table explain_diagnostics();

/// timm: the family of its vision transformers.
Table timm_vision_transformer();

/// All tables together. Throws Error if two have a runner of one name.
const Table& runners();

}  // namespace fovea::verify
