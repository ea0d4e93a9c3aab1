#include "models/vit/other_names.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "autograd/mode.h"
#include "base/error.h"
#include "base/suggest.h"
#include "ops/create.h"
#include "ops/elementwise.h"
#include "ops/shape.h"

namespace fovea::models {
namespace {

using Tensors = std::map<std::string, Tensor>;

// Names, or beginnings of names where they end in a dot, and timm's. Several: their tensors are
// joined in this order along the first axis, the outputs of linear layers.
struct Renaming {
  std::vector<std::string> from;
  std::string to;
};

struct Library {
  std::string networks;                   // for messages
  std::vector<std::string> wrappers;      // before all names of the encoder
  std::vector<std::string> blocks;        // before the number of a block
  std::vector<Renaming> outside, inside;  // of blocks
};

const std::map<NamesOf, Library>& libraries() {
  static const std::map<NamesOf, Library> all = {
      {NamesOf::kHuggingFace,
       {"Hugging Face's ViT, DeiT, DINOv2 or CLIP",
        {"vit.", "deit.", "dinov2.", "dinov2_with_registers.", "vision_model."},
        {"encoder.layer.", "encoder.layers.", "layers."},
        {{{"embeddings.cls_token"}, "cls_token"},
         {{"embeddings.class_embedding"}, "cls_token"},
         {{"embeddings.distillation_token"}, "dist_token"},
         {{"embeddings.register_tokens"}, "reg_token"},
         {{"embeddings.mask_token"}, "mask_token"},
         {{"embeddings.position_ids"}, "position_ids"},
         {{"pooler."}, "pooler."},
         {{"embeddings.position_embeddings"}, "pos_embed"},
         {{"embeddings.position_embedding.weight"}, "pos_embed"},
         {{"embeddings.patch_embeddings.projection."}, "patch_embed.proj."},
         {{"embeddings.patch_embedding."}, "patch_embed.proj."},
         {{"pre_layrnorm."}, "norm_pre."},
         {{"layernorm."}, "norm."},
         {{"post_layernorm."}, "norm."},
         {{"classifier."}, "head."},
         {{"cls_classifier."}, "head."},
         {{"distillation_classifier."}, "head_dist."},
         {{"visual_projection."}, "head."}},
        {{{"layernorm_before."}, "norm1."},
         {{"layer_norm1."}, "norm1."},
         {{"layernorm_after."}, "norm2."},
         {{"layer_norm2."}, "norm2."},
         {{"attention.attention.query.", "attention.attention.key.", "attention.attention.value."},
          "attn.qkv."},
         {{"attention.q_proj.", "attention.k_proj.", "attention.v_proj."}, "attn.qkv."},
         {{"self_attn.q_proj.", "self_attn.k_proj.", "self_attn.v_proj."}, "attn.qkv."},
         {{"attention.output.dense."}, "attn.proj."},
         {{"attention.o_proj."}, "attn.proj."},
         {{"self_attn.out_proj."}, "attn.proj."},
         {{"layer_scale1.lambda1"}, "ls1.gamma"},
         {{"layer_scale2.lambda1"}, "ls2.gamma"},
         {{"intermediate.dense."}, "mlp.fc1."},
         {{"output.dense."}, "mlp.fc2."},
         {{"mlp.weights_in."}, "mlp.fc1."},
         {{"mlp.weights_out."}, "mlp.fc2."},
         {{"mlp.gate_proj.", "mlp.up_proj."}, "mlp.fc1."},
         {{"mlp.down_proj."}, "mlp.fc2."},
         {{"norm1."}, "norm1."},
         {{"norm2."}, "norm2."},
         {{"mlp."}, "mlp."}}}},
      {NamesOf::kTorchvision,
       {"torchvision's VisionTransformer",
        {},
        {"encoder.layers.encoder_layer_"},
        {{{"class_token"}, "cls_token"},
         {{"encoder.pos_embedding"}, "pos_embed"},
         {{"conv_proj."}, "patch_embed.proj."},
         {{"encoder.ln."}, "norm."},
         {{"heads.head."}, "head."}},
        {{{"ln_1."}, "norm1."},
         {{"ln_2."}, "norm2."},
         {{"self_attention.in_proj_weight"}, "attn.qkv.weight"},
         {{"self_attention.in_proj_bias"}, "attn.qkv.bias"},
         {{"self_attention.out_proj."}, "attn.proj."},
         {{"mlp.0."}, "mlp.fc1."},
         {{"mlp.linear_1."}, "mlp.fc1."},
         {{"mlp.3."}, "mlp.fc2."},
         {{"mlp.linear_2."}, "mlp.fc2."}}}}};
  return all;
}

// A name of the file in timm's words.
struct Renamed {
  std::string to;
  std::vector<std::string> from;  // of the file: itself, or all that are joined
};

std::optional<Renamed> renamed(const std::string& before, const std::string& rest,
                               const std::vector<Renaming>& renamings) {
  for (const Renaming& r : renamings) {
    for (const std::string& from : r.from) {
      if (from.ends_with('.') ? !rest.starts_with(from) : rest != from) continue;
      const std::string tail = rest.substr(from.size());
      Renamed found{r.to + tail, {}};
      for (const std::string& part : r.from) found.from.push_back(before + part + tail);
      return found;
    }
  }
  return {};
}

std::optional<Renamed> renamed(const std::string& name, const Library& library) {
  std::size_t begin = 0;
  for (const std::string& wrapper : library.wrappers) {
    if (name.starts_with(wrapper)) begin = wrapper.size();
  }
  for (const std::string& block : library.blocks) {
    const std::size_t number = begin + block.size();
    if (name.compare(begin, block.size(), block) != 0) continue;
    const std::size_t rest = std::min(name.find('.', number), name.size() - 1) + 1;
    std::optional<Renamed> inside =
        renamed(name.substr(0, rest), name.substr(rest), library.inside);
    if (inside) inside->to = "blocks." + name.substr(number, rest - number) + inside->to;
    return inside;
  }
  return renamed(name.substr(0, begin), name.substr(begin), library.outside);
}

Tensor joined(const Renamed& name, const Tensors& tensors, const std::string& file) {
  std::vector<Tensor> parts;
  std::string present;
  for (const std::string& from : name.from)
    if (tensors.contains(from)) present = from;
  for (const std::string& from : name.from) {
    const auto part = tensors.find(from);
    FOVEA_CHECK(part != tensors.end(), FileError,
                fmt::format("{}: {} is missing, which together with {} makes {}", file, from,
                            present, name.to));
    parts.push_back(part->second);
    const Tensor& first = parts.front();
    FOVEA_CHECK(
        name.from.size() == 1 || (first.rank() > 0 && parts.back().shape() == first.shape() &&
                                  parts.back().dtype() == first.dtype()),
        FileError,
        fmt::format("{}: {} is {}, {} is {}; expected one shape and type", file, name.from.front(),
                    to_string(first.shape()), from, to_string(parts.back().shape())));
  }
  return parts.size() == 1 ? parts.front() : ops::concat(parts, 0);
}

// What differs in more than names. Shapes that are no transformer's stay, for others to refuse.
void to_timm_form(Tensors& tensors) {
  const auto with_rank_3 = [](Tensor& x) {
    if (x.rank() == 1) x = ops::reshape(x, {1, 1, x.size(0)});
    if (x.rank() == 2) x = ops::reshape(x, {1, x.size(0), x.size(1)});
  };
  const auto cls = tensors.find("cls_token"), positions = tensors.find("pos_embed");
  if (cls != tensors.end()) with_rank_3(cls->second);
  if (positions != tensors.end()) with_rank_3(positions->second);
  if (!tensors.contains("reg_token") || cls == tensors.end() || positions == tensors.end()) return;
  Tensor& table = positions->second;
  const bool fits = table.rank() == 3 && table.size(1) > 1 && is_floating(table.dtype()) &&
                    cls->second.shape() == Shape{1, 1, table.size(2)} && table.size(0) == 1 &&
                    cls->second.dtype() == table.dtype();
  if (!fits) return;
  cls->second = ops::add(cls->second, ops::slice(table, 1, 0, 1));
  table = ops::slice(table, 1, 1, table.size(1) - 1);
}

}  // namespace

NamesOf names_of(const std::string& word) {
  const std::vector<std::pair<std::string, NamesOf>> all = {{"timm", NamesOf::kTimm},
                                                            {"hf", NamesOf::kHuggingFace},
                                                            {"torchvision", NamesOf::kTorchvision}};
  std::vector<std::string> words;
  for (const auto& [known, names] : all) {
    if (known == word) return names;
    words.push_back(known);
  }
  throw ConfigError(fmt::format("--names {}: expected {}{}", word, fmt::join(words, ", "),
                                did_you_mean(word, words)));
}

Tensors timm_tensors(const Tensors& tensors, NamesOf names, const std::string& file) {
  if (names == NamesOf::kTimm) return tensors;
  const autograd::NoGrad no_grad;
  const Library& library = libraries().at(names);
  Tensors result;
  std::map<std::string, std::vector<std::string>> made_of;
  for (const auto& [name, tensor] : tensors) {
    const std::optional<Renamed> known = renamed(name, library);
    if (!known) {
      result.emplace(name, tensor);
      continue;
    }
    const auto [made, added] = made_of.emplace(known->to, known->from);
    FOVEA_CHECK(added || made->second == known->from, FileError,
                fmt::format("{}: {} and {} would both be called \"{}\"", file, made->second.front(),
                            name, known->to));
    if (added) result.emplace(known->to, joined(*known, tensors, file));
    if (name.ends_with("visual_projection.weight") && tensor.rank() == 2)
      result.emplace("head.bias", ops::zeros({tensor.size(0)}, tensor.dtype(), tensor.device()));
  }
  FOVEA_CHECK(!made_of.empty(), ConfigError,
              fmt::format("--names: no name of {} is one of {}; it has {}{}", file,
                          library.networks, tensors.empty() ? "none" : tensors.begin()->first,
                          tensors.size() > 1 ? ", ..., " + tensors.rbegin()->first : ""));
  if (names == NamesOf::kHuggingFace) to_timm_form(result);
  return result;
}

}  // namespace fovea::models
