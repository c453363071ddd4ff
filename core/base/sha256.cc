#include <medley/base/sha256.h>

#include <openssl/evp.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include <medley/base/error.h>
#include <medley/base/input_file.h>
#include <medley/base/printable.h>

namespace medley {
namespace {

struct FreeContext {
  void operator()(EVP_MD_CTX* context) const { EVP_MD_CTX_free(context); }
};

void Require(int ok) {
  if (ok != 1) throw Error("libcrypto cannot compute a SHA-256; is its installation complete?");
}

class Sha256 {
 public:
  Sha256() { Require(context_ != nullptr ? EVP_DigestInit_ex(context_.get(), EVP_sha256(), nullptr) : 0); }

  void Add(const void* bytes, std::size_t size) { Require(EVP_DigestUpdate(context_.get(), bytes, size)); }
  std::string Hex() {
    std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
    unsigned int size = 0;
    Require(EVP_DigestFinal_ex(context_.get(), digest.data(), &size));
    constexpr char kDigits[] = "0123456789abcdef";
    std::string hex;
    for (unsigned int i = 0; i < size; ++i) {
      hex += kDigits[digest[i] >> 4];
      hex += kDigits[digest[i] & 15];
    }
    return hex;
  }

 private:
  std::unique_ptr<EVP_MD_CTX, FreeContext> context_{EVP_MD_CTX_new()};
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
