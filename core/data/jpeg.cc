#include <medley/data/jpeg.h>

#include <array>
#include <csetjmp>
#include <cstdio>
#include <string_view>
#include <utility>

#include <jerror.h>
#include <jpeglib.h>

#include <medley/base/error.h>
#include <medley/data/exif.h>

namespace medley {
namespace {

constexpr int kExifMarker = JPEG_APP0 + 1, kLongestMarker = 0xFFFF;
// Each is a pass over all of the picture, of bytes as few as a hostile file likes. Encoders write a dozen.
constexpr int kMostScans = 100;

class JpegDecoder {
 public:
  JpegDecoder(const std::string& bytes, const std::string& name) : bytes_(bytes), name_(name) {
    info_.err = jpeg_std_error(&errors_);
    errors_.error_exit = Leave;
    errors_.emit_message = Warn;
    info_.client_data = this;
    progress_.progress_monitor = CountScans;
  }
  ~JpegDecoder() { jpeg_destroy_decompress(&info_); }
  JpegDecoder(const JpegDecoder&) = delete;
  JpegDecoder& operator=(const JpegDecoder&) = delete;

  Picture Decode() {
    Try([this] {
      jpeg_create_decompress(&info_);
      jpeg_mem_src(&info_, reinterpret_cast<const unsigned char*>(bytes_.data()), bytes_.size());
      jpeg_save_markers(&info_, kExifMarker, kLongestMarker);
      jpeg_read_header(&info_, TRUE);
    });
    CheckHeader();
    const int orientation = ExifOrientation(Exif());  // libjpeg keeps it no longer than the picture
    Picture stored(info_.image_width, info_.image_height);
    Try([this, &stored] {
      info_.out_color_space = JCS_RGB;
      info_.progress = &progress_;
      jpeg_start_decompress(&info_);
      while (info_.output_scanline < info_.output_height) {
        JSAMPROW row = stored.pixels.data() + 3 * stored.width * info_.output_scanline;
        jpeg_read_scanlines(&info_, &row, 1);
      }
      jpeg_finish_decompress(&info_);  // reads on to the file's end
    });
    return Upright(std::move(stored), orientation);
  }

 private:
  [[noreturn]] void Refuse(const std::string& why) const {
    throw InputError(name_ + " cannot be read as a JPEG picture: " + why);
  }

  // libjpeg can be left by a jump only, past which no destructor runs: `work` has nothing to destroy.
  template <typename Work>
  void Try(const Work& work) {
    if (setjmp(failed_) != 0) Refuse(words_.data());
    work();
  }
  static void Leave(j_common_ptr info) {
    auto* decoder = static_cast<JpegDecoder*>(info->client_data);
    info->err->format_message(info, decoder->words_.data());
    std::longjmp(decoder->failed_, 1);
  }
  // For libjpeg a file that ends early is a warning, and the rest of the picture grey. These two lose
  // nothing.
  static void Warn(j_common_ptr info, int level) {
    const int code = info->err->msg_code;
    if (level < 0 && code != JWRN_EXTRANEOUS_DATA && code != JWRN_JFIF_MAJOR) Leave(info);
  }
  static void CountScans(j_common_ptr info) {
    if (reinterpret_cast<j_decompress_ptr>(info)->input_scan_number <= kMostScans) return;
    auto* decoder = static_cast<JpegDecoder*>(info->client_data);
    std::snprintf(decoder->words_.data(), decoder->words_.size(), "more than %d scans", kMostScans);
    std::longjmp(decoder->failed_, 1);
  }

  void CheckHeader() const {
    if (info_.image_width > kLargestPictureSide || info_.image_height > kLargestPictureSide)
      Refuse("larger than " + std::to_string(kLargestPictureSide) + " pixels a side");
    const J_COLOR_SPACE space = info_.jpeg_color_space;
    if (space == JCS_CMYK || space == JCS_YCCK)
      Refuse("its colours are CMYK, those of a printer; save it as RGB");
    if (space != JCS_GRAYSCALE && space != JCS_YCbCr && space != JCS_RGB)
      Refuse("its colours are neither RGB nor grey; save it as RGB");
  }

  std::string_view Exif() const {
    constexpr std::string_view kName("Exif\0\0", 6);
    for (const jpeg_marker_struct* marker = info_.marker_list; marker != nullptr; marker = marker->next) {
      const std::string_view data(reinterpret_cast<const char*>(marker->data), marker->data_length);
      if (data.starts_with(kName)) return data.substr(kName.size());
    }
    return {};
  }

  const std::string& bytes_;
  const std::string& name_;
  jpeg_decompress_struct info_{};
  jpeg_error_mgr errors_{};
  jpeg_progress_mgr progress_{};
  std::jmp_buf failed_{};
  std::array<char, JMSG_LENGTH_MAX> words_{};
};

}  // namespace

Picture DecodeJpeg(const std::string& bytes, const std::string& name) {
  return JpegDecoder(bytes, name).Decode();
}

}  // namespace medley
