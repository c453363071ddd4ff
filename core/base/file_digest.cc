#include <medley/base/file_digest.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include <algorithm>
#include <cerrno>
#include <fstream>

#include <medley/base/durable_file.h>
#include <medley/base/error.h>

namespace medley {
namespace {

std::string Hex(XXH128_hash_t hash) {
  XXH128_canonical_t bytes;
  XXH128_canonicalFromHash(&bytes, hash);
  constexpr char kDigits[] = "0123456789abcdef";
  std::string hex;
  for (const unsigned char byte : bytes.digest) {
    hex += kDigits[byte >> 4];
    hex += kDigits[byte & 15];
  }
  return hex;
}

}  // namespace

struct RunningSum::State {
  XXH3_state_t* hash = XXH3_createState();
  State() { XXH3_128bits_reset(hash); }
  ~State() { XXH3_freeState(hash); }
};

RunningSum::RunningSum() : state_(std::make_unique<State>()) {}
RunningSum::~RunningSum() = default;
void RunningSum::Add(const void* data, std::size_t size) { XXH3_128bits_update(state_->hash, data, size); }
std::string RunningSum::Hex() const { return medley::Hex(XXH3_128bits_digest(state_->hash)); }

struct Digester::State {
  XXH3_state_t* hash = XXH3_createState();
  State() { XXH3_128bits_reset(hash); }
  ~State() { XXH3_freeState(hash); }
};

Digester::Digester() : state_(std::make_unique<State>()) {}
Digester::~Digester() = default;

void Digester::Add(const void* data, std::size_t size) {
  const char* next = static_cast<const char*>(data);
  while (size > 0) {
    const std::size_t piece = std::min(size, static_cast<std::size_t>(kChunkBytes - in_chunk_));
    XXH3_128bits_update(state_->hash, next, piece);
    next += piece;
    size -= piece;
    in_chunk_ += static_cast<std::int64_t>(piece);
    digest_.bytes += static_cast<std::int64_t>(piece);
    if (in_chunk_ == kChunkBytes) EndChunk();
  }
}

void Digester::EndChunk() {
  digest_.chunks.push_back(Hex(XXH3_128bits_digest(state_->hash)));
  XXH3_128bits_reset(state_->hash);
  in_chunk_ = 0;
}

FileDigest Digester::Finish() {
  if (in_chunk_ > 0) EndChunk();
  return digest_;
}

std::string HashText(std::string_view text) { return Hex(XXH3_128bits(text.data(), text.size())); }

FileDigest DigestFile(const std::filesystem::path& path, std::int64_t expected_bytes) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (fd < 0) ThrowFileError("open", path, errno);
  const std::unique_ptr<const int, void (*)(const int*)> closer(&fd, [](const int* file) { ::close(*file); });
  struct stat info {};
  if (::fstat(fd, &info) != 0) ThrowFileError("look at", path, errno);
  if (!S_ISREG(info.st_mode)) throw Error(path.string() + " is not a plain file");
  if (info.st_size != expected_bytes) {
    throw Error(path.string() + " has " + std::to_string(info.st_size) + " bytes, " +
                std::to_string(expected_bytes) + " were saved");
  }
  Digester digester;
  std::vector<char> buffer(std::clamp<std::int64_t>(expected_bytes, 1, 1 << 20));
  while (true) {
    const ssize_t got = ::read(fd, buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) ThrowFileError("read", path, errno);
    if (got == 0) return digester.Finish();
    digester.Add(buffer.data(), static_cast<std::size_t>(got));
  }
}

std::string HashFile(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (path.empty() || !file) return "";
  const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  return HashText(text);
}

}  // namespace medley
