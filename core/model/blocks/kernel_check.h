#pragma once

#include <ATen/core/Tensor.h>

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include <medley/model/blocks/fused.h>
#include <medley/model/kernel_shapes.h>

namespace medley {

// What a kernel was found to be on a card: the largest error of its results and gradients, and what
// operators of libtorch would be allowed in its place, both against float64 and relative to a result and the
// root mean square of its like.
struct KernelVerdict {
  bool used = false;
  double error = 0, tolerance = 0;
  std::string what{};  // that was worst: "the gradient of x, of 8 heads of 64"
};
struct KernelVerdicts {
  std::string type{};  // that they were tried in, as libtorch calls it
  std::string card{};  // and on what kind: KindOfGpu, so the bytes of its memory, and no name
  KernelVerdict of[kFusedKernels];

  bool any() const;
  bool AreOf(at::ScalarType dtype, c10::Device device) const;
  FusedKernels Used(c10::Device device) const;
  // What is left aside, with both numbers; "": nothing.
  std::string Words() const;
};
nlohmann::ordered_json ToJson(const KernelVerdicts& verdicts);
// An InputError where that is not what ToJson wrote.
KernelVerdicts VerdictsIn(const nlohmann::ordered_json& json);

// Holds each kernel, in the shapes of a model, against the operators that it stands for: random inputs of at
// most 64 rows and 64 MiB, forward and backward. It may be twice as far from float64 as they are. Draws no
// random numbers of the run's. Leaves none in use.
KernelVerdicts CheckKernels(const KernelShapes& shapes, at::ScalarType dtype, c10::Device device);

}  // namespace medley
