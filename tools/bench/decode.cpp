#include "bench/decode.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "bench/cpu_time.h"
#include "models/sequences/language_model.h"

namespace fovea::bench {
namespace {

// Mean milliseconds of the processor for each of `count` tokens.
double write_tokens(models::LanguageModel& decoder, const Device& device, std::int64_t count,
                    models::DecoderState& state) {
  const Tensor token = Tensor::from(std::vector<std::int64_t>{1}, {1, 1}, device);
  const double start = cpu_seconds();
  for (std::int64_t i = 0; i < count; ++i) decoder.next(token, state);
  device.synchronize();
  return 1e3 * (cpu_seconds() - start) / static_cast<double>(std::max<std::int64_t>(1, count));
}

}  // namespace

Decoding decode(const experiment::Experiment& e, const Device& device, std::int64_t tokens) {
  const auto model = experiment::make_model(e, device, experiment::data_shape(e));
  auto* decoder = dynamic_cast<models::LanguageModel*>(model.get());
  FOVEA_CHECK(decoder != nullptr, ConfigError,
              fmt::format("--decode: the network is {}; expected a language model", model->type()));
  decoder->train(false);
  const std::int64_t part = std::max<std::int64_t>(1, tokens / 8);
  models::DecoderState warm, state;
  write_tokens(*decoder, device, part, warm);
  Decoding result{.tokens = tokens};
  result.first_cpu_ms = write_tokens(*decoder, device, part, state);
  write_tokens(*decoder, device, tokens - 2 * part, state);
  result.last_cpu_ms = write_tokens(*decoder, device, part, state);
  result.state_bytes = state.bytes();
  return result;
}

schema::Value to_json(const experiment::Experiment& e, const Decoding& d) {
  return schema::Value::object({{"name", e.name},
                                {"mode", "decode"},
                                {"tokens", d.tokens},
                                {"first_cpu_ms_per_token", d.first_cpu_ms},
                                {"last_cpu_ms_per_token", d.last_cpu_ms},
                                {"state_bytes", d.state_bytes}});
}

std::string to_text(const experiment::Experiment& e, const Decoding& d) {
  return fmt::format(
      "{}: {} tokens one after the other\n{:.3f} ms of the processor a token in the first eighth, "
      "{:.3f} in the last; the state is {} bytes\n",
      e.name, d.tokens, d.first_cpu_ms, d.last_cpu_ms, d.state_bytes);
}

}  // namespace fovea::bench
