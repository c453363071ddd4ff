#include "data/brain.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

namespace medley_volumes {
namespace {

using medley::RowRandom;

struct Point {
  double x, y, z;  // to the right, to the front, to the top; the cube is [-1, 1] each
};

Point operator-(const Point& a, const Point& b) { return {a.x - b.x, a.y - b.y, a.z - b.z}; }

struct Ellipsoid {
  Point centre, radii;

  // How deep inside a place lies, roughly; below 0 outside.
  double Depth(const Point& place) const {
    const Point p = place - centre;
    const double rho = std::sqrt(p.x * p.x / (radii.x * radii.x) + p.y * p.y / (radii.y * radii.y) +
                                 p.z * p.z / (radii.z * radii.z));
    return (1 - rho) * (radii.x + radii.y + radii.z) / 3;
  }
};

struct Head {
  Ellipsoid skull, left, right, lesion;
  double cortex;
  bool has_lesion;
};

Head HeadOf(const Brain& brain) {
  RowRandom random(
      medley::CombineSeeds(medley::HashName("subject"), static_cast<std::uint64_t>(brain.subject)));
  Head head{};
  const double size = random.Uniform(0.93, 1.05);
  head.skull = {{0, 0, 0},
                {0.76 * size * random.Uniform(0.96, 1.04), 0.88 * size * random.Uniform(0.96, 1.04),
                 0.8 * size * random.Uniform(0.96, 1.04)}};
  head.cortex = 0.06 + 0.06 * brain.cortex;
  const double radius = 0.14 + 0.06 * brain.ventricles, apart = random.Uniform(0.05, 0.08);
  const auto ventricle = [&](double side) {
    const double r = radius * (1 + 0.3 * side * brain.asymmetry);
    return Ellipsoid{{side * (apart + 0.6 * r), 0, 0.02}, {0.6 * r, 1.15 * r, 0.85 * r}};
  };
  head.left = ventricle(-1);
  head.right = ventricle(1);
  head.has_lesion = brain.lesion != kNoLesion;
  if (head.has_lesion) {
    const auto side = [&](int bit) { return (brain.lesion >> bit & 1) != 0 ? 1.0 : -1.0; };
    const double r = random.Uniform(0.15, 0.19);
    head.lesion = {{0.34 * side(0), 0.38 * side(1), 0.34 * side(2)}, {r, r, r}};
  }
  return head;
}

struct Tissue {
  double grey, white, fluid, lesion;
};
constexpr Tissue kFluidDark = {0.55, 0.9, 0.15, 1.3}, kFluidBright = {0.7, 0.35, 1.1, 1.6};

// Share of a voxel of this size that lies inside, by how deep its middle lies.
double Inside(double depth, double voxel) { return std::clamp(depth / voxel + 0.5, 0.0, 1.0); }

double BrightnessAt(const Head& head, const Tissue& tissue, const Point& place, double voxel) {
  const double depth = head.skull.Depth(place);
  double value = 0;
  const auto blend = [&](double with, double share) { value += (with - value) * share; };
  blend(tissue.grey, Inside(depth, voxel));
  blend(tissue.white, Inside(depth - head.cortex, voxel));
  blend(tissue.fluid, Inside(std::max(head.left.Depth(place), head.right.Depth(place)), voxel));
  if (head.has_lesion) blend(tissue.lesion, Inside(head.lesion.Depth(place), voxel));
  return value;
}

// Uneven brightness, as of a coil: a coarse lattice of random numbers, in between by lines.
class SmoothNoise {
 public:
  explicit SmoothNoise(RowRandom& random) {
    for (double& value : lattice_) value = random.Uniform(-1, 1);
  }
  double At(const Point& place) const {
    double sum = 0;
    const double at[3] = {Scaled(place.x), Scaled(place.y), Scaled(place.z)};
    for (int corner = 0; corner < 8; ++corner) {
      double share = 1;
      int index = 0;
      for (int axis = 0; axis < 3; ++axis) {
        const int low = static_cast<int>(at[axis]), bit = corner >> axis & 1;
        share *= bit != 0 ? at[axis] - low : 1 - (at[axis] - low);
        index = index * kPoints + low + bit;
      }
      sum += share * lattice_[static_cast<std::size_t>(index)];
    }
    return sum;
  }

