#include "explain/methods/method.h"

namespace fovea::explain {

RandomStream explanation_stream(std::uint64_t seed, std::int64_t sample) {
  return RandomStream(seed).fork("explained").fork(static_cast<std::uint64_t>(sample));
}

RandomStream explanation_stream(std::uint64_t seed, const std::string& name) {
  return RandomStream(seed).fork("explained").fork(name);
}

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
