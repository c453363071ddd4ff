#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "data/affine.h"

struct gzFile_s;  // zlib's

namespace medley_volumes {

inline constexpr std::size_t kNiftiHeaderBytes = 348;

// What a NIfTI-1 file's first bytes say of its scan. Nothing in it is taken on trust: sizes are from 1 to
// 32767, the type is one that is read, and the offset lies behind the header.
struct NiftiHeader {
  std::vector<std::int64_t> sizes;  // along i, j, k, then time and what follows; i is the fastest in the file
  std::string type;                 // of the values as they are stored: "int16"
  int type_code = 0;                // the file's number for it
  std::int64_t value_bytes = 0;     // of one
  bool is_swapped = false;          // stored in the byte order that this machine has not
  std::int64_t offset = 0;          // of the first value
  double slope = 1, inter = 0;      // a value is slope * stored + inter
  Affine affine{};                  // of the sform, else the qform, else the voxel sizes with i to the left
  std::string unit;                 // of the affine: "m", "mm", "um", or "" where the file says none

  std::int64_t values() const;
};

// InputError "bytes 40 to 41 (dim[0]): found 9, expected 1 to 7", which names no file.
NiftiHeader ParseNiftiHeader(std::span<const std::byte, kNiftiHeaderBytes> bytes);

// A NIfTI-1 file of one piece, .nii or .nii.gz (which of the two its bytes say, whatever its name is). All
// errors are InputErrors that begin with its name.
class NiftiFile {
 public:
  static constexpr std::int64_t kMostValues = std::int64_t{1} << 30;  // 4 GiB as floats

  // Reads the header, and so little more that nothing is large: also where a few bytes promise much.
  explicit NiftiFile(const std::filesystem::path& path, std::int64_t most_values = kMostValues);

  const NiftiHeader& header() const { return header_; }
  // The values, i fastest, header().values() of them; once. Computed in float64, as nibabel does.
  void Read(std::span<float> values);

 private:
  struct Close {
    void operator()(gzFile_s* file) const;
  };

  [[noreturn]] void Fail(const std::string& what) const;
  void CheckLength(std::int64_t most_values) const;
  // `where`: "in its header".
  [[noreturn]] void FailToRead(const std::string& where) const;
  // Exactly so many bytes.
  void Take(std::span<std::byte> bytes, const std::string& where);
  void Skip(std::int64_t bytes);

  std::filesystem::path path_;
  std::unique_ptr<gzFile_s, Close> file_;
  NiftiHeader header_;
};

}  // namespace medley_volumes
