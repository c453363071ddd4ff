#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <string_view>

#include <medley/base/error.h>

#include "data/nifti.h"

namespace medley_volumes {
namespace {

using namespace std::string_view_literals;

using HeaderBytes = std::span<const std::byte, kNiftiHeaderBytes>;

constexpr std::int32_t kNifti2Bytes = 540;
constexpr int kMostDimensions = 7;
constexpr double kLeastOffset = 352;             // behind four bytes that say whether there are extensions
constexpr double kMostOffset = 64 << 20;         // of extensions nobody has as much
constexpr double kRounding = 3 * 1.1920929e-07;  // what a unit quaternion of float32 may be off by

struct StoredType {
  int code;
  const char* name;
  std::int64_t bytes;  // 0: is not read
};
constexpr std::array<StoredType, 17> kStoredTypes = {{{2, "uint8", 1},
                                                      {4, "int16", 2},
                                                      {8, "int32", 4},
                                                      {16, "float32", 4},
                                                      {64, "float64", 8},
                                                      {256, "int8", 1},
                                                      {512, "uint16", 2},
                                                      {768, "uint32", 4},
                                                      {1, "bits", 0},
                                                      {32, "complex64", 0},
                                                      {128, "RGB", 0},
                                                      {1024, "int64", 0},
                                                      {1280, "uint64", 0},
                                                      {1536, "float128", 0},
                                                      {1792, "complex128", 0},
                                                      {2048, "complex256", 0},
                                                      {2304, "RGBA", 0}}};

// A number of the header, by its first byte and its name in nifti1.h.
class Fields {
 public:
  Fields(HeaderBytes bytes, bool is_swapped) : bytes_(bytes), is_swapped_(is_swapped) {}

  template <typename Number>
  Number At(std::size_t begin) const {
    std::array<std::byte, sizeof(Number)> own;
    std::copy_n(bytes_.begin() + static_cast<std::ptrdiff_t>(begin), own.size(), own.begin());
    if (is_swapped_) std::ranges::reverse(own);
    return std::bit_cast<Number>(own);
  }
  std::int16_t Short(std::size_t begin) const { return At<std::int16_t>(begin); }
  double Float(std::size_t begin) const { return At<float>(begin); }

