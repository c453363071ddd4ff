#include <medley/report/tensorboard.h>

#include <protozero/pbf_builder.hpp>

#include <algorithm>
#include <array>
#include <boost/crc.hpp>
#include <cerrno>
#include <chrono>
#include <string>
#include <system_error>
#include <utility>

#include <medley/base/durable_file.h>
#include <medley/base/error.h>
#include <medley/base/input_file.h>

namespace medley {
namespace {

namespace fs = std::filesystem;

// The messages of TensorFlow's event.proto and summary.proto: their numbers, of the fields that are written.
enum class EventField : protozero::pbf_tag_type { kWallTime = 1, kStep = 2, kFileVersion = 3, kSummary = 5 };
enum class SummaryField : protozero::pbf_tag_type { kValue = 1 };
enum class ValueField : protozero::pbf_tag_type { kTag = 1, kSimpleValue = 2, kImage = 4 };
enum class ImageField : protozero::pbf_tag_type { kHeight = 1, kWidth = 2, kColorspace = 3, kEncoded = 4 };
constexpr std::int32_t kRgb = 3;
constexpr const char* kFileVersion = "brain.Event:2";

// A record is its length (8 bytes), the length's checksum (4), the bytes and their checksum (4); numbers are
// little-endian. This is TensorFlow's TFRecord.
constexpr std::int64_t kHeaderBytes = 12;
constexpr std::int64_t kFooterBytes = 4;

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

std::uint64_t FromLittleEndian(std::string_view bytes) {
  std::uint64_t value = 0;
  for (std::size_t i = bytes.size(); i-- > 0;) value = value << 8 | static_cast<unsigned char>(bytes[i]);
  return value;
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
    return path.string() + " is missing: what TensorBoard shows begins anew";
  }
  const std::string problem = ResumeProblem(path, keep_bytes);
  if (problem.empty()) return "";
  const fs::path aside = SetAside(path);
  return path.string() + " " + problem + ": what TensorBoard shows begins anew, the old file is now " +
         aside.filename().string();
}

using EventBuilder = protozero::pbf_builder<EventField>;
using SummaryBuilder = protozero::pbf_builder<SummaryField>;
using ValueBuilder = protozero::pbf_builder<ValueField>;
using ImageBuilder = protozero::pbf_builder<ImageField>;

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

constexpr double kMiB = 1 << 20;

// What the plan allows the step's draws; 0 where nothing was planned.
std::int64_t PlannedBytes(const StepRecord& record) {
  std::int64_t most = 0;
  for (const DrawReceipt& draw : record.receipts) most = std::max(most, draw.predicted + draw.margin);
  return most;
}

}  // namespace

EventFile::EventFile(fs::path path, std::int64_t keep_bytes)
    : trouble_(MakeReady(path, keep_bytes)), file_(std::move(path), trouble_.empty() ? keep_bytes : 0) {
  if (offset() > 0) return;
  SyncDirectory(DirectoryOf(file_.path()));  // Sync does not see to the file's name
  std::string version;
  Begin(version).add_string(EventField::kFileVersion, kFileVersion);
  Append(version);
}

void EventFile::Scalar(std::string_view tag, std::int64_t step, double number) {
  Append(ValueEvent(tag, step, [number](ValueBuilder& value) {
    value.add_float(ValueField::kSimpleValue, static_cast<float>(number));
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

TensorBoard::TensorBoard(const std::filesystem::path& directory, const LogMarks& marks, Console& console)
    : file_(directory / kTensorBoardLog, MarkOf(marks, kTensorBoardLog).bytes),
      watch_(console, "TensorBoard does not show the newest steps"),
      durable_(file_.log().mark()) {
  if (!file_.trouble().empty()) console.Warn(file_.trouble());
}

void TensorBoard::Take(const StepRecord& record) {
  const auto add = [&](const std::string& tag, double value) { file_.Scalar(tag, record.step, value); };
  for (const auto& [task, terms] : record.losses) {
    if (const auto total = TotalLoss(terms)) add("loss/" + task, *total);
    for (const auto& [name, term] : terms) {
      if (const auto mean = term.mean()) add("loss/" + task + "/" + name, *mean);
    }
  }
  for (const auto& [task, share] : record.delivered) add("share/" + task, share);
  add("memory/now", static_cast<double>(record.memory_now) / kMiB);
  add("memory/peak", static_cast<double>(record.memory_peak) / kMiB);
  if (const std::int64_t planned = PlannedBytes(record); planned > 0)
    add("memory/planned", static_cast<double>(planned) / kMiB);
  if (record.seconds > 0) add("speed/rows_per_second", static_cast<double>(record.rows()) / record.seconds);
  add("optimizer/learning_rate", record.learning_rate);
  add("optimizer/gradient_norm", record.gradient_norm);
  if (record.evaluation) Add(*record.evaluation, record.step);
  watch_.Look(file_.log());
}

void TensorBoard::Add(const EvaluationRecord& evaluation, std::int64_t step) {
  for (const auto& [task, score] : evaluation.tasks) {
    file_.Scalar("score/" + task, step, score.score.value);
    for (const auto& [name, figure] : score.figures)
      file_.Scalar("score/" + task + "/" + name, step, figure.value.value);
  }
  for (const auto& [task, sheet] : evaluation.sheets) file_.Image("sheet/" + task, step, sheet);
}

void TensorBoard::Take(const PlanRecord& record) {
  file_.Scalar("rows_at_once/" + record.task, record.step, static_cast<double>(record.to));
}

void TensorBoard::Take(const PhaseRecord& record) {
  const auto add = [&](const char* tag, double value) { file_.Scalar(tag, record.step, value); };
  add("phase/memory_before", static_cast<double>(record.memory.before) / kMiB);
  add("phase/memory_after", static_cast<double>(record.memory.after) / kMiB);
  add("phase/memory_peak", static_cast<double>(record.memory.peak) / kMiB);
  add("phase/memory_held", static_cast<double>(record.memory.held) / kMiB);
  add("phase/weight_copies", static_cast<double>(record.memory.copies));
  if (!record.jump) return;
  add("jump/gain", record.jump->gain);
  add("jump/taken", record.jump->taken ? 1 : 0);
  add("jump/row_forwards", static_cast<double>(record.jump->forwards));
}

void TensorBoard::Sync(LogMarks& marks) {
  try {
    file_.Sync();
    durable_ = file_.log().mark();
    watch_.Synced();
  } catch (const Error& error) {
    watch_.Failed(error.what());
  }
  marks[kTensorBoardLog] = durable_;
}

}  // namespace medley
