#include <medley/report/event_images.h>

#include <algorithm>
#include <optional>
#include <protozero/exception.hpp>
#include <protozero/pbf_reader.hpp>

#include <medley/base/durable_file.h>
#include <medley/base/input_file.h>

namespace medley {
namespace {

// See event_file.cc.
constexpr std::int64_t kRecordHeader = 12, kRecordFooter = 4, kLengthBytes = 8;
constexpr std::int64_t kLargestRecord = 64 << 20;
constexpr std::size_t kPiece = 1 << 20;

// A file in pieces, as most records are a few bytes.
class Window {
 public:
  explicit Window(const InputFile& file) : file_(file) {}
  // Bytes [at, at + bytes), which the file has; until the next call.
  std::string_view Bytes(std::int64_t at, std::int64_t bytes) {
    if (at < begin_ || at + bytes > begin_ + std::ssize(text_)) {
      text_.resize(std::max(kPiece, static_cast<std::size_t>(bytes)));
      text_.resize(file_.Read(at, text_.data(), text_.size()));
      begin_ = at;
    }
    return std::string_view(text_).substr(static_cast<std::size_t>(at - begin_),
                                          static_cast<std::size_t>(bytes));
  }

 private:
  const InputFile& file_;
  std::string text_;
  std::int64_t begin_ = 0;
};

std::uint64_t LengthIn(std::string_view header) {
  std::uint64_t length = 0;
  for (std::size_t i = kLengthBytes; i-- > 0;) length = length << 8 | static_cast<unsigned char>(header[i]);
  return length;
}

// `at`: of the record in the file. Nothing where it has none, or one of another tag.
std::optional<EventImage> ImageIn(std::string_view record, std::int64_t at, std::string_view prefix) {
  EventImage image;
  protozero::data_view found, tag;
  protozero::pbf_reader event(record.data(), record.size());
  while (event.next()) {
    if (event.tag() == 2) {
      image.step = event.get_int64();
    } else if (event.tag() == 5) {
      protozero::pbf_reader summary = event.get_message();
      if (!summary.next(1)) return std::nullopt;
      for (protozero::pbf_reader value = summary.get_message(); value.next();) {
        if (value.tag() == 1) {
          tag = value.get_view();
        } else if (value.tag() == 4) {
          for (protozero::pbf_reader picture = value.get_message(); picture.next();)
            picture.tag() == 4 ? void(found = picture.get_view()) : picture.skip();
        } else {
          value.skip();
        }
      }
    } else {
      event.skip();
    }
  }
  image.tag = std::string(tag.data(), tag.size());
  if (found.empty() || !image.tag.starts_with(prefix)) return std::nullopt;
  image.at = at + (found.data() - record.data());
  image.bytes = static_cast<std::int64_t>(found.size());
  return image;
}

}  // namespace

std::vector<EventImage> FindEventImages(const std::filesystem::path& path, std::string_view prefix) {
  std::vector<EventImage> images;
  if (TypeOf(path) != std::filesystem::file_type::regular) return images;
  const InputFile file(path);
  const std::int64_t size = file.size();
  Window window(file);
  try {
    for (std::int64_t at = 0; size - at >= kRecordHeader + kRecordFooter;) {
      const std::string_view header = window.Bytes(at, kRecordHeader);
      if (std::ssize(header) < kRecordHeader) break;
      const std::uint64_t length = LengthIn(header);
      if (length >
          static_cast<std::uint64_t>(std::min(kLargestRecord, size - at - kRecordHeader - kRecordFooter)))
        break;
      const std::string_view record = window.Bytes(at + kRecordHeader, static_cast<std::int64_t>(length));
      if (record.size() < length) break;
      if (auto image = ImageIn(record, at + kRecordHeader, prefix)) images.push_back(std::move(*image));
      at += kRecordHeader + static_cast<std::int64_t>(length) + kRecordFooter;
    }
  } catch (const protozero::exception&) {  // damaged from here on
  }
  return images;
}

}  // namespace medley
