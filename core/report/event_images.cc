#include <medley/report/event_images.h>

#include <algorithm>
#include <optional>
#include <protozero/exception.hpp>
#include <protozero/pbf_message.hpp>

#include <medley/base/durable_file.h>
#include <medley/base/input_file.h>
#include <medley/base/work_progress.h>
#include <medley/report/event_record.h>

namespace medley {
namespace {

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

// What a value of a summary says.
void TakeValue(protozero::pbf_message<ValueField> value, protozero::data_view& tag,
               protozero::data_view& png) {
  while (value.next()) {
    if (value.tag() == ValueField::kTag) {
      tag = value.get_view();
    } else if (value.tag() == ValueField::kImage) {
      protozero::pbf_message<ImageField> image = value.get_message();
      if (image.next(ImageField::kEncoded)) png = image.get_view();
    } else {
      value.skip();
    }
  }
}

// `at`: of the record in the file. Nothing where it has none, or one of another tag.
std::optional<EventImage> ImageIn(std::string_view record, std::int64_t at, std::string_view prefix) {
  EventImage image;
  protozero::data_view png, tag;
  protozero::pbf_message<EventField> event(record.data(), record.size());
  while (event.next()) {
    if (event.tag() == EventField::kStep) {
      image.step = event.get_int64();
    } else if (event.tag() == EventField::kSummary) {
      protozero::pbf_message<SummaryField> summary = event.get_message();
      if (summary.next(SummaryField::kValue)) TakeValue(summary.get_message(), tag, png);
    } else {
      event.skip();
    }
  }
  image.tag = std::string(tag.data(), tag.size());
  if (png.empty() || !image.tag.starts_with(prefix)) return std::nullopt;
  image.at = at + (png.data() - record.data());
  image.bytes = static_cast<std::int64_t>(png.size());
  return image;
}

}  // namespace

std::vector<EventImage> FindEventImages(const std::filesystem::path& path, std::string_view prefix) {
  std::vector<EventImage> images;
  if (TypeOf(path) != std::filesystem::file_type::regular) return images;
  const InputFile file(path);
  const std::int64_t size = file.size();
  Window window(file);
  ReadingProgress progress(path);
  try {
    for (std::int64_t at = 0; size - at >= kHeaderBytes + kFooterBytes;) {
      const std::string_view header = window.Bytes(at, kHeaderBytes);
      if (std::ssize(header) < kHeaderBytes) break;
      const std::uint64_t length = FromLittleEndian(header.substr(0, kLengthBytes));
      if (length >
          static_cast<std::uint64_t>(std::min(kLargestRecord, size - at - kHeaderBytes - kFooterBytes)))
        break;
      const std::string_view record = window.Bytes(at + kHeaderBytes, static_cast<std::int64_t>(length));
      if (record.size() < length) break;
      if (auto image = ImageIn(record, at + kHeaderBytes, prefix)) images.push_back(std::move(*image));
      const std::int64_t whole = kHeaderBytes + static_cast<std::int64_t>(length) + kFooterBytes;
      progress.Read(static_cast<std::size_t>(whole));
      at += whole;
    }
  } catch (const protozero::exception&) {  // damaged from here on
  }
  return images;
}

}  // namespace medley
