#include <medley/base/file_digest.h>

#include <xxhash.h>

#include <algorithm>
#include <system_error>

#include <medley/base/durable_file.h>
#include <medley/base/error.h>
#include <medley/base/files.h>
#include <medley/base/input_file.h>
#include <medley/base/printable.h>
#include <medley/base/work_progress.h>

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

template <typename Sum>
void AddAll(const std::filesystem::path& path, const InputFile& file, Sum& sum) {
  WorkProgress progress;
  const std::string words = "checking " + DisplayPath(path);
  std::vector<char> piece(static_cast<std::size_t>(std::clamp<std::int64_t>(file.size(), 1, 1 << 20)));
  std::int64_t at = 0;
  while (const std::size_t got = file.Read(at, piece.data(), piece.size())) {
    sum.Add(piece.data(), got);
    at += static_cast<std::int64_t>(got);
    progress.Say(words, static_cast<double>(at), static_cast<double>(file.size()));
  }
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
void RunningSum::Reset() { XXH3_128bits_reset(state_->hash); }

void Digester::Add(const void* data, std::size_t size) {
  const char* next = static_cast<const char*>(data);
  while (size > 0) {
    const std::size_t piece = std::min(size, static_cast<std::size_t>(kChunkBytes - in_chunk_));
    chunk_.Add(next, piece);
    next += piece;
    size -= piece;
    in_chunk_ += static_cast<std::int64_t>(piece);
    digest_.bytes += static_cast<std::int64_t>(piece);
    if (in_chunk_ == kChunkBytes) EndChunk();
  }
}

void Digester::EndChunk() {
  digest_.chunks.push_back(chunk_.Hex());
  chunk_.Reset();
  in_chunk_ = 0;
}

FileDigest Digester::Finish() {
  if (in_chunk_ > 0) EndChunk();
  return digest_;
}

std::string HashText(std::string_view text) { return Hex(XXH3_128bits(text.data(), text.size())); }

std::int64_t HashNumber(std::string_view text) {
  return static_cast<std::int64_t>(XXH3_64bits(text.data(), text.size()));
}

FileDigest DigestFile(const std::filesystem::path& path, std::int64_t expected_bytes) {
  const InputFile file(path, InputFile::Links::kRefuse);
  if (!file.is_plain()) throw Error(Printable(path) + " is not a plain file");
  if (file.size() != expected_bytes) {
    throw Error(Printable(path) + " has " + std::to_string(file.size()) + " bytes, " +
                std::to_string(expected_bytes) + " were saved");
  }
  Digester digester;
  AddAll(path, file, digester);
  return digester.Finish();
}

std::string HashFile(const std::filesystem::path& path) {
  std::error_code error;
  const std::filesystem::file_status status = std::filesystem::status(path, error);
  if (status.type() == std::filesystem::file_type::none) ThrowFileError("look at", path, error.value());
  if (!std::filesystem::is_regular_file(status)) return "";
  RunningSum sum;
  AddAll(path, InputFile(path), sum);
  return sum.Hex();
}

}  // namespace medley
