#include "training/eval_options.h"

#include <string>
#include <vector>

#include "data/questions/question_set.h"
#include "explain/diagnostics/attention_metrics.h"
#include "metrics/classes/class_score.h"
#include "training/inference/inferer.h"
#include "training/inference/sampler.h"

namespace fovea::training {

const schema::Fields<EvalOptions>& eval_fields() {
  using O = EvalOptions;
  std::vector<std::string> names;
  for (const metrics::MetricInfo& info : metrics::case_metrics()) names.push_back(info.name);
  for (const metrics::ClassScoreEntry& entry : metrics::class_scores()) names.push_back(entry.name);
  for (const explain::AttentionMetric& m : explain::attention_metrics())
    names.push_back(m.info.name);
  static const auto fields =
      schema::Fields<O>{}
          .add_component("inferer", &O::inferer, inferer_choices(),
                         "how a dense network's maps of whole samples are made, in evaluations "
                         "while training too")
          .add_component("sampler", &O::sampler, sampler_choices(),
                         "how a generator makes images from noise, in pictures while training too")
          .no_effect()
          .add("samples", &O::samples, schema::at_least(0),
               "of a generator: images of each class in the picture that is drawn of them after an "
               "evaluation; 0: none is")
          .no_effect()
          .add_object("decoding", &O::decoding, decoding_fields(),
                      "of transcribers: how logits become text, in evaluations while training too")
          .add_component("questions", &O::questions, data::question_sets().choices(),
                         "of language models: sets of questions that are put to it, in evaluations "
                         "while training too; metrics are SET_acc, SET_acc_norm and "
                         "SET_perplexity")
          .add(
              "metrics", &O::names, schema::one_of(names),
              "further metrics, in evaluations while training too. Of segmentations, each the "
              "mean over classes of the mean over cases (images or volumes), for label maps also "
              "of every class (case_dice_liver): " +
                  metrics::case_metrics_help() +
                  ". Of classifications: " + metrics::class_scores_help() +
                  ". Of classifications by attention over tokens and the tokens behind its blocks, "
                  "means over layers, heads and one of 16 samples, evenly spaced (at least 16, "
                  "at most 64): " +
                  explain::attention_metrics_help())
          .add("classes", &O::classes,
               "of segmentations with several classes: names of those that means over classes are "
               "of (case_*, hd*, assd, nsd, pooled_dice, dice_per_image, iou_per_image); []: all "
               "but the "
               "background, where the data have one; miou and accuracies are always of all")
          .add_enum("empty_masks", &O::empty,
                    {{"strict", metrics::EmptyMasks::kStrict},
                     {"gdla", metrics::EmptyMasks::kGdla},
                     {"transunet", metrics::EmptyMasks::kTransUnet},
                     {"dformer", metrics::EmptyMasks::kDformer}},
                    "what these count where truth or prediction is without a class; strict: Dice "
                    "without truth and HD95 without either are left out; gdla: such an HD95 counts "
                    "0; transunet: both count 0, but Dice 1 where only the prediction has the "
                    "class (gdla 7); dformer: Dice 1 where both are without it and 0 where one is, "
                    "HD95 as strict (dformer 7.8); IoU, NSD and F1 of lesions count as Dice, other "
                    "distances as HD95; case_rve without truth is always left out")
          .add("nsd_tolerance", &O::nsd_tolerance, schema::at_least(0),
               "of nsd: how far surfaces may be apart, in pixels")
          .add("nsd_tolerance_mm", &O::nsd_tolerance_mm, schema::at_least(0),
               "the same of nsd_mm, in millimetres")
          .add("volumes", &O::volumes,
               "of images that are slices: what they are slices of, as dataset.split.by_group says "
               "it, \"folder\" or a regular expression; these metrics then compare volumes; \"\": "
               "what the data set says (acdc, synapse), else each image by itself; \"none\": each "
               "image by itself")
          .add_enum("score_size", &O::size,
                    {{"auto", metrics::ScoreSize::kAuto},
                     {"network", metrics::ScoreSize::kNetwork},
                     {"original", metrics::ScoreSize::kOriginal}},
                    "of segmentations: the size at which truth and prediction are compared, the "
                    "network's or that of the files, to which predictions are brought back "
                    "(labels: the nearest pixel, scipy's zoom of order 0 where images are zoomed; "
                    "soft masks: bilinear, then cut); auto: original for slices, volumes and "
                    "wherever metrics ask for distances, else network (gdla 6.4, 7)");
  return fields;
}

}  // namespace fovea::training
