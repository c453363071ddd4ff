// The reader of scans of plugins/volumes.

#include <zlib.h>

#include <cstdint>
#include <string>
#include <vector>

#include "data/nifti.h"
#include "tests/fuzz/readers.h"
#include "tests/fuzz/written.h"

namespace medley::fuzz {
namespace {

// Header, values and where they lie.
void ReadScan(const std::filesystem::path& path) {
  medley_volumes::NiftiFile file(path, std::int64_t{1} << 24);
  std::vector<float> values(static_cast<std::size_t>(file.header().values()));
  file.Read(values);
  medley_volumes::AxisCodes(medley_volumes::NearestAxesOf(file.header().affine));
}

void ReadAnyScan(const std::string& bytes) { ReadScan(Written("scan.nii", bytes)); }

// The bytes as they are unpacked: no check sum stands before them.
void ReadPackedScan(const std::string& bytes) {
  const gzFile packed = gzopen("scan.nii.gz", "wb1");
  gzwrite(packed, bytes.data(), static_cast<unsigned>(bytes.size()));
  gzclose(packed);
  ReadScan("scan.nii.gz");
}

}  // namespace

std::vector<Reader> Readers() {
  return {{.name = "nifti", .json = false, .read = ReadAnyScan, .file = "scan.nii"},
          {.name = "nifti_packed",
           .json = false,
           .read = ReadPackedScan,
           .corpus = "nifti",
           .file = "scan.nii.gz"}};
}

}  // namespace medley::fuzz
