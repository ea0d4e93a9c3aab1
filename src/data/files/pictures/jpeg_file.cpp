#include "data/files/pictures/jpeg_file.h"

#include <fmt/format.h>

#include <csetjmp>
#include <cstdio>
#include <utility>
#include <vector>

#include "base/error.h"

// (After <cstdio>, which it needs and does not include.)
#include <jpeglib.h>
// (After jpeglib.h.)
#include <jerror.h>

namespace fovea::data {
namespace {

// What progressive files may take besides their pixels; the largest picture needs 512 MiB.
constexpr long kMaxDecoderBytes = long{1} << 30;

// The state that the functions below use while libjpeg may longjmp out of them: neither it nor
// their local variables have destructors.
struct Session {
  jpeg_decompress_struct info{};
  jpeg_error_mgr errors{};
  std::jmp_buf back{};
  char message[JMSG_LENGTH_MAX] = "";
};

[[noreturn]] void leave(j_common_ptr info) {
  auto* session = static_cast<Session*>(info->client_data);
  info->err->format_message(info, session->message);
  std::longjmp(session->back, 1);
}

// Warnings about damaged data are ignored, as in Pillow. A premature end of the file is an error,
// since Pillow would wait for more data.
void warn(j_common_ptr info, int level) {
  if (level < 0 && info->err->msg_code == JWRN_JPEG_EOF) leave(info);
}

void say_nothing(j_common_ptr) {}

bool read_header(Session& session, const unsigned char* file, unsigned long size) {
  session.info.err = ::jpeg_std_error(&session.errors);
  session.errors.error_exit = leave;
  session.errors.emit_message = warn;
  session.errors.output_message = say_nothing;
  session.info.client_data = &session;
  if (setjmp(session.back) != 0) return false;
  ::jpeg_create_decompress(&session.info);
  session.info.mem->max_memory_to_use = kMaxDecoderBytes;
  ::jpeg_mem_src(&session.info, file, size);
  ::jpeg_read_header(&session.info, TRUE);
  return true;
}

// Rows of `row_bytes`, one after another.
bool read_rows(Session& session, unsigned char* to, std::size_t row_bytes) {
  if (setjmp(session.back) != 0) return false;
  ::jpeg_start_decompress(&session.info);
  while (session.info.output_scanline < session.info.output_height) {
    JSAMPROW row = to + session.info.output_scanline * row_bytes;
    ::jpeg_read_scanlines(&session.info, &row, 1);
  }
  ::jpeg_finish_decompress(&session.info);
  return true;
}

// a b / 255, rounded as Pillow does.
int product(int a, int b) {
  const int sum = a * b + 128;
  return ((sum >> 8) + sum) >> 8;
}

// Pillow's "CMYK;I" and then its conversion to RGB.
std::vector<std::uint8_t> rgb_of_inverted_cmyk(const std::vector<std::uint8_t>& cmyk) {
  std::vector<std::uint8_t> rgb;
  rgb.reserve(cmyk.size() / 4 * 3);
  for (std::size_t i = 0; i + 3 < cmyk.size(); i += 4) {
    const int light = cmyk[i + 3];
    for (std::size_t c = 0; c < 3; ++c)
      rgb.push_back(static_cast<std::uint8_t>(light - product(255 - cmyk[i + c], light)));
  }
  return rgb;
}

class TurboFile final : public JpegFile {
 public:
  TurboFile(std::span<const std::byte> file, std::string_view name) : name_(name) {
    const auto* bytes = reinterpret_cast<const unsigned char*>(file.data());
    try {
      check(read_header(session_, bytes, static_cast<unsigned long>(file.size())));
      choose_colours();
    } catch (...) {
      ::jpeg_destroy_decompress(&session_.info);
      throw;
    }
  }
  ~TurboFile() override { ::jpeg_destroy_decompress(&session_.info); }

  Image decode() override {
    const auto row = static_cast<std::size_t>(width_ * session_.info.num_components);
    std::vector<std::uint8_t> values(row * static_cast<std::size_t>(height_));
    check(read_rows(session_, values.data(), row));
    if (session_.info.num_components == 4) values = rgb_of_inverted_cmyk(values);
    return {height_, width_, channels_, std::move(values)};
  }

 private:
  void check(bool done) const {
    FOVEA_CHECK(done, FileError, fmt::format("{}: cannot be decoded: {}", name_, session_.message));
  }

  void choose_colours() {
    jpeg_decompress_struct& info = session_.info;
    const int components = info.num_components;
    FOVEA_CHECK(info.data_precision == 8 && (components == 1 || components == 3 || components == 4),
                FileError,
                fmt::format("{}: JPEG of {} components of {} bits; 1, 3 or 4 of 8 bits are read",
                            name_, components, info.data_precision));
    info.out_color_space = components == 1 ? JCS_GRAYSCALE : components == 3 ? JCS_RGB : JCS_CMYK;
    height_ = info.image_height;
    width_ = info.image_width;
    channels_ = components == 1 ? 1 : 3;
  }

  std::string name_;
  Session session_;
};

}  // namespace

std::string libjpeg_version() {
  constexpr int kNumber = LIBJPEG_TURBO_VERSION_NUMBER;
  return fmt::format("libjpeg-turbo {}.{}.{}", kNumber / 1000000, kNumber / 1000 % 1000,
                     kNumber % 1000);
}

std::unique_ptr<JpegFile> open_jpeg(std::span<const std::byte> file, std::string_view name) {
  return std::make_unique<TurboFile>(file, name);
}

}  // namespace fovea::data
