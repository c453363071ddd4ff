#include <medley/report/event_file.h>

#include <protozero/pbf_builder.hpp>

#include <algorithm>
#include <array>
#include <boost/crc.hpp>
#include <chrono>
#include <system_error>
#include <utility>

#include <medley/base/durable_file.h>
#include <medley/base/input_file.h>
#include <medley/base/printable.h>
#include <medley/report/event_record.h>

namespace medley {
namespace {

namespace fs = std::filesystem;

// What only a writer needs.
enum class MetadataField : protozero::pbf_tag_type { kPlugin = 1, kDescription = 3 };
enum class PluginField : protozero::pbf_tag_type { kName = 1 };
enum class TensorField : protozero::pbf_tag_type { kType = 1, kShape = 2, kStrings = 8 };
constexpr std::int32_t kRgb = 3, kStringType = 7;
// Of layout.proto of TensorBoard's page of custom scalars, and where it looks for one.
enum class LayoutField : protozero::pbf_tag_type { kCategory = 2 };
enum class CategoryField : protozero::pbf_tag_type { kTitle = 1, kChart = 2, kClosed = 3 };
enum class ChartField : protozero::pbf_tag_type { kTitle = 1, kLines = 2 };
enum class LinesField : protozero::pbf_tag_type { kTag = 1 };
constexpr const char *kLayoutTag = "custom_scalars__config__", *kLayoutPlugin = "custom_scalars";
constexpr const char* kFileVersion = "brain.Event:2";

// CRC-32C, rotated and shifted as the format wants it: of bytes that hold checksums themselves a plain one
// says little.
class MaskedCrc {
 public:
  void Add(std::string_view bytes) { crc_.process_bytes(bytes.data(), bytes.size()); }
  std::uint32_t Value() const {
    const std::uint32_t crc = crc_.checksum();
    return ((crc >> 15) | (crc << 17)) + 0xa282ead8u;
  }

