#include "data/scan_file.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/adaptive_avg_pool3d.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/isfinite.h>
#include <ATen/ops/std_mean.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <functional>
#include <numeric>
#include <utility>

#include <medley/base/error.h>
#include <medley/base/files.h>
#include <medley/data/tensor_file.h>

#include "data/nifti.h"

namespace medley_volumes {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void RefuseFile(const fs::path& file, const std::string& what) {
  throw medley::InputError(medley::DisplayPath(file) + ": " + what);
}

std::string Times(const std::vector<std::int64_t>& sizes) {
  std::string words;
  for (const std::int64_t size : sizes) words += (words.empty() ? "" : " x ") + std::to_string(size);
  return words;
}

NiftiHeader HeaderOf(const fs::path& file, const ScanForm& form) {
  return form.headers ? form.headers->Of(file) : NiftiFile(file).header();
}

std::size_t RankOf(Modality modality) { return modality == Modality::kVolume ? 3 : 4; }

// In the order of the tensor that it becomes; sizes of 1 behind those of the modality do not count.
std::vector<std::int64_t> TensorShape(const fs::path& file, const NiftiHeader& header, Modality modality) {
  const std::size_t rank = RankOf(modality);
  std::vector<std::int64_t> sizes = header.sizes;
  while (sizes.size() > rank && sizes.back() == 1) sizes.pop_back();
  if (sizes.size() != rank)
    RefuseFile(file, "it is " + Times(header.sizes) + ", expected " + std::to_string(rank) + " sizes of a " +
                         NameOf(modality) + (sizes.size() > rank ? "; a scan over time is a series" : ""));
  std::ranges::reverse(sizes);
  return sizes;
}

NearestAxes AxesOf(const fs::path& file, const NiftiHeader& header) {
  if (const auto axes = NearestAxesOf(header.affine)) return *axes;
  RefuseFile(file,
             "its affine is flat or not finite, so nothing says where its axes point; "
             "orientation=stored takes it as it lies");
}

// [.., k, j, i], whose axes are these, as [.., up, front, right]. There are never more than two of it.
at::Tensor ToRas(at::Tensor stored, const NearestAxes& axes) {
  const std::int64_t last = stored.dim() - 1;
  std::vector<std::int64_t> from(static_cast<std::size_t>(stored.dim())), turned;
  for (std::int64_t i = 0; i <= last; ++i) from[static_cast<std::size_t>(i)] = i;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const std::int64_t own = last - static_cast<std::int64_t>(axis);
    from[static_cast<std::size_t>(last - axes.axis[axis])] = own;
    if (axes.is_turned[axis]) turned.push_back(own);
  }
  if (!turned.empty()) stored = stored.flip(turned);  // a copy, always
  return stored.permute(from).contiguous();
}

std::vector<std::int64_t> ShapeOf(const fs::path& path, Modality modality, const ScanForm& form) {
  const NiftiHeader header = HeaderOf(path, form);
  std::vector<std::int64_t> shape = TensorShape(path, header, modality);
  if (form.orientation == Orientation::kStored) return shape;
  const NearestAxes axes = AxesOf(path, header);
  for (std::size_t axis = 0; axis < 3; ++axis)
    shape[shape.size() - 1 - static_cast<std::size_t>(axes.axis[axis])] = header.sizes[axis];
  return shape;
}

// What is resized is read whole before, by each data thread: a file is not to say how much memory that takes.
void CheckAmount(const fs::path& path, const std::vector<std::int64_t>& shape,
                 const std::vector<std::int64_t>& wanted) {
  constexpr std::int64_t kMostTimes = 64, kAlwaysTaken = std::int64_t{1} << 25;
  const auto voxels = [](const std::vector<std::int64_t>& sizes) {
    return std::accumulate(sizes.begin(), sizes.end(), std::int64_t{1}, std::multiplies<>());
  };
  const std::int64_t most = std::max(kAlwaysTaken, kMostTimes * voxels(wanted));
  if (voxels(shape) > most)
    RefuseFile(path, "it is " + Times(shape) + ", " + std::to_string(voxels(shape)) +
                         " voxels, expected at most " + std::to_string(most) + " for a model of " +
                         Times(wanted) + ": resample it before, or set the model's sizes");
}

void CheckShape(const fs::path& path, const std::vector<std::int64_t>& shape, Modality modality,
                const ScanForm& form) {
  const std::vector<std::int64_t> wanted = form.geometry->Shape(modality);
  if (form.resize) CheckAmount(path, shape, wanted);
  if (shape == wanted || (form.resize && std::equal(shape.begin(), shape.end() - 3, wanted.begin()))) return;
  RefuseFile(path, std::string("the ") + NameOf(modality) + " is " + Times(shape) + ", the model wants " +
                       Times(wanted) +
                       (form.resize ? "; frames are not resized: cut it, or set the model's series.frames"
                                    : "; set the option resize, or the model's sizes"));
}

