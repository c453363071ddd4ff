#include "data/nifti.h"

#include <zlib.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <utility>

#include <medley/base/error.h>
#include <medley/base/files.h>

namespace medley_volumes {
namespace {

constexpr std::size_t kPieceBytes = 64 << 10;  // a whole number of values of every type

template <typename Stored, bool kSwapped>
void ConvertAs(std::span<const std::byte> bytes, const NiftiHeader& header, float* values) {
  for (std::size_t at = 0; at < bytes.size(); at += sizeof(Stored)) {
    std::array<std::byte, sizeof(Stored)> own;
    std::memcpy(own.data(), bytes.data() + at, own.size());
    if constexpr (kSwapped) std::ranges::reverse(own);
    const auto stored = static_cast<double>(std::bit_cast<Stored>(own));
    *values++ = static_cast<float>(stored * header.slope + header.inter);
  }
}

template <typename Stored>
void ConvertFrom(std::span<const std::byte> bytes, const NiftiHeader& header, float* values) {
  if (header.is_swapped)
    ConvertAs<Stored, true>(bytes, header, values);
  else
    ConvertAs<Stored, false>(bytes, header, values);
}

void Convert(std::span<const std::byte> bytes, const NiftiHeader& header, float* values) {
  switch (header.type_code) {
    case 2:
      return ConvertFrom<std::uint8_t>(bytes, header, values);
    case 4:
      return ConvertFrom<std::int16_t>(bytes, header, values);
    case 8:
      return ConvertFrom<std::int32_t>(bytes, header, values);
    case 16:
      return ConvertFrom<float>(bytes, header, values);
    case 64:
      return ConvertFrom<double>(bytes, header, values);
    case 256:
      return ConvertFrom<std::int8_t>(bytes, header, values);
    case 512:
      return ConvertFrom<std::uint16_t>(bytes, header, values);
    case 768:
      return ConvertFrom<std::uint32_t>(bytes, header, values);
    default:
      throw medley::Error("a NIfTI type that the header's parser knows and nobody reads");
  }
}

}  // namespace

void NiftiFile::Close::operator()(gzFile_s* file) const { gzclose(file); }

NiftiFile::NiftiFile(const std::filesystem::path& path, std::int64_t most_values) : path_(path) {
  if (const std::string problem = medley::FileProblem(path); !problem.empty())
    throw medley::InputError(problem);
  file_.reset(gzopen(path.c_str(), "rb"));
  if (!file_) throw medley::InputError(medley::DisplayPath(path) + ": " + std::strerror(errno));
  std::array<std::byte, kNiftiHeaderBytes> bytes;
  Take(bytes, "in its header");
  try {
    header_ = ParseNiftiHeader(bytes);
  } catch (const medley::InputError& error) {
    Fail(error.what());
  }
  CheckLength(most_values);
}

void NiftiFile::Fail(const std::string& what) const {
  throw medley::InputError(medley::DisplayPath(path_) + ": " + what);
}

// Before anything is allocated for the values.
void NiftiFile::CheckLength(std::int64_t most_values) const {
  constexpr std::int64_t kMostPacked = 1032;  // bytes that one byte of deflate can become
  const std::int64_t values = header_.values();
  if (values > most_values)
    Fail("its header (dim, from byte 40 on) promises " +
         (values == std::numeric_limits<std::int64_t>::max() ? "more than 10^18" : std::to_string(values)) +
         " values, expected at most " + std::to_string(most_values));
  std::error_code error;
  const std::uintmax_t found = std::filesystem::file_size(path_, error);
  if (error) Fail(error.message());
  const std::int64_t wanted = header_.offset + values * header_.value_bytes;
  const bool is_packed = gzdirect(file_.get()) == 0;
  if (std::cmp_less(found, is_packed ? wanted / kMostPacked : wanted))
    Fail("it has " + std::to_string(found) + " bytes, expected " +
         (is_packed ? "more: its header promises " + std::to_string(wanted) + " unpacked"
                    : std::to_string(wanted) + ", as its header promises"));
}

void NiftiFile::FailToRead(const std::string& where) const {
  int code = Z_OK;
  std::string_view words = gzerror(file_.get(), &code);
  const std::string& name = path_.native();
  if (code == Z_OK)
    words = "it ends";
  else if (code == Z_ERRNO)
    words = std::strerror(errno);
  else if (words.starts_with(name + ": "))
    words.remove_prefix(name.size() + 2);
  Fail(std::string(words) + " at byte " + std::to_string(gztell(file_.get())) + ", " + where);
}

void NiftiFile::Take(std::span<std::byte> bytes, const std::string& where) {
  while (!bytes.empty()) {
    const int taken = gzread(file_.get(), bytes.data(), static_cast<unsigned>(bytes.size()));
    if (taken <= 0) FailToRead(where);
    bytes = bytes.subspan(static_cast<std::size_t>(taken));
  }
}

void NiftiFile::Skip(std::int64_t bytes) {
  std::vector<std::byte> piece(kPieceBytes);
  while (bytes > 0) {
    const auto size = static_cast<std::size_t>(std::min<std::int64_t>(bytes, kPieceBytes));
    Take(std::span(piece).first(size), "before the values");
    bytes -= static_cast<std::int64_t>(size);
  }
}

void NiftiFile::Read(std::span<float> values) {
  Skip(header_.offset - static_cast<std::int64_t>(kNiftiHeaderBytes));
  std::vector<std::byte> piece(kPieceBytes);
  const auto value_bytes = static_cast<std::size_t>(header_.value_bytes);
  while (!values.empty()) {
    const std::size_t count = std::min(values.size(), kPieceBytes / value_bytes);
    const std::span<std::byte> bytes = std::span(piece).first(count * value_bytes);
    Take(bytes, "in the values");
    Convert(bytes, header_, values.data());
    values = values.subspan(count);
  }
  // zlib compares its check sum where the packed data ends, which is mostly here; what follows is nobody's.
  std::byte next;
  gzread(file_.get(), &next, 1);
  int code = Z_OK;
  gzerror(file_.get(), &code);
  if (code != Z_OK) FailToRead("behind the values");
}

}  // namespace medley_volumes
