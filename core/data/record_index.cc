#include <medley/data/record_index.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <list>
#include <mutex>
#include <optional>
#include <system_error>
#include <type_traits>
#include <unordered_map>
#include <utility>

#include <medley/base/durable_file.h>
#include <medley/base/error.h>
#include <medley/base/file_digest.h>
#include <medley/base/files.h>
#include <medley/base/user_directories.h>

#include "record_scanner.h"

namespace medley {
namespace {

namespace fs = std::filesystem;

// What a cached index begins with; numbers in the machine's order, as nobody else reads it.
struct Header {
  char magic[8] = {'m', 'd', 'l', 'y', 'r', 'e', 'c', '2'};
  std::uint32_t format = 0, header_bytes = sizeof(Header);
  std::int64_t file_bytes = 0, modified_ns = 0, changed_ns = 0, numbers = 0;
  char sum[32] = {};  // of the numbers behind it
};
static_assert(std::is_trivially_copyable_v<Header>);

Header HeaderOf(const InputFile& file, RecordIndex::Format format, std::span<const std::uint64_t> numbers) {
  Header header{.format = static_cast<std::uint32_t>(format),
                .file_bytes = file.size(),
                .modified_ns = file.modified_ns(),
                .changed_ns = file.changed_ns(),
                .numbers = std::ssize(numbers)};
  RunningSum sum;
  sum.Add(numbers.data(), numbers.size_bytes());
  sum.Hex().copy(header.sum, sizeof header.sum);
  return header;
}

// One for each file, format and check; nullopt where the user has no cache.
std::optional<fs::path> CachedIndex(const fs::path& file, RecordIndex::Format format,
                                    const std::string& check) {
  const std::optional<fs::path> cache = UserDirectory(UserFiles::kCache);
  if (!cache) return std::nullopt;
  const std::string key =
      fs::canonical(file).string() + '\n' + std::to_string(static_cast<int>(format)) + '\n' + check;
  return *cache / "records" / (HashText(key) + ".index");
}

const fs::path& Readable(const fs::path& file) {
  if (const std::string problem = FileProblem(file); !problem.empty()) throw InputError(problem);
  return file;
}

std::int64_t LineAt(const InputFile& file, std::uint64_t begin) {
  const auto end = static_cast<std::int64_t>(begin);
  std::string piece(static_cast<std::size_t>(std::min<std::int64_t>(kScanPiece, end)), '\0');
  std::int64_t line = 1;
  for (std::int64_t offset = 0; offset < end;) {
    const auto wanted = static_cast<std::size_t>(std::min<std::int64_t>(kScanPiece, end - offset));
    const std::size_t got = file.Read(offset, piece.data(), wanted);
    line += std::count(piece.begin(), piece.begin() + static_cast<std::ptrdiff_t>(got), '\n');
    if (got < wanted) break;
    offset += static_cast<std::int64_t>(got);
  }
  return line;
}

}  // namespace

RecordIndex::RecordIndex(const fs::path& file, Format format, const RecordCheck& check)
    : path_(file), format_(format), file_(Readable(file)) {
  const std::optional<fs::path> cached =
      file_.size() < kLeastKept ? std::nullopt : CachedIndex(file, format, check.name);
  if (cached && Load(*cached)) return;
  FoundRecords found = FindRecords(file_, path_, format_, check);
  scanned_ = std::move(found.begins);
  scanned_.insert(scanned_.end(), found.hashes.begin(), found.hashes.end());
  Show(scanned_);
  if (cached) Save(*cached);
}

namespace {

// By what it was opened as, the last one first.
class OpenIndexes {
 public:
  using Index = std::shared_ptr<const RecordIndex>;

  Index Find(const std::string& key) {
    const std::scoped_lock lock(mutex_);
    const auto found = by_key_.find(key);
    if (found == by_key_.end()) return nullptr;
    order_.splice(order_.begin(), order_, found->second);
    return found->second->second;
  }
  void Keep(const std::string& key, Index index) {
    const std::scoped_lock lock(mutex_);
    if (const auto found = by_key_.find(key); found != by_key_.end()) order_.erase(found->second);
    order_.emplace_front(key, std::move(index));
    by_key_[key] = order_.begin();
    if (order_.size() <= RecordIndex::kMostOpen) return;
    by_key_.erase(order_.back().first);
    order_.pop_back();
  }

 private:
  std::mutex mutex_;
  std::list<std::pair<std::string, Index>> order_;
  std::unordered_map<std::string, std::list<std::pair<std::string, Index>>::iterator> by_key_;
};

}  // namespace

// Of two threads that open one at the same time both read it.
std::shared_ptr<const RecordIndex> RecordIndex::Open(const fs::path& file, Format format,
                                                     const RecordCheck& check) {
  static auto& open = *new OpenIndexes;  // data threads may outlive statics
  std::string key = file.string();
  key += '\n' + std::to_string(static_cast<int>(format)) + '\n' + check.name;
  struct stat now {};
  if (auto known = open.Find(key); known && ::stat(file.c_str(), &now) == 0 && known->file_.Is(now))
    return known;
  auto index = std::make_shared<const RecordIndex>(file, format, check);
  open.Keep(key, index);
  return index;
}

RecordIndex::RecordIndex(const fs::path& file, Format format) : RecordIndex(file, format, RecordCheck()) {}

void RecordIndex::Show(std::span<const std::uint64_t> numbers) {
  const std::size_t records = numbers.size() / 2;  // one begin more, which is an end
  begins_ = numbers.first(numbers.size() - records);
  hashes_ = numbers.last(records);
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
  const std::span stored(reinterpret_cast<const std::uint64_t*>(mapped->data() + sizeof(Header)),
                         static_cast<std::size_t>(numbers) / sizeof(std::uint64_t));
  const Header expected = HeaderOf(file_, format_, stored);
  if (stored.size() % 2 == 0 || std::memcmp(mapped->data(), &expected, sizeof expected) != 0) return false;
  Show(stored);
  mapped_ = std::move(mapped);
  return true;
}

// Without room for it the file is read through at the next start again: no reason to stop.
void RecordIndex::Save(const fs::path& cached) const {
  try {
    CreateDirectories(cached.parent_path());
    ReplaceFile(cached, [&](NewFile& file) {
      const Header header = HeaderOf(file_, format_, scanned_);
      file.Write(&header, sizeof header);
      file.Write(scanned_.data(), scanned_.size() * sizeof scanned_[0]);
    });
  } catch (const std::exception& error) {
    std::fprintf(stderr, "the records of %s are looked for again at the next start: %s\n",
                 DisplayPath(path_).c_str(), error.what());
  }
}

std::string RecordIndex::Read(std::int64_t record) const {
  const auto at = static_cast<std::size_t>(record);
  // No record is longer; behind it may stand any number of blanks.
  std::string text(std::min<std::uint64_t>(begins_[at + 1] - begins_[at], kMostRecordBytes), '\0');
  if (file_.Read(static_cast<std::int64_t>(begins_[at]), text.data(), text.size()) < text.size())
    throw InputError(DisplayPath(path_) + " became shorter while it was in use");
  return std::string(RecordText(text, format_, begins_[at] == 0));
}

std::int64_t RecordIndex::LineOf(std::int64_t record) const { return LineAt(file_, BeginOf(record)); }

std::string RecordIndex::PlaceOf(std::int64_t record) const {
  return DisplayPath(path_) + ":" + std::to_string(LineOf(record));
}

std::string RecordPlace(const fs::path& file, std::uint64_t begin) {
  return DisplayPath(file) + ":" + std::to_string(LineAt(InputFile(file), begin));
}

}  // namespace medley