 private:
  HeaderBytes bytes_;
  bool is_swapped_;
};

[[noreturn]] void Unexpected(std::size_t begin, std::size_t bytes, const std::string& name,
                             const std::string& found, const std::string& expected) {
  const std::string place =
      bytes == 1 ? "byte " + std::to_string(begin)
                 : "bytes " + std::to_string(begin) + " to " + std::to_string(begin + bytes - 1);
  throw medley::InputError(place + " (" + name + "): found " + found + ", expected " + expected);
}

std::string Short(double number) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%g", number);
  return text.data();
}

// Whether the byte order is the other one; refuses what is no NIfTI-1 file of one piece.
bool CheckKind(HeaderBytes bytes) {
  const std::int32_t size = Fields(bytes, false).At<std::int32_t>(0),
                     swapped = Fields(bytes, true).At<std::int32_t>(0);
  if (size == kNifti2Bytes || swapped == kNifti2Bytes)
    throw medley::InputError(
        "a NIfTI-2 file, expected NIfTI-1; in Python: "
        "nibabel.Nifti1Image.from_image(nibabel.load(OLD)).to_filename(NEW)");
  constexpr auto kSize = static_cast<std::int32_t>(kNiftiHeaderBytes);
  if (size != kSize && swapped != kSize)
    Unexpected(0, 4, "sizeof_hdr", std::to_string(size), "348, in either byte order: is it a NIfTI file?");
  std::string magic;
  for (std::size_t at = 344; at < kNiftiHeaderBytes; ++at) magic += static_cast<char>(bytes[at]);
  if (magic == "ni1\0"sv)
    throw medley::InputError(
        "the header of a pair, .hdr and .img, expected one .nii file; in Python: "
        "nibabel.load(OLD).to_filename(NEW)");
  if (magic != "n+1\0"sv)
    Unexpected(344, 4, "magic", "\"" + magic.substr(0, magic.find('\0')) + "\"", "\"n+1\"");
  return size != kSize;
}

std::vector<std::int64_t> SizesOf(const Fields& fields) {
  const int dimensions = fields.Short(40);
  if (dimensions < 1 || dimensions > kMostDimensions)
    Unexpected(40, 2, "dim[0]", std::to_string(dimensions), "1 to 7");
  std::vector<std::int64_t> sizes;
  for (int dimension = 1; dimension <= dimensions; ++dimension) {
    const std::size_t begin = 40 + 2 * static_cast<std::size_t>(dimension);
    sizes.push_back(fields.Short(begin));
    if (sizes.back() < 1)
      Unexpected(begin, 2, "dim[" + std::to_string(dimension) + "]", std::to_string(sizes.back()),
                 "1 to 32767");
  }
  return sizes;
}

StoredType StoredTypeOf(const Fields& fields) {
  const int code = fields.Short(70);
  const auto found = std::ranges::find(kStoredTypes, code, &StoredType::code);
  if (found != kStoredTypes.end() && found->bytes > 0) return *found;
  Unexpected(70, 2, "datatype",
             std::to_string(code) + (found == kStoredTypes.end() ? "" : std::string(", ") + found->name),
             "2, 4, 8, 16, 64, 256, 512 or 768: integers of 1, 2 or 4 bytes, float32 or float64");
}

std::int64_t OffsetOf(const Fields& fields) {
  const double offset = fields.Float(108);
  if (!(offset >= kLeastOffset && offset <= kMostOffset && offset == std::floor(offset)))
    Unexpected(108, 4, "vox_offset", Short(offset), "a whole number of bytes, 352 to 67108864");
  return static_cast<std::int64_t>(offset);
}

// A slope that is 0 or not finite means that values are as they are stored, whatever stands beside it.
void SetScale(const Fields& fields, NiftiHeader& header) {
  const double slope = fields.Float(112), inter = fields.Float(116);
  if (slope == 0 || !std::isfinite(slope)) return;
  if (!std::isfinite(inter))
    Unexpected(116, 4, "scl_inter", Short(inter), "a finite number, beside the slope " + Short(slope));
  header.slope = slope;
  header.inter = inter;
}

// What else than nibabel's is meant by a size of 0 or less: 1, and its amount.
double SizeOfVoxel(const Fields& fields, std::size_t axis) {
  const double size = std::abs(fields.Float(80 + 4 * axis));
  return size == 0 ? 1 : size;
}

Affine QuaternionAffine(const Fields& fields) {
  const double b = fields.Float(256), c = fields.Float(260), d = fields.Float(264);
  const double rest = 1 - (b * b + c * c + d * d);
  if (!(rest > -kRounding))
    Unexpected(256, 12, "quatern_b, _c, _d", Short(b) + ", " + Short(c) + ", " + Short(d),
               "parts of a unit quaternion: their squares are 1 at most");
  const double a = rest < kRounding ? 0 : std::sqrt(rest);
  const double s = 2 / (a * a + b * b + c * c + d * d);
  const double rotation[3][3] = {{1 - s * (c * c + d * d), s * (b * c - a * d), s * (b * d + a * c)},
                                 {s * (b * c + a * d), 1 - s * (b * b + d * d), s * (c * d - a * b)},
                                 {s * (b * d - a * c), s * (c * d + a * b), 1 - s * (b * b + c * c)}};
  const double mirror = fields.Float(76) == -1 ? -1 : 1;
  Affine affine{};
  for (std::size_t row = 0; row < 3; ++row) {
    for (std::size_t axis = 0; axis < 3; ++axis)
      affine[row][axis] = rotation[row][axis] * SizeOfVoxel(fields, axis) * (axis == 2 ? mirror : 1);
    affine[row][3] = fields.Float(268 + 4 * row);
  }
  return affine;
}

Affine AffineOf(const Fields& fields, const std::vector<std::int64_t>& sizes) {
  Affine affine{};
  if (fields.Short(254) > 0) {
    for (std::size_t row = 0; row < 3; ++row) {
      for (std::size_t column = 0; column < 4; ++column)
        affine[row][column] = fields.Float(280 + 16 * row + 4 * column);
    }
    return affine;
  }
  if (fields.Short(252) > 0) return QuaternionAffine(fields);
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const double middle = axis < sizes.size() ? static_cast<double>(sizes[axis] - 1) / 2 : 0;
    affine[axis][axis] = SizeOfVoxel(fields, axis) * (axis == 0 ? -1 : 1);
    affine[axis][3] = -affine[axis][axis] * middle;
  }
  return affine;
}

std::string UnitOf(HeaderBytes bytes) {
  constexpr std::array<const char*, 4> kUnits = {"", "m", "mm", "um"};
  const auto code = static_cast<std::size_t>(bytes[123] & std::byte{7});
  return code < kUnits.size() ? kUnits[code] : "";
}

}  // namespace

std::int64_t NiftiHeader::values() const {
  std::int64_t values = 1;
  for (const std::int64_t size : sizes) {
    // Seven sizes of 32767 overflow.
    if (__builtin_mul_overflow(values, size, &values)) return std::numeric_limits<std::int64_t>::max();
  }
  return values;
}

NiftiHeader ParseNiftiHeader(HeaderBytes bytes) {
  NiftiHeader header;
  header.is_swapped = CheckKind(bytes);
  const Fields fields(bytes, header.is_swapped);
  header.sizes = SizesOf(fields);
  const StoredType type = StoredTypeOf(fields);
  header.type = type.name;
  header.type_code = type.code;
  header.value_bytes = type.bytes;
  header.offset = OffsetOf(fields);
  SetScale(fields, header);
  header.affine = AffineOf(fields, header.sizes);
  header.unit = UnitOf(bytes);
  return header;
}

}  // namespace medley_volumes
