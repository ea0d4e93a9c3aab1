#include "verify/runners.h"

namespace fovea::verify {

const Table& runners() {
  static const Table all = [] {
    Table table;
    for (const Table& part : {dgsa_networks(),
                              dgsa_procedures(),
                              dgsa_rollouts(),
                              dgsa_training(),
                              kcla_stacks(),
                              kcla_operators(),
                              kcla_drop_path(),
                              kcla_figures(),
                              kcla_networks(),
                              kcla_segmentation(),
                              gdla_operators(),
                              gdla_encoders(),
                              gdla_decoders(),
                              gdla_losses(),
                              gdla_metrics(),
                              gdla_training(),
                              gdla_data(),
                              gdla_figures(),
                              mala_recipe(),
                              dense_metrics(),
                              mala_operators(),
                              mavit(),
                              mala_family(),
                              mala_swin(),
                              mala_detection(),
                              mala_dense(),
                              mala_detectors(),
                              mala_language(),
                              dformer_operators(),
                              dformer_networks(),
                              dformer_data(),
                              dformer_training(),
                              mala_generation(),
                              mala_speech(),
                              explain_maps(),
                              explain_networks(),
                              explain_removal(),
                              explain_measures(),
                              explain_diagnostics(),
                              timm_vision_transformer()}) {
      table.merge(part);
    }
    return table;
  }();
  return all;
}

}  // namespace fovea::verify
