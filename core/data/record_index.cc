#include <medley/data/record_index.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <optional>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <utility>

#include <medley/base/bytes.h>
#include <medley/base/durable_file.h>
#include <medley/base/error.h>
#include <medley/base/file_digest.h>
#include <medley/base/files.h>
#include <medley/base/interrupt.h>
#include <medley/base/user_directories.h>

namespace medley {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kPiece = 4 << 20;
constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

// What a cached index begins with; numbers in the machine's order, as nobody else reads it.
struct Header {
  char magic[8] = {'m', 'd', 'l', 'y', 'r', 'e', 'c', '1'};
  std::uint32_t format = 0, header_bytes = sizeof(Header);
  std::int64_t file_bytes = 0, modified_ns = 0, changed_ns = 0, begins = 0;
  char sum[32] = {};  // of the numbers behind it
};
static_assert(std::is_trivially_copyable_v<Header>);

Header HeaderOf(const InputFile& file, RecordIndex::Format format, std::span<const std::uint64_t> begins) {
  Header header{.format = static_cast<std::uint32_t>(format),
                .file_bytes = file.size(),
                .modified_ns = file.modified_ns(),
                .changed_ns = file.changed_ns(),
                .begins = std::ssize(begins)};
  RunningSum sum;
  sum.Add(begins.data(), begins.size_bytes());
  sum.Hex().copy(header.sum, sizeof header.sum);
  return header;
}

// One for each file and format; nullopt where the user has no cache.
std::optional<fs::path> CachedIndex(const fs::path& file, RecordIndex::Format format) {
  const std::optional<fs::path> cache = UserDirectory(UserFiles::kCache);
  if (!cache) return std::nullopt;
  const std::string key = fs::canonical(file).string() + '\n' + std::to_string(static_cast<int>(format));
  return *cache / "records" / (HashText(key) + ".index");
}

// A line on stderr every few seconds; none for a file that is through in less.
class ScanProgress {
 public:
  ScanProgress(const fs::path& file, std::int64_t bytes) : file_(file), bytes_(bytes) {}

  void Say(std::int64_t done) {
    const auto now = std::chrono::steady_clock::now();
    if (now - said_ < std::chrono::seconds(3)) return;
    said_ = now;
    std::fprintf(stderr, "looking for the records of %s: %d %% of %s\n", DisplayPath(file_).c_str(),
                 static_cast<int>(100.0 * static_cast<double>(done) / static_cast<double>(bytes_)),
                 FormatBytes(bytes_).c_str());
  }

 private:
  const fs::path& file_;
  std::int64_t bytes_;
  std::chrono::steady_clock::time_point said_ = std::chrono::steady_clock::now();
};

// Finds where records begin, in pieces of any size.
class Scanner {
 public:
  explicit Scanner(RecordIndex::Format format) : quotes_(format == RecordIndex::Format::kCsv) {}

  void Add(std::string_view piece) {
    for (std::size_t at = 0; at < piece.size();) {
      if (blank_ && !in_quotes_)
        at = SkipBlanks(piece, at);
      else
        at = SkipRecord(piece, at);
    }
    offset_ += piece.size();
  }
  std::vector<std::uint64_t> Finish() {
    begins_.push_back(offset_);
    return std::move(begins_);
  }

 private:
  // Up to a record's first byte.
  std::size_t SkipBlanks(std::string_view piece, std::size_t at) {
    while (at < piece.size() && std::string_view(" \t\r\n").find(piece[at]) != std::string_view::npos) {
      if (piece[at] == '\n') line_begin_ = offset_ + at + 1;
      ++at;
    }
    if (at == piece.size()) return at;
    begins_.push_back(line_begin_);
    blank_ = false;
    return at;
  }
  // Behind the end of its line.
  std::size_t SkipRecord(std::string_view piece, std::size_t at) {
    while (at < piece.size()) {
      const std::size_t end = quotes_ ? piece.find_first_of("\"\n", at) : piece.find('\n', at);
      if (end == std::string_view::npos) return piece.size();
      at = end + 1;
      if (piece[end] == '"') in_quotes_ = !in_quotes_;
      if (piece[end] == '"' || in_quotes_) continue;
      blank_ = true;
      line_begin_ = offset_ + at;
      return at;
    }
    return at;
  }

