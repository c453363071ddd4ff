// What this reader makes of NIfTI files, for tests/nibabel: of each line "ORIENTATION FILE" of the standard
// input it writes FILE.raw, float32, and prints a line of JSON.
#include <ATen/core/Tensor.h>

#include <exception>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>

#include "data/nifti.h"
#include "data/scan_file.h"

namespace medley_volumes {
namespace {

nlohmann::json Dumped(const std::string& file, Orientation orientation) {
  const NiftiHeader header = NiftiFile(file).header();
  const at::Tensor values = ReadNifti(file, orientation);
  std::ofstream(file + ".raw", std::ios::binary)
      .write(static_cast<const char*>(values.const_data_ptr()),
             static_cast<std::streamsize>(values.nbytes()));
  return {{"shape", values.sizes().vec()},
          {"axes", AxisCodes(NearestAxesOf(header.affine))},
          {"affine", header.affine},
          {"voxel", VoxelSizes(header.affine)}};
}

}  // namespace
}  // namespace medley_volumes

int main() {
  using medley_volumes::Orientation;
  std::string orientation, file;
  while (std::cin >> orientation >> file) {
    try {
      std::cout << medley_volumes::Dumped(file,
                                          orientation == "RAS" ? Orientation::kRas : Orientation::kStored)
                << '\n';
    } catch (const std::exception& error) {
      std::cout << nlohmann::json{{"error", error.what()}} << '\n';
    }
  }
}
