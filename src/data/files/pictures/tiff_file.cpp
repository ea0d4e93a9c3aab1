#include "data/files/pictures/tiff_file.h"

#include <fmt/format.h>
#include <tiffio.h>

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "base/error.h"

namespace fovea::data {
namespace {

using TiffBytes = std::span<const std::byte>;

// What libtiff may take at once: the largest strip or tile.
constexpr tmsize_t kMaxTiffBlock = tmsize_t{1} << 28;
// Directories beyond this are not looked at.
constexpr int kMaxTiffPages = 1000;

// A file in memory as libtiff reads it, and the first thing that it complained about.
struct TiffMemory {
  TiffBytes file;
  std::size_t at = 0;
  std::string error;
};

tmsize_t tiff_read(thandle_t handle, void* to, tmsize_t size) {
  auto* memory = static_cast<TiffMemory*>(handle);
  const std::size_t left = memory->file.size() - std::min(memory->at, memory->file.size());
  const std::size_t taken = std::min(left, static_cast<std::size_t>(std::max<tmsize_t>(size, 0)));
  if (taken > 0) std::memcpy(to, memory->file.data() + memory->at, taken);
  memory->at += taken;
  return static_cast<tmsize_t>(taken);
}
tmsize_t tiff_write(thandle_t, void*, tmsize_t) { return 0; }
toff_t tiff_seek(thandle_t handle, toff_t offset, int whence) {
  auto* memory = static_cast<TiffMemory*>(handle);
  const std::size_t base = whence == SEEK_CUR   ? memory->at
                           : whence == SEEK_END ? memory->file.size()
                                                : 0;
  memory->at = base + static_cast<std::size_t>(offset);
  return memory->at;
}
int tiff_close(thandle_t) { return 0; }
toff_t tiff_size(thandle_t handle) { return static_cast<TiffMemory*>(handle)->file.size(); }

int tiff_error(TIFF*, void* handle, const char*, const char* format, std::va_list values) {
  auto* memory = static_cast<TiffMemory*>(handle);
  if (!memory->error.empty()) return 1;
  char text[256] = "";
  std::vsnprintf(text, sizeof text, format, values);
  memory->error = text;
  while (!memory->error.empty() && (memory->error.back() == '.' || memory->error.back() == '\n'))
    memory->error.pop_back();
  return 1;
}
int tiff_warning(TIFF*, void*, const char*, const char*, std::va_list) { return 1; }

class TiffReader {
 public:
  TiffReader(TiffBytes file, std::string_view name, bool one_page = true)
      : name_(name), memory_{file, 0, {}} {
    const std::unique_ptr<TIFFOpenOptions, void (*)(TIFFOpenOptions*)> options(
        ::TIFFOpenOptionsAlloc(), ::TIFFOpenOptionsFree);
    ::TIFFOpenOptionsSetErrorHandlerExtR(options.get(), tiff_error, &memory_);
    ::TIFFOpenOptionsSetWarningHandlerExtR(options.get(), tiff_warning, nullptr);
    ::TIFFOpenOptionsSetMaxSingleMemAlloc(options.get(), kMaxTiffBlock);
    tiff_.reset(::TIFFClientOpenExt("file", "rm", &memory_, tiff_read, tiff_write, tiff_seek,
                                    tiff_close, tiff_size, nullptr, nullptr, options.get()));
    if (tiff_ == nullptr) fail("its header cannot be read");
    read_header();
    if (one_page) check_pages();
  }

  const TiffHeader& header() const { return header_; }

  Image decode(bool indices) {
    const bool coloured = header_.palette && !indices;
    Image stored{header_.height, header_.width, header_.palette ? 1 : header_.channels, {}};
    const auto count = static_cast<std::size_t>(stored.height * stored.width * stored.channels);
    if (header_.sample_bytes == 2) {
      stored.deep.resize(count);
      read_blocks<std::uint16_t>(stored);
    } else {
      stored.pixels.resize(count);
      read_blocks<std::uint8_t>(stored);
    }
    if (photometric_ == PHOTOMETRIC_MINISWHITE) {
      for (std::uint8_t& value : stored.pixels) value = static_cast<std::uint8_t>(255 - value);
      for (std::uint16_t& value : stored.deep) value = static_cast<std::uint16_t>(65535 - value);
    }
    return coloured ? coloured_by_palette(stored) : stored;
  }

  // The grey pages, which must be so many, beginning with the one that was opened.
  std::vector<Image> decode_pages(std::int64_t wanted) {
    std::vector<Image> pages;
    int directories = 0;
    do {
      if (is_copy()) continue;
      if (!pages.empty()) read_header();
      const bool alike =
          pages.empty() || (header_.height == pages[0].height && header_.width == pages[0].width);
      if (header_.channels != 1 || !alike)
        refuse(
            fmt::format("whose page {} is {} x {} of {} channels; expected pages of one size, "
                        "each in grey",
                        pages.size() + 1, header_.height, header_.width, header_.channels));
      if (std::ssize(pages) < wanted)
        pages.push_back(decode(false));
      else
        refuse(fmt::format("of more than {} pages; expected one for each channel", wanted));
    } while (++directories < kMaxTiffPages && ::TIFFReadDirectory(tiff_.get()) != 0);
    if (std::ssize(pages) != wanted)
      refuse(fmt::format("of {} pages; expected {}, one for each channel", pages.size(), wanted));
    return pages;
  }

