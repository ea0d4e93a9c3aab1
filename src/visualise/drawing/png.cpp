// PNG files through stb_image_write.
#include "base/error.h"
#include "base/file.h"
#include "visualise/drawing/canvas.h"

#define STB_IMAGE_WRITE_STATIC
#define STB_IMAGE_WRITE_IMPLEMENTATION
#include <stb_image_write.h>

namespace fovea::visualise {

std::string to_png(const Canvas& canvas) {
  FOVEA_CHECK(canvas.width > 0 && canvas.height > 0, ShapeError,
              "png: picture has no pixels; expected at least 1 x 1");
  std::string bytes;
  const auto append = [](void* target, void* data, int size) {
    static_cast<std::string*>(target)->append(static_cast<const char*>(data),
                                              static_cast<std::size_t>(size));
  };
  const int done = stbi_write_png_to_func(append, &bytes, static_cast<int>(canvas.width),
                                          static_cast<int>(canvas.height), 3, canvas.rgb.data(),
                                          static_cast<int>(canvas.width * 3));
  FOVEA_CHECK(done != 0 && !bytes.empty(), FileError, "png: encoding failed");
  return bytes;
}

void write_png(const std::filesystem::path& path, const Canvas& canvas) {
  io::write_atomic(path, to_png(canvas));
}

}  // namespace fovea::visualise
