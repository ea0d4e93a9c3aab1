// Log-mel features of a recording: how loud each band of frequencies is, frame by frame. mala 7.5.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "data/audio/fft.h"
#include "schema/fields.h"

namespace fovea::data {

struct LogMelOptions {
  std::int64_t num_mels = 80;
  double win_ms = 25, hop_ms = 10;
  double f_min = 20;                 // hertz
  std::optional<double> f_max = {};  // nothing: half the sample rate
  double floor = 1e-10;              // of powers, before the logarithm
};
/// Keys of data sets of recordings.
schema::Fields<LogMelOptions> log_mel_fields();

/// The same in samples.
struct LogMelPlan {
  std::int64_t sample_rate = 16000, win_length = 400, hop_length = 160, n_fft = 512, num_mels = 80;
  double f_min = 20, f_max = 8000, floor = 1e-10;
};
/// n_fft is the least power of two that a window fits in. Throws ConfigError for windows and hops
/// of less than one sample.
LogMelPlan plan_log_mel(const LogMelOptions& options, std::int64_t sample_rate);

/// Frames lie inside the recording (no centring): 1 + floor((n - win) / hop), or none. Of each: the
/// samples times a periodic Hann window, zeros up to n_fft, the power spectrum, HTK's mel triangles
/// on the linear frequencies from f_min to f_max, which are not divided by their area, and
/// ln(max(x, floor)).
class LogMel {
 public:
  /// Throws ConfigError for a plan whose numbers do not fit together.
  explicit LogMel(const LogMelPlan& plan);
  const LogMelPlan& plan() const { return plan_; }
  std::int64_t frames_of(std::int64_t samples) const;
  std::int64_t bins() const { return fft_.bins(); }
  /// (num_mels, bins) row-major: the share of each frequency in each band.
  const std::vector<double>& filterbank() const { return filters_; }

  /// (frames, bins), float64.
  std::vector<double> power(std::span<const float> samples) const;
  /// (frames, num_mels).
  std::vector<float> operator()(std::span<const float> samples) const;

 private:
  struct Band {
    std::int64_t first = 0, last = 0;  // of its bins, the last excluded
  };
  void frame_power(std::span<const float> samples, std::int64_t frame, std::vector<double>& room,
                   std::vector<std::complex<double>>& scratch, double* to) const;

  LogMelPlan plan_;
  RealFft fft_;
  std::vector<double> window_, filters_;
  std::vector<Band> bands_;
};

/// Takes the mean of each channel of x (frames, channels) away and divides by its standard
/// deviation (biased; 1e-5 is added to it).
void normalise_channels(std::span<float> x, std::int64_t channels);

}  // namespace fovea::data
