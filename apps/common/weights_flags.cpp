#include "common/weights_flags.h"

namespace fovea::apps {

void add_renaming_flags(Options cli, training::ForeignWeights& weights) {
  cli.add_option("--strip-prefix", weights.strip_prefix,
                 "names of the file that begin with this lose it, the others stay; repeatable")
      .value("PREFIX");
  cli.add_option("--rename", weights.rename,
                 "put NEW for every OLD in all names of the file, ^OLD only at their beginning; "
                 "repeatable, done in the order given, after --strip-prefix")
      .value("OLD=NEW");
  cli.add_option("--names", weights.names,
                 "whose names the file has: of a ViT, hf (Hugging Face's transformers) and "
                 "torchvision are brought to timm's, which Fovea reads")
      .value("timm|hf|torchvision");
  cli.add_flag("--interpolate-pos-embed", weights.interpolate_pos_embed,
               "bring pos_embed of another image or patch size to the network's grid (bicubic, "
               "antialiased, as timm)");
}

void add_mismatch_flags(Options cli, training::ForeignWeights& weights) {
  weights.options.ignore_flag = "--ignore";
  weights.options.random_flag = "--allow-random";
  cli.add_option(weights.options.ignore_flag, weights.options.ignore,
                 "names of the file that are left out, e.g. head_dist.*; repeatable")
      .value("PATTERN");
  cli.add_option(weights.options.random_flag, weights.options.random,
                 "names of the network that may have random numbers because the file lacks them or "
                 "has another shape, e.g. head.*; the results say so; repeatable")
      .value("PATTERN");
}

void add_subject_flags(Options cli, std::string& split, std::string& checkpoint,
                       std::optional<bool>& averaged) {
  cli.add_option("--split", split, "default: test, or val where there is no test part")
      .value("train|val|test");
  cli.add_option("--checkpoint", checkpoint,
                 "or step-00001234 (default: those that summary.json is about)")
      .value("best|last");
  cli.add_flag("--ema", averaged, true,
               "the averaged weights (default: if train chose by their metric)");
  cli.add_flag("--no-ema", averaged, false, "the others");
}

}  // namespace fovea::apps
