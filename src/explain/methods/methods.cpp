#include "explain/methods/method.h"

namespace fovea::explain {

#define FOVEA_ENTRY(name) Method fovea_explanation_##name();
#include "explain/methods/explanations.def"
#undef FOVEA_ENTRY

const schema::Registry<Method>& methods() {
  static const schema::Registry<Method> all = {
#define FOVEA_ENTRY(name) fovea_explanation_##name(),
#include "explain/methods/explanations.def"
#undef FOVEA_ENTRY
  };
  return all;
}

}  // namespace fovea::explain