 private:
  boost::crc_optimal<32, 0x1EDC6F41, 0xFFFFFFFF, 0xFFFFFFFF, true, true> crc_;
};

std::uint32_t CrcOf(std::string_view bytes) {
  MaskedCrc crc;
  crc.Add(bytes);
  return crc.Value();
}

std::string LittleEndian(std::uint64_t value, int bytes) {
  std::string text;
  for (int i = 0; i < bytes; ++i) text += static_cast<char>(value >> (8 * i));
  return text;
}

// In pieces: a record may be as long as the file.
bool PayloadIsWhole(const InputFile& file, std::int64_t at, std::uint64_t length) {
  std::array<char, 1 << 16> piece;
  MaskedCrc crc;
  for (const std::int64_t end = at + static_cast<std::int64_t>(length); at < end;) {
    const auto size = std::min(static_cast<std::size_t>(end - at), piece.size());
    if (file.Read(at, piece.data(), size) < size) return false;
    crc.Add({piece.data(), size});
    at += static_cast<std::int64_t>(size);
  }
  if (file.Read(at, piece.data(), kFooterBytes) < kFooterBytes) return false;
  return FromLittleEndian({piece.data(), kFooterBytes}) == crc.Value();
}

// Why the first `bytes` of a file are no whole records; "" where they are.
std::string RecordProblem(const fs::path& path, std::int64_t bytes) {
  const InputFile file(path, InputFile::Links::kRefuse);
  for (std::int64_t at = 0; at < bytes;) {
    const auto damage = [&](const std::string& how) {
      return "has at byte " + std::to_string(at) + " a record " + how;
    };
    const std::int64_t room = bytes - at - kHeaderBytes - kFooterBytes;
    if (room < 0) return damage("that is cut off");
    std::array<char, kHeaderBytes> header;
    if (file.Read(at, header.data(), header.size()) < header.size())
      return "became shorter while it was read";
    const std::string_view size(header.data(), 8), checksum(header.data() + 8, 4);
    if (FromLittleEndian(checksum) != CrcOf(size)) return damage("whose length has a wrong checksum");
    const std::uint64_t length = FromLittleEndian(size);
    if (length > static_cast<std::uint64_t>(room)) {
      return damage("of " + std::to_string(length) + " bytes, where " + std::to_string(room) + " are left");
    }
    if (!PayloadIsWhole(file, at + kHeaderBytes, length)) return damage("with a wrong checksum");
    at += kHeaderBytes + static_cast<std::int64_t>(length) + kFooterBytes;
  }
  return "";
}

// Why what lies there is not the file of the checkpoint; "" where it is.
std::string ResumeProblem(const fs::path& path, std::int64_t keep_bytes) {
  const std::string problem = MarkProblem(path, {.bytes = keep_bytes});
  return problem.empty() ? RecordProblem(path, keep_bytes) : problem;
}

fs::path DirectoryOf(const fs::path& path) {
  return path.has_parent_path() ? path.parent_path() : fs::path(".");
}

// Renames to the first free name beside it, which TensorBoard passes over, and returns that.
fs::path SetAside(const fs::path& path) {
  constexpr std::string_view kRead = "tfevents";
  std::string name = path.filename();
  for (auto at = name.find(kRead); at != std::string::npos; at = name.find(kRead))
    name.replace(at, kRead.size(), "events");
  return RenameAside(path, name);
}

// Makes the directory, and sees to it that at `path` there is a file to go on with, or none. Returns the
// trouble.
std::string MakeReady(const fs::path& path, std::int64_t keep_bytes) {
  std::error_code error;
  fs::create_directories(DirectoryOf(path), error);
  if (error) ThrowFileError("create the directory", DirectoryOf(path), error.value());
  const fs::file_type found = TypeOf(path);
  if (found == fs::file_type::not_found) {
    if (keep_bytes == 0) return "";
    return Printable(path) + " is missing: what TensorBoard shows begins anew";
  }
  const std::string problem = ResumeProblem(path, keep_bytes);
  if (problem.empty()) return "";
  const fs::path aside = SetAside(path);
  return Printable(path) + " " + problem + ": what TensorBoard shows begins anew, the old file is now " +
         aside.filename().string();
}

using EventBuilder = protozero::pbf_builder<EventField>;
using SummaryBuilder = protozero::pbf_builder<SummaryField>;
using ValueBuilder = protozero::pbf_builder<ValueField>;
using ImageBuilder = protozero::pbf_builder<ImageField>;
using MetadataBuilder = protozero::pbf_builder<MetadataField>;

// An event of now, without its contents.
EventBuilder Begin(std::string& bytes) {
  const std::chrono::duration<double> now = std::chrono::system_clock::now().time_since_epoch();
  EventBuilder event(bytes);
  event.add_double(EventField::kWallTime, now.count());
  return event;
}

// An event whose one value `add` fills.
template <typename Add>
std::string ValueEvent(std::string_view tag, std::int64_t step, const Add& add) {
  std::string bytes;
  {  // the builders' ends write the lengths
    EventBuilder event = Begin(bytes);
    event.add_int64(EventField::kStep, step);
    SummaryBuilder summary(event, EventField::kSummary);
    ValueBuilder value(summary, SummaryField::kValue);
    value.add_string(ValueField::kTag, tag.data(), tag.size());
    add(value);
  }
  return bytes;
}

}  // namespace

EventFile::EventFile(fs::path path, std::int64_t keep_bytes)
    : trouble_(MakeReady(path, keep_bytes)),
      file_(std::move(path), trouble_.empty() ? keep_bytes : 0),
      is_new_(offset() == 0) {
  if (!is_new_) return;
  SyncDirectory(DirectoryOf(file_.path()));  // Sync does not see to the file's name
  std::string version;
  Begin(version).add_string(EventField::kFileVersion, kFileVersion);
  Append(version);
}

void EventFile::Scalar(std::string_view tag, std::int64_t step, double number, std::string_view help) {
  const bool is_new = !help.empty() && described_.emplace(tag).second;
  Append(ValueEvent(tag, step, [&](ValueBuilder& value) {
    value.add_float(ValueField::kSimpleValue, static_cast<float>(number));
    if (!is_new) return;
    MetadataBuilder metadata(value, ValueField::kMetadata);
    metadata.add_string(MetadataField::kDescription, help.data(), help.size());
  }));
}

void EventFile::Layout(const std::vector<ChartCategory>& categories) {
  std::string layout;
  protozero::pbf_builder<LayoutField> builder(layout);
  for (const ChartCategory& category : categories) {
    protozero::pbf_builder<CategoryField> added(builder, LayoutField::kCategory);
    added.add_string(CategoryField::kTitle, category.title);
    for (const ChartCategory::Chart& chart : category.charts) {
      protozero::pbf_builder<ChartField> drawn(added, CategoryField::kChart);
      drawn.add_string(ChartField::kTitle, chart.title);
      protozero::pbf_builder<LinesField> lines(drawn, ChartField::kLines);
      lines.add_string(LinesField::kTag, chart.tags);
    }
    added.add_bool(CategoryField::kClosed, category.is_closed);
  }
  Append(ValueEvent(kLayoutTag, 0, [&](ValueBuilder& value) {
    {
      MetadataBuilder metadata(value, ValueField::kMetadata);
      protozero::pbf_builder<PluginField> plugin(metadata, MetadataField::kPlugin);
      plugin.add_string(PluginField::kName, kLayoutPlugin);
    }
    protozero::pbf_builder<TensorField> tensor(value, ValueField::kTensor);
    tensor.add_int32(TensorField::kType, kStringType);
    tensor.add_bytes(TensorField::kShape, "");  // a single one
    tensor.add_bytes(TensorField::kStrings, layout);
  }));
}

void EventFile::Image(std::string_view tag, std::int64_t step, const Picture& picture) {
  const std::string png = EncodePng(picture);
  Append(ValueEvent(tag, step, [&](ValueBuilder& value) {
    ImageBuilder image(value, ValueField::kImage);
    image.add_int32(ImageField::kHeight, static_cast<std::int32_t>(picture.height));
    image.add_int32(ImageField::kWidth, static_cast<std::int32_t>(picture.width));
    image.add_int32(ImageField::kColorspace, kRgb);
    image.add_bytes(ImageField::kEncoded, png);
  }));
}

// One call for the whole record, so that who reads along seldom sees half of one.
void EventFile::Append(std::string_view event) {
  std::string record = LittleEndian(event.size(), 8);
  record += LittleEndian(CrcOf(record), 4);
  record += event;
  record += LittleEndian(CrcOf(event), 4);
  file_.Append(record);
}

}  // namespace medley
