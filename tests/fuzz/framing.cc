#include "tests/fuzz/framing.h"

#include <algorithm>
#include <boost/crc.hpp>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include <medley/base/error.h>
#include <medley/base/json_reader.h>

namespace medley::fuzz {
namespace {

constexpr std::uint64_t kMostData = std::uint64_t{1} << 20;

using Crc32 = boost::crc_32_type;
using Crc32c = boost::crc_optimal<32, 0x1EDC6F41, 0xFFFFFFFF, 0xFFFFFFFF, true, true>;

template <typename Crc>
std::uint32_t SumOf(std::string_view bytes) {
  Crc crc;
  crc.process_bytes(bytes.data(), bytes.size());
  return crc.checksum();
}

std::uint32_t MaskedSum(std::string_view bytes) {
  const std::uint32_t crc = SumOf<Crc32c>(bytes);
  return ((crc >> 15) | (crc << 17)) + 0xa282ead8u;
}

enum class Order { kLittle, kBig };

std::size_t Place(Order order, std::size_t i, std::size_t size) {
  return order == Order::kLittle ? i : size - 1 - i;
}

std::uint64_t Number(std::string_view bytes, Order order) {
  std::uint64_t value = 0;
  for (std::size_t i = bytes.size(); i-- > 0;)
    value = value << 8 | static_cast<unsigned char>(bytes[Place(order, i, bytes.size())]);
  return value;
}

void Put(std::string& bytes, std::size_t at, std::size_t size, std::uint64_t value, Order order) {
  for (std::size_t i = 0; i < size; ++i)
    bytes[at + Place(order, i, size)] = static_cast<char>(value >> (8 * i));
}

// A length that is larger than the room becomes another one.
std::size_t Fitting(std::uint64_t length, std::size_t room) {
  return static_cast<std::size_t>(length <= room ? length : length % (room + 1));
}

}  // namespace

std::string WithRecordSums(std::string bytes) {
  constexpr std::size_t kHeader = 12, kFooter = 4;
  for (std::size_t at = 0; bytes.size() - at >= kHeader + kFooter;) {
    const std::string_view all = bytes;
    const std::size_t length =
        Fitting(Number(all.substr(at, 8), Order::kLittle), bytes.size() - at - kHeader - kFooter);
    Put(bytes, at, 8, length, Order::kLittle);
    Put(bytes, at + 8, 4, MaskedSum(all.substr(at, 8)), Order::kLittle);
    Put(bytes, at + kHeader + length, 4, MaskedSum(all.substr(at + kHeader, length)), Order::kLittle);
    at += kHeader + length + kFooter;
  }
  return bytes;
}

std::string WithChunkSums(std::string bytes) {
  constexpr std::size_t kSignature = 8, kHeader = 8, kFooter = 4;
  for (std::size_t at = kSignature; at + kHeader + kFooter <= bytes.size();) {
    const std::string_view all = bytes;
    const std::size_t length =
        Fitting(Number(all.substr(at, 4), Order::kBig), bytes.size() - at - kHeader - kFooter);
    Put(bytes, at, 4, length, Order::kBig);
    Put(bytes, at + kHeader + length, 4, SumOf<Crc32>(all.substr(at + 4, 4 + length)), Order::kBig);
    at += kHeader + length + kFooter;
  }
  return bytes;
}

std::string AsSafetensors(const std::string& header) {
  std::uint64_t data = 0;
  try {
    for (const auto& tensor : ReadJson<nlohmann::json>(header, "header")) {
      const auto end = nlohmann::json::json_pointer("/data_offsets/1");
      if (tensor.contains(end) && tensor.at(end).is_number_unsigned())
        data = std::max(data, tensor.at(end).get<std::uint64_t>());
    }
  } catch (const Error&) {  // no header names any
  }
  std::string bytes(8, '\0');
  Put(bytes, 0, 8, header.size(), Order::kLittle);
  bytes += header;
  for (std::uint64_t i = std::min(data, kMostData); i > 0; --i) bytes += static_cast<char>(i % 2);
  return bytes;
}

}  // namespace medley::fuzz
