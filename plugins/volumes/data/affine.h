#pragma once

#include <array>
#include <optional>
#include <string>

namespace medley_volumes {

// From a voxel's place (i, j, k, 1) to where it lies in the subject: to the right, to the front, up.
using Affine = std::array<std::array<double, 4>, 3>;

// How far the next voxel along i, j and k lies.
std::array<double, 3> VoxelSizes(const Affine& affine);

// For each of i, j and k the subject's axis that it is nearest to (0: left to right, 1: back to front, 2:
// bottom to top), each once, and whether it runs against that.
struct NearestAxes {
  std::array<int, 3> axis{};
  std::array<bool, 3> is_turned{};
};
// As nibabel's io_orientation has it: of the rotation that is nearest to the affine. None where the affine is
// not finite or flat.
std::optional<NearestAxes> NearestAxesOf(const Affine& affine);

// "LAS": along i to the left, along j to the front, along k up; "???" where nothing says.
std::string AxisCodes(const std::optional<NearestAxes>& axes);

}  // namespace medley_volumes
