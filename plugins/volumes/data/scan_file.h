#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <filesystem>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "data/conversation.h"
#include "data/nifti.h"

namespace medley_volumes {

// kRas: a scan's axes are swapped and turned, whole, so that they run to the right, to the front and up. What
// is oblique stays so.
enum class Orientation { kStored, kRas };

// Headers of NIfTI files, each read when it is first asked for. Of any thread.
class ScanHeaders {
 public:
  const NiftiHeader& Of(const std::filesystem::path& file);

 private:
  std::mutex mutex_;
  std::map<std::filesystem::path, NiftiHeader> known_;
};

// What becomes of the voxels of a file.
struct ScanForm {
  Orientation orientation = Orientation::kStored;  // of NIfTI files; others say nothing of theirs
  bool resize = false;  // to the model's sides, by the mean of what falls into a voxel; frames stay
  std::optional<Geometry> geometry{};  // what the model wants; none: nobody looks at the voxels
  bool shape_by_size = false;  // of raw files that nobody says a shape of: the model's whose bytes they have
  ScanHeaders* headers = nullptr;  // of files whose headers are not read again; outlives what has the form
};

// By the name: .nii or .nii.gz.
bool IsNifti(const std::filesystem::path& file);

// Errors here are InputErrors that name the file.

// The values of a NIfTI-1 file, [.., k, j, i]: i, which is the fastest in the file, last.
at::Tensor ReadNifti(const std::filesystem::path& file, Orientation orientation);

// A series where it has a fourth size.
Modality NiftiModality(const std::filesystem::path& file, const ScanForm& form);
// "33 x 41 x 25 voxels of 3 x 3 x 3 mm, axes LAS", by its header.
std::string NiftiWords(const std::filesystem::path& file);

// Its header is read now, and must fit the modality and, without `resize`, the model. Voxels are in the form,
// with mean 0 and deviation 1 over all of them; they must be finite, and not all equal.
Scan NiftiScan(const std::filesystem::path& file, Modality modality, const ScanForm& form);
// float32 values in the machine's byte order, the last dimension first, of a shape that must fit likewise.
// They are taken as they are, and only where they are resized have mean 0 and deviation 1 again.
Scan RawScan(const std::filesystem::path& file, const std::vector<std::int64_t>& shape, Modality modality,
             const ScanForm& form);

// `whose`: "a volume".
void RequireFinite(const at::Tensor& voxels, const std::string& whose);

}  // namespace medley_volumes