 private:
  [[noreturn]] void fail(const char* what) const {
    throw FileError(fmt::format("{}: is damaged: {}{}{}; the copy or download may have failed",
                                name_, what, memory_.error.empty() ? "" : ": ", memory_.error));
  }
  [[noreturn]] void refuse(const std::string& what) const {
    throw FileError(fmt::format("{}: is a TIFF {}", name_, what));
  }

  template <class Value>
  Value field(std::uint32_t tag) const {
    Value value = 0;
    ::TIFFGetFieldDefaulted(tiff_.get(), tag, &value);
    return value;
  }

  void read_header() {
    const auto height = field<std::uint32_t>(TIFFTAG_IMAGELENGTH);
    const auto width = field<std::uint32_t>(TIFFTAG_IMAGEWIDTH);
    bits_ = field<std::uint16_t>(TIFFTAG_BITSPERSAMPLE);
    samples_ = field<std::uint16_t>(TIFFTAG_SAMPLESPERPIXEL);
    planar_ = field<std::uint16_t>(TIFFTAG_PLANARCONFIG);
    const auto compression = field<std::uint16_t>(TIFFTAG_COMPRESSION);
    if (::TIFFGetField(tiff_.get(), TIFFTAG_PHOTOMETRIC, &photometric_) == 0)
      photometric_ = samples_ >= 3 ? PHOTOMETRIC_RGB : PHOTOMETRIC_MINISBLACK;
    const auto format = field<std::uint16_t>(TIFFTAG_SAMPLEFORMAT);
    if (height == 0 || width == 0) fail("its first page has no size");
    const bool one_bit = bits_ == 1 && samples_ == 1;
    const bool whole = format == SAMPLEFORMAT_UINT || format == SAMPLEFORMAT_VOID;
    if (!whole || (bits_ != 8 && bits_ != 16 && !one_bit))
      refuse(
          fmt::format("of {} bits a value{}; expected whole numbers of 8 or 16 bits without sign, "
                      "or black and white; save it as such",
                      bits_,
                      format == SAMPLEFORMAT_IEEEFP ? ", floating-point"
                      : format == SAMPLEFORMAT_INT  ? ", with sign"
                                                    : ""));
    if (samples_ < 1 || samples_ > 4)
      refuse(fmt::format("of {} channels; expected 1 to 4, or a file for each channel", samples_));
    if (compression == COMPRESSION_JPEG && photometric_ == PHOTOMETRIC_YCBCR && samples_ == 3 &&
        bits_ == 8) {  // libjpeg converts
      ::TIFFSetField(tiff_.get(), TIFFTAG_JPEGCOLORMODE, JPEGCOLORMODE_RGB);
      photometric_ = PHOTOMETRIC_RGB;
    }
    const bool grey = samples_ <= 2 && (photometric_ == PHOTOMETRIC_MINISBLACK ||
                                        photometric_ == PHOTOMETRIC_MINISWHITE);
    const bool rgb = samples_ >= 3 && photometric_ == PHOTOMETRIC_RGB;
    header_.palette = samples_ == 1 && bits_ == 8 && photometric_ == PHOTOMETRIC_PALETTE;
    if (!grey && !rgb && !header_.palette)
      refuse(
          fmt::format("whose colours are of kind {} with {} channels of {} bits; expected greys, "
                      "red, green and blue, or a palette of 8 bits",
                      photometric_, samples_, bits_));
    header_.height = height;
    header_.width = width;
    header_.channels = header_.palette ? 3 : samples_;
    header_.sample_bytes = bits_ == 16 ? 2 : 1;
    header_.lossy = compression == COMPRESSION_JPEG || compression == COMPRESSION_OJPEG;
  }

  // Of a smaller copy that viewers keep as a further page.
  bool is_copy() const {
    return (field<std::uint32_t>(TIFFTAG_SUBFILETYPE) & FILETYPE_REDUCEDIMAGE) != 0;
  }

  void check_pages() {
    int pages = 1, directories = 1;
    while (directories < kMaxTiffPages && ::TIFFReadDirectory(tiff_.get()) != 0) {
      ++directories;
      if (!is_copy()) ++pages;
    }
    if (pages > 1)
      refuse(
          fmt::format("of {} pages; expected one picture; save each page as a file, or a stack as "
                      "NIfTI",
                      pages));
    memory_.error.clear();
    if (directories > 1 && ::TIFFSetDirectory(tiff_.get(), 0) == 0) fail("its first page is gone");
  }