  bool quotes_, in_quotes_ = false, blank_ = true;
  std::uint64_t offset_ = 0, line_begin_ = 0;
  std::vector<std::uint64_t> begins_;
};

// Where the record's line ends; behind it are blank lines.
std::size_t LineEnd(std::string_view text, RecordIndex::Format format) {
  bool in_quotes = false;
  std::size_t end = 0;
  for (; end < text.size() && (text[end] != '\n' || in_quotes); ++end) {
    if (text[end] == '"' && format == RecordIndex::Format::kCsv) in_quotes = !in_quotes;
  }
  return end > 0 && text[end - 1] == '\r' ? end - 1 : end;
}

const fs::path& Readable(const fs::path& file) {
  if (const std::string problem = FileProblem(file); !problem.empty()) throw InputError(problem);
  return file;
}

}  // namespace

RecordIndex::RecordIndex(const fs::path& file, Format format)
    : path_(file), format_(format), file_(Readable(file)) {
  const std::optional<fs::path> cached = CachedIndex(file, format);
  if (cached && Load(*cached)) return;
  Scan();
  if (cached) Save(*cached);
}

// What is not an index of just this file is made again, whatever the reason.
bool RecordIndex::Load(const fs::path& cached) {
  std::error_code ignored;
  if (!fs::is_regular_file(cached, ignored)) return false;
  std::unique_ptr<MappedFile> mapped;
  try {
    mapped = std::make_unique<MappedFile>(cached);
  } catch (const InputError&) {
    return false;
  }
  const auto numbers = mapped->size() - static_cast<std::int64_t>(sizeof(Header));
  if (numbers < static_cast<std::int64_t>(sizeof(std::uint64_t))) return false;
  const std::span begins(reinterpret_cast<const std::uint64_t*>(mapped->data() + sizeof(Header)),
                         static_cast<std::size_t>(numbers) / sizeof(std::uint64_t));
  const Header expected = HeaderOf(file_, format_, begins);
  if (std::memcmp(mapped->data(), &expected, sizeof expected) != 0) return false;
  begins_ = begins;
  mapped_ = std::move(mapped);
  return true;
}

// Without room for it the file is read through at the next start again: no reason to stop.
void RecordIndex::Save(const fs::path& cached) const {
  try {
    fs::create_directories(cached.parent_path());
    ReplaceFile(cached, [&](NewFile& file) {
      const Header header = HeaderOf(file_, format_, begins_);
      file.Write(&header, sizeof header);
      file.Write(begins_.data(), begins_.size_bytes());
    });
  } catch (const std::exception& error) {
    std::fprintf(stderr, "the records of %s are looked for again at the next start: %s\n",
                 DisplayPath(path_).c_str(), error.what());
  }
}

void RecordIndex::Scan() {
  ScanProgress progress(path_, file_.size());
  Scanner scanner(format_);
  std::string piece(kPiece, '\0');
  for (std::int64_t offset = 0;;) {
    HeedInterrupt();
    const std::size_t got = file_.Read(offset, piece.data(), piece.size());
    scanner.Add(std::string_view(piece).substr(0, got));
    offset += static_cast<std::int64_t>(got);
    if (got < piece.size()) break;
    progress.Say(offset);
  }
  scanned_ = scanner.Finish();
  begins_ = scanned_;
}

std::string RecordIndex::Read(std::int64_t record) const {
  const auto at = static_cast<std::size_t>(record);
  std::string text(begins_[at + 1] - begins_[at], '\0');
  if (file_.Read(static_cast<std::int64_t>(begins_[at]), text.data(), text.size()) < text.size())
    throw InputError(DisplayPath(path_) + " became shorter while it was in use");
  text.resize(LineEnd(text, format_));
  if (begins_[at] == 0 && text.starts_with(kByteOrderMark)) text.erase(0, kByteOrderMark.size());
  return text;
}

std::int64_t RecordIndex::LineOf(std::int64_t record) const {
  const auto end = static_cast<std::int64_t>(begins_[static_cast<std::size_t>(record)]);
  std::string piece(kPiece, '\0');
  std::int64_t line = 1;
  for (std::int64_t offset = 0; offset < end;) {
    const auto wanted = static_cast<std::size_t>(std::min<std::int64_t>(kPiece, end - offset));
    const std::size_t got = file_.Read(offset, piece.data(), wanted);
    line += std::count(piece.begin(), piece.begin() + static_cast<std::ptrdiff_t>(got), '\n');
    if (got < wanted) break;
    offset += static_cast<std::int64_t>(got);
  }
  return line;
}

std::string RecordIndex::PlaceOf(std::int64_t record) const {
  return DisplayPath(path_) + ":" + std::to_string(LineOf(record));
}

}  // namespace medley