 private:
  static constexpr int kPoints = 4;
  static double Scaled(double x) { return std::clamp((x + 1) / 2 * (kPoints - 1), 0.0, kPoints - 1 - 1e-9); }
  std::array<double, kPoints * kPoints * kPoints> lattice_{};
};

struct Scanner {
  double gain, offset, fine = 0.04, coarse = 0.04;
  Point shift;
  SmoothNoise noise;

  Scanner(RowRandom& random, double voxel)
      : gain(random.Uniform(0.85, 1.15)), offset(random.Uniform(-0.05, 0.05)), shift(), noise(random) {
    for (double* axis : {&shift.x, &shift.y, &shift.z}) *axis = random.Uniform(-voxel, voxel);
  }
  double Seen(double brightness, const Point& place, RowRandom& random) const {
    return gain * brightness + offset + coarse * noise.At(place) + fine * random.Uniform(-1.7, 1.7);
  }
};

// fn(place) for each voxel, in the order of a tensor [z, y, x].
template <typename Fn>
void ForEachVoxel(std::int64_t side, const Fn& fn) {
  const double voxel = 2.0 / static_cast<double>(side);
  const auto at = [&](std::int64_t i) { return (static_cast<double>(i) + 0.5) * voxel - 1; };
  for (std::int64_t z = 0; z < side; ++z) {
    for (std::int64_t y = 0; y < side; ++y) {
      for (std::int64_t x = 0; x < side; ++x) fn(Point{at(x), at(y), at(z)});
    }
  }
}

at::Tensor Normalised(const std::vector<double>& values, at::IntArrayRef shape) {
  double sum = 0, squares = 0;
  for (const double value : values) sum += value, squares += value * value;
  const double count = static_cast<double>(values.size()), mean = sum / count;
  const double deviation = std::sqrt(std::max(squares / count - mean * mean, 1e-12));
  at::Tensor scan = at::empty(shape);
  std::transform(values.begin(), values.end(), scan.mutable_data_ptr<float>(),
                 [&](double value) { return static_cast<float>((value - mean) / deviation); });
  return scan;
}

}  // namespace

std::int64_t DrawSubject(medley::Split split, RowRandom& random) {
  return split == medley::Split::kHeldOut ? kTrainingSubjects + random.Below(kUnseenSubjects)
                                          : random.Below(kTrainingSubjects);
}

at::Tensor MakeVolume(const Brain& brain, Contrast contrast, RowRandom random, std::int64_t side) {
  const Head head = HeadOf(brain);
  const Tissue& tissue = contrast == Contrast::kFluidDark ? kFluidDark : kFluidBright;
  const double voxel = 2.0 / static_cast<double>(side);
  const Scanner scanner(random, voxel);
  std::vector<double> values;
  values.reserve(static_cast<std::size_t>(side * side * side));
  ForEachVoxel(side, [&](const Point& place) {
    values.push_back(scanner.Seen(BrightnessAt(head, tissue, place - scanner.shift, voxel), place, random));
  });
  return Normalised(values, {side, side, side});
}

at::Tensor MakeSeries(const Brain& brain, RowRandom random, std::int64_t side, std::int64_t frames) {
  Brain shown = brain;
  shown.lesion = kNoLesion;  // else the series alone would say which half is asked for
  const Head head = HeadOf(shown);
  const double voxel = 2.0 / static_cast<double>(side);
  const Scanner scanner(random, voxel);
  const double phase = random.Uniform(-0.5, 0.5);
  std::vector<double> values;
  values.reserve(static_cast<std::size_t>(frames * side * side * side));
  for (std::int64_t frame = 0; frame < frames; ++frame) {
    double swell[2];
    for (std::size_t half = 0; half < 2; ++half) {
      const double turns =
          (brain.rhythms[half] + 1.0) * static_cast<double>(frame) / static_cast<double>(frames);
      swell[half] = 1 + 0.4 * std::sin(2 * std::numbers::pi * turns + phase);
    }
    ForEachVoxel(side, [&](const Point& place) {
      const Point at = place - scanner.shift;
      const double still = BrightnessAt(head, kFluidDark, at, voxel);
      values.push_back(scanner.Seen(still * swell[at.x < 0 ? 0 : 1], place, random));
    });
  }
  return Normalised(values, {frames, side, side, side});
}

}  // namespace medley_volumes