  template <class Value>
  void read_blocks(Image& image) {
    const bool tiled = ::TIFFIsTiled(tiff_.get()) != 0;
    const std::int64_t tall =
        tiled ? field<std::uint32_t>(TIFFTAG_TILELENGTH)
              : std::min<std::int64_t>(field<std::uint32_t>(TIFFTAG_ROWSPERSTRIP), image.height);
    const std::int64_t wide = tiled ? field<std::uint32_t>(TIFFTAG_TILEWIDTH) : image.width;
    const tmsize_t bytes = tiled ? ::TIFFTileSize(tiff_.get()) : ::TIFFStripSize(tiff_.get());
    const tmsize_t row = tiled ? ::TIFFTileRowSize(tiff_.get()) : ::TIFFScanlineSize(tiff_.get());
    const std::int64_t planes = planar_ == PLANARCONFIG_SEPARATE ? samples_ : 1;
    const std::int64_t interleaved = samples_ / planes;
    const std::int64_t row_values = wide * interleaved;
    const bool fits = tall > 0 && wide > 0 && bytes > 0 && bytes <= kMaxTiffBlock &&
                      row >= (row_values * bits_ + 7) / 8 && bytes / row >= tall;
    if (!fits) fail("its strips or tiles have no possible size");
    std::vector<std::uint8_t> block(static_cast<std::size_t>(bytes));
    for (std::int64_t plane = 0; plane < planes; ++plane) {
      for (std::int64_t top = 0; top < image.height; top += tall) {
        for (std::int64_t left = 0; left < image.width; left += wide) {
          read_block(tiled, top, left, plane, block);
          const std::int64_t rows = std::min(tall, image.height - top);
          const std::int64_t columns = std::min(wide, image.width - left);
          for (std::int64_t y = 0; y < rows; ++y) {
            const std::uint8_t* from = block.data() + y * row;
            Value* to = image.values<Value>().data() +
                        ((top + y) * image.width + left) * image.channels + plane;
            copy_row(from, columns * interleaved, planes > 1 ? image.channels : 1, to);
          }
        }
      }
    }
  }

  void read_block(bool tiled, std::int64_t top, std::int64_t left, std::int64_t plane,
                  std::vector<std::uint8_t>& block) {
    const auto y = static_cast<std::uint32_t>(top), x = static_cast<std::uint32_t>(left);
    const auto sample = static_cast<std::uint16_t>(plane);
    const auto bytes = static_cast<tmsize_t>(block.size());
    const tmsize_t read =
        tiled ? ::TIFFReadEncodedTile(tiff_.get(), ::TIFFComputeTile(tiff_.get(), x, y, 0, sample),
                                      block.data(), bytes)
              : ::TIFFReadEncodedStrip(tiff_.get(), ::TIFFComputeStrip(tiff_.get(), y, sample),
                                       block.data(), bytes);
    if (read < 0) fail("its pixels cannot be read");
  }

  template <class Value>
  void copy_row(const std::uint8_t* from, std::int64_t count, std::int64_t stride,
                Value* to) const {
    for (std::int64_t i = 0; i < count; ++i) {
      if (bits_ == 1) {
        to[i * stride] = static_cast<Value>((from[i / 8] >> (7 - i % 8) & 1) * 255);
      } else {
        std::memcpy(to + i * stride, from + i * static_cast<std::int64_t>(sizeof(Value)),
                    sizeof(Value));
      }
    }
  }

  Image coloured_by_palette(const Image& stored) const {
    std::uint16_t *red = nullptr, *green = nullptr, *blue = nullptr;
    if (::TIFFGetField(tiff_.get(), TIFFTAG_COLORMAP, &red, &green, &blue) == 0)
      fail("its palette is missing");
    Image coloured{stored.height, stored.width, 3, {}};
    for (const std::uint8_t index : stored.pixels) {
      for (const std::uint16_t* map : {red, green, blue})
        coloured.pixels.push_back(static_cast<std::uint8_t>(map[index] >> 8));
    }
    return coloured;
  }

  struct Close {
    void operator()(TIFF* tiff) const { ::TIFFClose(tiff); }
  };

  std::string name_;
  TiffMemory memory_;
  std::unique_ptr<TIFF, Close> tiff_;
  TiffHeader header_;
  std::uint16_t bits_ = 0, samples_ = 0, planar_ = 0, photometric_ = 0;
};

}  // namespace

TiffHeader tiff_header(TiffBytes file, std::string_view name, bool one_page) {
  return TiffReader(file, name, one_page).header();
}

Image decode_tiff(TiffBytes file, std::string_view name, bool indices) {
  return TiffReader(file, name).decode(indices);
}

std::vector<Image> decode_tiff_pages(TiffBytes file, std::string_view name, std::int64_t pages) {
  return TiffReader(file, name, false).decode_pages(pages);
}

}  // namespace fovea::data
