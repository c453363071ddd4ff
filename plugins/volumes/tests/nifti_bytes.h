#pragma once

#include <zlib.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <type_traits>
#include <vector>

namespace medley_volumes {

// The bytes of a NIfTI-1 file as a test wants them, in either byte order.
class NiftiBytes {
 public:
  explicit NiftiBytes(const std::vector<std::int16_t>& sizes, bool is_swapped = false)
      : is_swapped_(is_swapped), bytes_(352, '\0') {
    Set<std::int32_t>(0, 348);
    Set(40, static_cast<std::int16_t>(sizes.size()));
    for (std::size_t i = 0; i < sizes.size(); ++i) Set(42 + 2 * i, sizes[i]);
    for (std::size_t i = 0; i < 8; ++i) Set(76 + 4 * i, 1.0F);
    Set(108, 352.0F);
    std::memcpy(bytes_.data() + 344, "n+1", 4);
  }

  template <typename Number>
  NiftiBytes& Set(std::size_t at, Number number) {
    std::ranges::copy(Bytes(number), bytes_.begin() + static_cast<std::ptrdiff_t>(at));
    return *this;
  }
  // Values behind all others; those of the first say the type.
  template <typename Number>
  NiftiBytes& Add(const std::vector<Number>& values) {
    Set(70, CodeOf<Number>());
    for (const Number value : values) bytes_ += Bytes(value);
    return *this;
  }
  const std::string& bytes() const { return bytes_; }
  std::string& bytes() { return bytes_; }

  template <typename Number>
  static constexpr std::int16_t CodeOf() {
    if constexpr (std::is_floating_point_v<Number>) return sizeof(Number) == 4 ? 16 : 64;
    if constexpr (std::is_signed_v<Number>)
      return sizeof(Number) == 1 ? std::int16_t{256} : static_cast<std::int16_t>(2 * sizeof(Number));
    return sizeof(Number) == 1 ? 2 : static_cast<std::int16_t>(256 * (sizeof(Number) / 2 + 1));
  }

 private:
  template <typename Number>
  std::string Bytes(Number number) const {
    std::string own(sizeof number, '\0');
    std::memcpy(own.data(), &number, sizeof number);
    if (is_swapped_) std::ranges::reverse(own);
    return own;
  }

  bool is_swapped_;
  std::string bytes_;
};

inline std::filesystem::path Write(const std::filesystem::path& file, const std::string& bytes) {
  std::ofstream(file, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  return file;
}

// As gzip has them.
inline std::string Packed(const std::string& bytes) {
  z_stream stream{};
  deflateInit2(&stream, Z_BEST_COMPRESSION, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY);
  std::string packed(deflateBound(&stream, bytes.size()), '\0');
  std::string from = bytes;
  stream.next_in = reinterpret_cast<Bytef*>(from.data());
  stream.avail_in = static_cast<uInt>(from.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  deflate(&stream, Z_FINISH);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  return packed;
}

}  // namespace medley_volumes