// By the mean of the voxels that fall into each, as MONAI's Resize has it for "area".
at::Tensor Resized(const at::Tensor& voxels, Modality modality, const Geometry& geometry) {
  const std::vector<std::int64_t> shape = geometry.Shape(modality);
  const auto sides = at::IntArrayRef(shape).slice(shape.size() - 3);
  if (modality == Modality::kSeries) return at::adaptive_avg_pool3d(voxels, sides);
  return at::adaptive_avg_pool3d(voxels.unsqueeze(0), sides).squeeze(0);
}

// In place: nobody else has these voxels.
at::Tensor Standardised(const at::Tensor& voxels, const fs::path& file) {
  const auto [deviation, mean] =
      at::std_mean(voxels, at::OptionalIntArrayRef(), /*correction=*/at::Scalar(0));
  if (!(deviation.item<float>() > 0)) RefuseFile(file, "all its voxels are equal: it shows nothing");
  return voxels.sub_(mean).div_(deviation);
}

}  // namespace

const NiftiHeader& ScanHeaders::Of(const fs::path& file) {
  const std::scoped_lock lock(mutex_);
  const auto known = known_.find(file);
  return known != known_.end() ? known->second : known_.emplace(file, NiftiFile(file).header()).first->second;
}

bool IsNifti(const fs::path& file) {
  const std::string name = file.filename().string();
  return name.ends_with(".nii") || name.ends_with(".nii.gz");
}

at::Tensor ReadNifti(const fs::path& path, Orientation orientation) {
  NiftiFile file(path);
  const NiftiHeader& header = file.header();
  std::vector<std::int64_t> shape(header.sizes.rbegin(), header.sizes.rend());
  while (shape.size() < 3) shape.insert(shape.begin(), 1);
  at::Tensor values = at::empty(shape);
  file.Read({values.mutable_data_ptr<float>(), static_cast<std::size_t>(values.numel())});
  return orientation == Orientation::kStored ? values : ToRas(std::move(values), AxesOf(path, header));
}

std::string NiftiWords(const fs::path& path) {
  const NiftiHeader header = NiftiFile(path).header();
  std::string words = Times(header.sizes) + " voxels of ";
  for (const double size : VoxelSizes(header.affine)) {
    std::array<char, 32> text{};
    std::snprintf(text.data(), text.size(), "%s%.3g", words.ends_with(" of ") ? "" : " x ", size);
    words += text.data();
  }
  return words + (header.unit.empty() ? "" : " " + header.unit) + ", axes " +
         AxisCodes(NearestAxesOf(header.affine));
}

Modality NiftiModality(const fs::path& path, const ScanForm& form) {
  const std::vector<std::int64_t> sizes = HeaderOf(path, form).sizes;
  return sizes.size() > 3 && sizes[3] > 1 ? Modality::kSeries : Modality::kVolume;
}

Scan NiftiScan(const fs::path& path, Modality modality, const ScanForm& form) {
  if (form.geometry) CheckShape(path, ShapeOf(path, modality, form), modality, form);
  return {modality,
          [=] {
            const at::Tensor read = ReadNifti(path, form.orientation);
            RequireFinite(read, medley::DisplayPath(path));
            // Sizes of 1 in front are those of dimensions that the modality has not.
            const auto rank = static_cast<std::int64_t>(RankOf(modality));
            const at::Tensor voxels = read.flatten(0, read.dim() - rank);
            return Standardised(form.resize ? Resized(voxels, modality, *form.geometry) : voxels, path);
          },
          path, path.string() + " as a " + NameOf(modality)};
}

Scan RawScan(const fs::path& path, const std::vector<std::int64_t>& shape, Modality modality,
             const ScanForm& form) {
  if (form.geometry) CheckShape(path, shape, modality, form);
  return {modality,
          [=] {
            const at::Tensor voxels = medley::MapTensor(path, shape, at::kFloat);
            return form.resize ? Standardised(Resized(voxels, modality, *form.geometry), path) : voxels;
          },
          {},
          form.resize ? path.string() + " of " + Times(shape) : ""};
}

void RequireFinite(const at::Tensor& voxels, const std::string& whose) {
  const at::Tensor finite = at::isfinite(voxels).flatten();
  if (finite.all().item<bool>()) return;
  const std::int64_t first = finite.to(at::kInt).argmin().item<std::int64_t>();
  throw medley::InputError(whose + " has a value that is not finite (voxel " + std::to_string(first) +
                           " of " + std::to_string(voxels.numel()) + ", counted from 0)");
}

}  // namespace medley_volumes
