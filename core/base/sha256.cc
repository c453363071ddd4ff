#include <medley/base/sha256.h>

// The calls that OpenSSL would rather see gone: those of its EVP first load all its algorithms, a millisecond
// of every short command.
#define OPENSSL_SUPPRESS_DEPRECATED
#include <openssl/sha.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <medley/base/error.h>
#include <medley/base/input_file.h>
#include <medley/base/printable.h>

namespace medley {
namespace {

class Sha256 {
 public:
  Sha256() { SHA256_Init(&context_); }

  void Add(const void* bytes, std::size_t size) { SHA256_Update(&context_, bytes, size); }
  std::string Hex() {
    std::array<unsigned char, SHA256_DIGEST_LENGTH> digest{};
    SHA256_Final(digest.data(), &context_);
    constexpr char kDigits[] = "0123456789abcdef";
    std::string hex;
    for (const unsigned char byte : digest) {
      hex += kDigits[byte >> 4];
      hex += kDigits[byte & 15];
    }
    return hex;
  }

 private:
  SHA256_CTX context_;
};

}  // namespace

std::string Sha256OfFile(const std::filesystem::path& path) {
  const InputFile file(path);
  if (!file.is_plain()) throw Error(Printable(path) + " is not a plain file");
  Sha256 sum;
  std::vector<unsigned char> piece(std::size_t{1} << 20);
  std::int64_t at = 0;
  while (const std::size_t got = file.Read(at, piece.data(), piece.size())) {
    sum.Add(piece.data(), got);
    at += static_cast<std::int64_t>(got);
  }
  return sum.Hex();
}

std::string Sha256Of(std::string_view bytes) {
  Sha256 sum;
  sum.Add(bytes.data(), bytes.size());
  return sum.Hex();
}

}  // namespace medley
