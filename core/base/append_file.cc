#include <medley/base/append_file.h>

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <functional>
#include <utility>
#include <vector>

#include <medley/base/durable_file.h>
#include <medley/base/error.h>
#include <medley/base/printable.h>

namespace medley {
namespace {

namespace fs = std::filesystem;

using Take = std::function<void(const char*, std::size_t)>;

// The first `bytes` of an open file, in pieces; an Error where it has fewer.
void ReadFirst(int fd, std::int64_t bytes, const fs::path& path, const Take& take) {
  std::vector<char> piece(static_cast<std::size_t>(std::clamp<std::int64_t>(bytes, 1, 1 << 20)));
  for (std::int64_t at = 0; at < bytes;) {
    const auto size = std::min(piece.size(), static_cast<std::size_t>(bytes - at));
    const ssize_t got = ::pread(fd, piece.data(), size, at);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) ThrowFileError("read", path, errno);
    if (got == 0) throw Error(Printable(path) + " became shorter while it was read");
    take(piece.data(), static_cast<std::size_t>(got));
    at += got;
  }
}

// A plain file's size; < 0 where it is none.
std::int64_t SizeOf(int fd, const fs::path& path) {
  struct stat info {};
  if (::fstat(fd, &info) != 0) ThrowFileError("look at", path, errno);
  return S_ISREG(info.st_mode) ? static_cast<std::int64_t>(info.st_size) : -1;
}

std::string Shorter(std::int64_t size, std::int64_t bytes) {
  return "has " + std::to_string(size) + " bytes, but the checkpoint was saved after " +
         std::to_string(bytes);
}

}  // namespace

std::string MarkProblem(const fs::path& path, const LogMark& mark) {
  const Descriptor file(path, O_RDONLY | kPlainOnly);
  if (!file.ok() && errno == ENOENT) return mark.bytes == 0 ? "" : "is missing";
  if (!file.ok() && (errno == ELOOP || errno == ENXIO)) return "is no plain file";
  if (!file.ok()) ThrowFileError("open", path, errno);
  const std::int64_t size = SizeOf(file.get(), path);
  if (size < 0) return "is no plain file";
  if (size < mark.bytes) return Shorter(size, mark.bytes);
  if (mark.xxh3_128.empty()) return "";
  RunningSum sum;
  ReadFirst(file.get(), mark.bytes, path, [&](const char* data, std::size_t n) { sum.Add(data, n); });
  if (sum.Hex() == mark.xxh3_128) return "";
  return "was damaged: its first " + std::to_string(mark.bytes) +
         " bytes are not those that the checkpoint was saved after";
}

AppendFile::AppendFile(fs::path path, std::int64_t keep_bytes)
    : path_(std::move(path)), file_(path_, O_RDWR | O_CREAT | kPlainOnly) {
  if (!file_.ok()) ThrowFileError("open", path_, errno);
  const std::int64_t size = SizeOf(file_.get(), path_);
  if (size < 0) throw Error(Printable(path_) + " is no plain file; move it away");
  if (size < keep_bytes)
    throw Error(Printable(path_) + " " + Shorter(size, keep_bytes) + "; the log was damaged");
  ReadFirst(file_.get(), keep_bytes, path_, [&](const char* data, std::size_t n) { sum_.Add(data, n); });
  SetLength(file_.get(), keep_bytes, path_);
  SeekTo(keep_bytes);
}

AppendFile::~AppendFile() { WritePending(); }

void AppendFile::SeekTo(std::int64_t offset) {
  if (::lseek(file_.get(), offset, SEEK_SET) < 0) ThrowFileError("seek in", path_, errno);
  offset_ = offset;
}

void AppendFile::WritePending() {
  std::size_t done = 0;
  error_ = 0;
  while (done < pending_.size() && error_ == 0) {
    const ssize_t written = ::write(file_.get(), pending_.data() + done, pending_.size() - done);
    if (written > 0) done += static_cast<std::size_t>(written);
    if (written == 0) error_ = ENOSPC;
    if (written < 0 && errno != EINTR) error_ = errno;
  }
  sum_.Add(pending_.data(), done);
  offset_ += static_cast<std::int64_t>(done);
  pending_.erase(0, done);
}

void AppendFile::Append(std::string_view text) {
  pending_ += text;
  WritePending();
}

void AppendFile::Sync() {
  WritePending();
  if (error_ != 0) ThrowFileError("write", path_, error_);
  if (doubtful_) WriteAnew();
  doubtful_ = true;
  SyncFile(file_.get(), path_);
  doubtful_ = false;
}

// A failed fsync leaves pages that the kernel dropped, or calls clean: asking again proves nothing.
void AppendFile::WriteAnew() {
  ReplaceFile(path_, [&](NewFile& copy) {
    RunningSum sum;
    ReadFirst(file_.get(), offset_, path_, [&](const char* data, std::size_t size) {
      sum.Add(data, size);
      copy.Write(data, size);
    });
    if (sum.Hex() != sum_.Hex())
      throw Error(Printable(path_) + " lost bytes that were written, when it could not be synced");
  });
  Descriptor anew(path_, O_RDWR | kPlainOnly);
  if (!anew.ok()) ThrowFileError("open", path_, errno);
  file_ = std::move(anew);
  SeekTo(offset_);
}

}  // namespace medley
