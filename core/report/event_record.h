#pragma once

#include <cstdint>
#include <protozero/types.hpp>
#include <string_view>

namespace medley {

// What the writer and the reader of TensorBoard's files both know of them.

// The messages of TensorFlow's event.proto and summary.proto: their numbers, of the fields that are written.
enum class EventField : protozero::pbf_tag_type { kWallTime = 1, kStep = 2, kFileVersion = 3, kSummary = 5 };
enum class SummaryField : protozero::pbf_tag_type { kValue = 1 };
enum class ValueField : protozero::pbf_tag_type {
  kTag = 1,
  kSimpleValue = 2,
  kImage = 4,
  kTensor = 8,
  kMetadata = 9
};
enum class ImageField : protozero::pbf_tag_type { kHeight = 1, kWidth = 2, kColorspace = 3, kEncoded = 4 };

// A record is its length (8 bytes), the length's checksum (4), the bytes and their checksum (4); numbers are
// little-endian. This is TensorFlow's TFRecord.
inline constexpr std::int64_t kLengthBytes = 8, kHeaderBytes = 12, kFooterBytes = 4;

inline std::uint64_t FromLittleEndian(std::string_view bytes) {
  std::uint64_t value = 0;
  for (std::size_t i = bytes.size(); i-- > 0;) value = value << 8 | static_cast<unsigned char>(bytes[i]);
  return value;
}

}  // namespace medley
