#include "schema/synonyms.h"

#include <algorithm>
#include <array>

#include "base/suggest.h"

namespace fovea::schema {
namespace {

// Words for one thing, as several tools spell it (timm, PyTorch, Hugging Face, Lightning, nnU-Net,
// MONAI, the papers). A word may stand in several rows.
constexpr std::array kGroups = std::to_array<std::string_view>({
    "num_heads heads n_heads nhead n_head head num_attention_heads attention_heads nheads",
    "embed_dim dim hidden_size hidden d_model n_embd width channels embedding_dim model_dim",
    "head_dim dim_head d_k d_head kv_channels key_dim",
    "depth layers num_layers n_layers n_layer num_hidden_layers num_blocks blocks encoder_layers",
    "img_size image_size input_size resolution crop_size size",
    "patch_size patch patches patch_dim",
    "in_chans in_channels input_channels num_channels channels in_ch",
    "num_classes classes n_classes num_labels nb_classes out_channels n_class",
    "mlp_ratio expansion ffn_ratio expand_ratio ff_mult mlp_expansion",
    "hidden_dim mlp_dim mlp_size intermediate_size dim_feedforward ffn_dim d_ff mlp_hidden",
    "ffn mlp feed_forward feedforward",
    "attention attn token_mixer mixer self_attention",
    "qkv_bias bias attn_bias use_bias attention_bias",
    "proj_bias out_bias use_bias bias",
    "dropout drop_rate dropout_rate drop p_dropout dropout_prob hidden_dropout_prob proj_drop",
    "attn_drop attn_dropout attention_dropout attn_drop_rate att_dropout attn_pdrop "
    "attention_probs_dropout_prob",
    "proj_drop resid_pdrop proj_dropout drop_rate dropout",
    "drop_path_rate drop_path stochastic_depth stochastic_depth_prob droppath layer_drop "
    "drop_path_prob",
    "label_smoothing smoothing smooth label_smooth",
    "lr learning_rate base_lr initial_lr max_lr lr_rate",
    "min_lr final_lr end_lr lr_min eta_min min_learning_rate",
    "weight_decay wd decay l2 l2_penalty",
    "warmup_epochs warmup warmup_steps num_warmup_steps lr_warmup warm_up",
    "warmup_steps warmup warmup_iters warmup_epochs num_warmup_steps",
    "clip_grad grad_clip max_grad_norm gradient_clip_val clip_norm gradient_clipping",
    "batch_size batchsize bs batch train_batch_size per_device_train_batch_size micro_batch",
    "grad_accum_steps accumulate accumulation_steps gradient_accumulation_steps "
    "accumulate_grad_batches grad_accumulation iter_size",
    "epochs num_epochs n_epochs max_epochs epoch num_train_epochs",
    "steps max_steps num_steps iterations iters max_iterations total_steps",
    "schedule lr_scheduler scheduler sched lr_schedule lr_policy",
    "optimizer optim opt optimiser solver",
    "betas beta adam_betas opt_betas",
    "eps epsilon opt_eps adam_epsilon layer_norm_eps norm_eps",
    "momentum beta1 sgd_momentum",
    "layer_decay layer_lr_decay layerwise_lr_decay llrd layer_decay_rate",
    "param_groups parameter_groups groups paramwise_cfg params_groups",
    "lr_scale lr lr_mult lr_multiplier",
    "freeze frozen freeze_layers frozen_layers trainable freeze_backbone",
    "ema_decay model_ema_decay ema model_ema",
    "seed random_seed rng_seed manual_seed random_state",
    "dataset data data_set datasets",
    "root data_dir data_path path dir folder data_root dataset_dir",
    "augment augmentation augmentations transforms transform aug",
    "corruption noise corruptions perturbation",
    "loss criterion loss_fn objective",
    "model network net arch architecture backbone",
    "train training trainer",
    "workers num_workers loader_workers num_threads n_workers",
    "threads num_threads n_threads",
    "precision amp dtype mixed_precision fp16 bf16 amp_dtype",
    "device gpu cuda accelerator",
    "norm norm_layer normalization normalisation norm_type",
    "act activation act_layer hidden_act nonlinearity act_fn",
    "pool global_pool pooling pool_type pooler",
    "pos_embed position_embedding positional_encoding pos_emb pos_encoding position",
    "max_len max_length max_seq_len seq_len context_length n_positions max_position_embeddings",
    "vocab_size num_tokens n_vocab vocabulary_size",
    "window_size window win_size windows",
    "kernel_size kernel ksize k",
    "roi_size size patch_size window_size window crop_size tile_size",
    "dice_weight lambda_dice weight_dice",
    "ce_weight lambda_ce weight_ce",
    "background include_background do_bg",
    "smooth smooth_nr smooth_dr",
    "sr_ratio sr_ratios reduction_ratio reduction",
    "dilation dilation_rate dilations group_interval",
    "type name kind variant class target",
    "name run_name experiment title exp_name",
    "patience early_stopping_patience",
    "monitor metric eval_metric checkpoint_metric",
    "eval_every val_interval eval_interval check_val_every_n_epoch validate_every",
    "log_every log_interval log_every_n_steps print_freq",
    "mixup mixup_alpha mix_up",
    "cutmix cutmix_alpha cut_mix",
    "random_erasing reprob random_erase erasing cutout",
    "spacing voxel_spacing pixdim resample",
});

std::string normalised(std::string_view key) {
  std::string result;
  for (const char c : key) {
    if (c == '_' || c == '-' || c == ' ') continue;
    result.push_back(c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c);
  }
  return result;
}

std::vector<std::string_view> words(std::string_view group) {
  std::vector<std::string_view> result;
  while (!group.empty()) {
    const std::size_t end = std::min(group.find(' '), group.size());
    result.push_back(group.substr(0, end));
    group.remove_prefix(std::min(end + 1, group.size()));
  }
  return result;
}

std::string synonym(const std::string& wanted, const std::vector<std::string>& known) {
  for (const std::string_view group : kGroups) {
    const auto row = words(group);
    const auto matches = [&](std::string_view word) { return normalised(word) == wanted; };
    if (std::none_of(row.begin(), row.end(), matches)) continue;
    for (const std::string_view word : row) {
      if (std::find(known.begin(), known.end(), word) != known.end()) return std::string(word);
    }
  }
  return "";
}

}  // namespace

std::string suggest_key(std::string_view key, const std::vector<std::string>& known) {
  const std::string wanted = normalised(key);
  for (const std::string& candidate : known) {
    if (normalised(candidate) == wanted) return candidate;
  }
  if (std::string found = nearest(key, known); !found.empty()) return found;
  return synonym(wanted, known);
}

}  // namespace fovea::schema
